// SPDX-License-Identifier: MIT
//
// libunwind's remote interface, with our own accessors: memory by
// process_vm_readv, registers as the guest stored them at the switch. The
// target is neither stopped nor traced. What find_proc_info does not know is
// remembered, as each such answer costs a search of all modules.
#include "engine/unwind.h"

#include <libunwind-ptrace.h>
#include <libunwind.h>
#include <stdbool.h>
#include <string.h>

#include "engine/proc.h"

enum { NEGATIVE = 64 };

struct job {
	pid_t pid;
	void *upt;
	const struct ctp_state *s;
	uint64_t at;
	size_t have;
	unsigned char chunk[4096];
	uint64_t unknown[NEGATIVE];
	unsigned nunknown;
};

// _UPT_find_proc_info calls our accessors with its own argument, so the job
// under way has to be found without one. (The engine unwinds in one thread.)
static struct job *current;

static int find(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need, void *arg)
{
	struct job *j = current;
	for (unsigned i = 0; i < j->nunknown && i < NEGATIVE; i++)
		if (j->unknown[i] == ip)
			return -UNW_ENOINFO;
	int r = _UPT_find_proc_info(as, ip, info, need, j->upt);
	if (r < 0)
		j->unknown[j->nunknown++ % NEGATIVE] = ip;
	return r;
}

static void put(unw_addr_space_t as, unw_proc_info_t *info, void *arg)
{
	_UPT_put_unwind_info(as, info, current->upt);
}

static int dyn(unw_addr_space_t as, unw_word_t *at, void *arg)
{
	return -UNW_ENOINFO;
}

static int mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct job *j = current;
	if (write)
		return -UNW_EINVAL;
	if (addr < j->at || addr + sizeof(*value) > j->at + j->have) {
		j->at = addr;
		j->have = proc_peek(j->pid, addr, j->chunk, sizeof(j->chunk), false);
		if (j->have < sizeof(*value))
			return -UNW_EINVAL;
	}
	memcpy(value, j->chunk + (addr - j->at), sizeof(*value));
	return 0;
}

// Which of the stored registers libunwind's number means; -1 = none.
static int stored(unw_regnum_t reg)
{
	static const unw_regnum_t order[CTP_REGS] = {UNW_X86_64_RIP, UNW_X86_64_RSP, UNW_X86_64_RBP, UNW_X86_64_RBX,
						     UNW_X86_64_R12, UNW_X86_64_R13, UNW_X86_64_R14, UNW_X86_64_R15};
	for (int i = 0; i < CTP_REGS; i++)
		if (order[i] == reg)
			return i;
	return -1;
}

static int reg(unw_addr_space_t as, unw_regnum_t r, unw_word_t *value, int write, void *arg)
{
	int i = stored(r);
	if (write || i < 0)
		return -UNW_EBADREG;
	*value = current->s->regs[i];
	return 0;
}

static int fpreg(unw_addr_space_t as, unw_regnum_t r, unw_fpreg_t *value, int write, void *arg)
{
	return -UNW_EBADREG;
}

static int resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	return -UNW_EINVAL;
}

static int name(unw_addr_space_t as, unw_word_t ip, char *to, size_t bytes, unw_word_t *off, void *arg)
{
	return -UNW_ENOINFO;
}

size_t unwind_state(pid_t pid, const struct ctp_state *s, uint64_t *pcs, size_t max)
{
	unw_accessors_t accessors = {.find_proc_info = find, .put_unwind_info = put, .get_dyn_info_list_addr = dyn,
				     .access_mem = mem, .access_reg = reg, .access_fpreg = fpreg, .resume = resume,
				     .get_proc_name = name};
	struct job j = {.pid = pid, .s = s};
	size_t n = 0;
	unw_addr_space_t as = unw_create_addr_space(&accessors, 0);
	j.upt = _UPT_create(pid);
	unw_cursor_t c;
	current = &j;
	if (as && j.upt && s->regs[CTP_REG_PC] && !unw_init_remote(&c, as, j.upt)) {
		do {
			unw_word_t pc = 0;
			if (unw_get_reg(&c, UNW_REG_IP, &pc) || !pc)
				break;
			pcs[n++] = pc;
		} while (n < max && unw_step(&c) > 0);
	}
	if (j.upt)
		_UPT_destroy(j.upt);
	if (as)
		unw_destroy_addr_space(as);
	current = NULL;
	return n;
}
