// SPDX-License-Identifier: MIT
//
// libunwind's remote interface with our own accessors: memory by process_vm_readv (of a core file,
// by its reader), registers
// as the library stored them at the switch, tables from the program's memory. The process is
// neither stopped nor traced. Unwind rules are cached for good, and so is a place that has
// none: each such answer costs a search. What stacks hold is never cached.
#include "unwind/unwind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/idmap.h"
#include "base/living.h"
#include "unwind/arch.h"
#include "unwind/modules.h"

enum { PAGE = 4096, PAGES = 64, CACHED_RULES_LOG = 12, UNKNOWN_MAX = 1 << 16, FETCHED = 128 };
#define LOWEST 0x10000 // nothing is mapped below it: mmap_min_addr, proc_sys_vm(5)

struct page {        // of an object's code or tables
	uint64_t at; // 0 = none
	unsigned char bytes[PAGE];
};

struct unwind {
	pid_t pid;
	struct unwind_reader reader; // in its place, if it can peek
	unw_addr_space_t as;
	struct modules modules;
	struct idmap unknown; // pcs without unwind information
	struct idmap ends;    // innermost pcs beyond which there is nothing, whatever the stack holds
	struct page pages[PAGES];
	// the walk under way
	const struct ctp_state *s;
	bool missed; // the last rule asked for is not known
	bool looked; // the last step read the stack
	enum unwind_end ended;
	const struct unwind_near *near; // as given; may be NULL
	struct unwind_near more;        // of the stack, where that is not enough
};

static size_t peek(const struct unwind *u, uint64_t addr, void *to, size_t bytes)
{
	if (u->reader.peek)
		return u->reader.peek(u->reader.ctx, addr, to, bytes);
	struct iovec l = {.iov_base = to, .iov_len = bytes};
	struct iovec r = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t n = living_read(u->pid, &l, 1, &r, 1);
	return n > 0 ? (size_t)n : 0;
}

bool unwind_peek(const struct unwind *u, uint64_t addr, void *to, size_t bytes)
{
	return peek(u, addr, to, bytes) == bytes;
}

static bool peek_all(void *arg, uint64_t addr, void *to, size_t bytes)
{
	return peek(arg, addr, to, bytes) == bytes;
}

// A word of an object: these do not change, so pages of them are kept.
static bool object_word(struct unwind *u, uint64_t addr, unw_word_t *value)
{
	uint64_t at = addr & ~(uint64_t)(PAGE - 1);
	struct page *p = &u->pages[addr / PAGE % PAGES];
	if (addr - at > PAGE - sizeof(*value))
		return peek(u, addr, value, sizeof(*value)) == sizeof(*value);
	if (p->at != at) {
		p->at = 0;
		if (peek(u, at, p->bytes, PAGE) != PAGE)
			return false;
		p->at = at;
	}
	memcpy(value, p->bytes + (addr - at), sizeof(*value));
	return true;
}

static bool near_word(const struct unwind_near *near, uint64_t addr, unw_word_t *value)
{
	if (addr < near->addr || addr - near->addr + sizeof(*value) > near->have)
		return false;
	memcpy(value, near->bytes + (addr - near->addr), sizeof(*value));
	return true;
}

// How much of the stack to read at `addr`: what lies above its end may not be there.
static size_t near_bytes(const struct ctp_state *s, uint64_t addr)
{
	uint64_t left = s->hi > addr ? s->hi - addr : 0;
	if (s->lo < s->hi && left < sizeof(unw_word_t))
		return 0;
	return left >= sizeof(unw_word_t) && left < UNWIND_NEAR ? (size_t)left : UNWIND_NEAR;
}

static bool stack_word(struct unwind *u, uint64_t addr, unw_word_t *value)
{
	u->looked = true;
	if (u->s->lo < u->s->hi && addr >= u->s->hi)
		return false; // behind the stack's end there is nothing of it
	if ((u->near && near_word(u->near, addr, value)) || near_word(&u->more, addr, value))
		return true;
	u->more.addr = addr;
	u->more.have = peek(u, addr, u->more.bytes, near_bytes(u->s, addr));
	return near_word(&u->more, addr, value);
}

static bool is_end(const struct unwind *u, uint64_t pc)
{
	return idmap_get(&u->ends, pc) != IDMAP_NONE;
}

// One call for up to FETCHED stacks. It ends at the first that cannot be read: how many were tried.
static size_t fetch_some(const struct unwind *u, const struct ctp_state *s, size_t n, struct unwind_near *out)
{
	struct iovec l[FETCHED], r[FETCHED];
	size_t i, wanted = 0;
	n = n < FETCHED ? n : FETCHED;
	for (i = 0; i < n; i++) {
		out[i].addr = s[i].regs[CTP_REG_SP];
		out[i].have = is_end(u, s[i].regs[CTP_REG_PC]) ? 0 : near_bytes(&s[i], out[i].addr);
		wanted += out[i].have;
		l[i] = (struct iovec){.iov_base = out[i].bytes, .iov_len = out[i].have};
		r[i] = (struct iovec){.iov_base = (void *)(uintptr_t)out[i].addr, .iov_len = out[i].have};
	}
	ssize_t got = wanted ? living_read(u->pid, l, n, r, n) : 0;
	size_t left = got > 0 ? (size_t)got : 0;
	for (i = 0; i < n && left >= out[i].have; i++)
		left -= out[i].have;
	if (i == n)
		return n;
	out[i].have = left;
	return i + 1;
}

void unwind_fetch(const struct unwind *u, const struct ctp_state *s, size_t n, struct unwind_near *out)
{
	for (size_t i = 0; u->reader.peek && i < n; i++) {
		out[i].addr = s[i].regs[CTP_REG_SP];
		out[i].have = peek(u, out[i].addr, out[i].bytes, near_bytes(&s[i], out[i].addr));
	}
	if (u->reader.peek)
		return;
	for (size_t at = 0; at < n;)
		at += fetch_some(u, s + at, n - at, out + at);
}

// ------------------------------------------------------- libunwind's accessors

static int find(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *info, int need, void *arg)
{
	struct unwind *u = arg;
	int r = -UNW_ENOINFO;
	if (idmap_get(&u->unknown, ip) == IDMAP_NONE) {
		const struct modules_entry *m = modules_find(&u->modules, ip, peek_all, u);
		unw_dyn_info_t d = {.format = UNW_INFO_FORMAT_REMOTE_TABLE};
		if (m && m->hdr) {
			d.start_ip = m->lo;
			d.end_ip = m->hi;
			d.u.rti.segbase = m->hdr;
			d.u.rti.table_data = m->table;
			d.u.rti.table_len = m->rows * 8 / sizeof(unw_word_t);
			r = arch_search_table(as, ip, &d, info, need, arg);
		}
		if (r < 0 && u->unknown.n < UNKNOWN_MAX)
			idmap_set(&u->unknown, ip, 0);
	}
	u->missed = r < 0;
	return r;
}

static void put(unw_addr_space_t as, unw_proc_info_t *info, void *arg) {}

static int dyn(unw_addr_space_t as, unw_word_t *at, void *arg)
{
	return -UNW_ENOINFO;
}

static int mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write, void *arg)
{
	struct unwind *u = arg;
	bool on_stack = addr >= u->s->lo && addr < u->s->hi;
	if (write || (addr < LOWEST && !on_stack)) // behind the last frame: a number that was in a register
		return -UNW_EINVAL;
	bool known = !on_stack && modules_has(&u->modules, addr) ? object_word(u, addr, value) :
								   stack_word(u, addr, value);
	return known ? 0 : -UNW_EINVAL;
}

static int reg(unw_addr_space_t as, unw_regnum_t r, unw_word_t *value, int write, void *arg)
{
	struct unwind *u = arg;
	for (int i = 0; i < CTP_REGS && !write; i++)
		if (arch_regs[i] == r) {
			*value = u->s->regs[i];
			return 0;
		}
	return -UNW_EBADREG;
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

// ---------------------------------------------------------------------- walks

static int finish(struct unwind **out, struct unwind *u, int r)
{
	unw_accessors_t accessors = {.find_proc_info = find,
				     .put_unwind_info = put,
				     .get_dyn_info_list_addr = dyn,
				     .access_mem = mem,
				     .access_reg = reg,
				     .access_fpreg = fpreg,
				     .resume = resume,
				     .get_proc_name = name};
	if (!r && !(u->as = unw_create_addr_space(&accessors, 0)))
		r = -ENOMEM;
	if (r) {
		unwind_free(u);
		return r;
	}
	unw_set_caching_policy(u->as, UNW_CACHE_GLOBAL);
	unw_set_cache_size(u->as, 1 << CACHED_RULES_LOG, 0);
	*out = u;
	return 0;
}

int unwind_new(struct unwind **out, pid_t pid)
{
	struct unwind *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->pid = pid;
	return finish(out, u, modules_read(&u->modules, pid));
}

int unwind_new_of(struct unwind **out, const struct unwind_reader *r, const struct maps_line *maps, size_t n)
{
	struct unwind *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	u->reader = *r;
	return finish(out, u, modules_of(&u->modules, maps, n));
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	if (u->as)
		unw_destroy_addr_space(u->as);
	modules_deinit(&u->modules);
	idmap_deinit(&u->unknown);
	idmap_deinit(&u->ends);
	free(u);
}

// A caller's frame lies above, and within the coroutine's stack where that is known.
static bool climbs(const struct ctp_state *s, uint64_t from, uint64_t to)
{
	return to > from && (s->lo >= s->hi || to <= s->hi);
}

size_t unwind_walk(struct unwind *u, const struct ctp_state *s, const struct unwind_near *near, uint64_t *pcs,
		   size_t max, bool *guessed)
{
	unw_cursor_t c;
	unw_word_t pc, sp = s->regs[CTP_REG_SP], up;
	bool guess = false;
	size_t n = 0;
	u->s = s;
	u->near = near;
	u->more.have = 0;
	u->ended = UNWIND_NOT_ENDED;
	if (guessed)
		*guessed = false;
	if (!s->regs[CTP_REG_PC] || s->source == CTP_SOURCE_PROGRAM ||
	    (s->lo < s->hi && (sp < s->lo || sp > s->hi)))
		return 0;
	if (max && is_end(u, s->regs[CTP_REG_PC])) {
		pcs[0] = s->regs[CTP_REG_PC];
		return 1;
	}
	if (unw_init_remote(&c, u->as, u))
		return 0;
	while (n < max && !unw_get_reg(&c, UNW_REG_IP, &pc) && modules_has(&u->modules, pc)) {
		pcs[n++] = pc;
		u->missed = u->looked = false;
		int step = unw_step(&c);
		if (!step && n == 1 && !u->missed && !u->looked && u->ends.n < UNKNOWN_MAX)
			idmap_set(&u->ends, pc, 0);
		u->ended = step || u->missed ? UNWIND_NOT_ENDED : u->looked ? UNWIND_BY_ZERO : UNWIND_BY_RULE;
		if (step <= 0 || unw_get_reg(&c, UNW_REG_SP, &up) || !climbs(s, sp, up))
			break;
		guess |= u->missed;
		sp = up;
	}
	if (n < max && !pc)
		u->ended = UNWIND_BY_ZERO;
	if (guessed)
		*guessed = guess;
	return n;
}

enum unwind_end unwind_ended(const struct unwind *u)
{
	return u->ended;
}

uint64_t unwind_frame_end(struct unwind *u, const struct ctp_state *s, uint64_t addr)
{
	unw_cursor_t c;
	unw_word_t sp = s->regs[CTP_REG_SP], up;
	u->s = s;
	u->near = NULL;
	u->more.have = 0;
	u->missed = false;
	if (addr < sp || unw_init_remote(&c, u->as, u))
		return 0;
	for (size_t i = 0; i < UNWIND_FRAMES; i++) {
		if (unw_step(&c) <= 0 || u->missed || unw_get_reg(&c, UNW_REG_SP, &up) || !climbs(s, sp, up))
			return 0;
		if (addr < up)
			return up;
		sp = up;
	}
	return 0;
}

static void where_saved(unw_cursor_t *c, struct unwind_frame *f)
{
	for (int i = CTP_REG_FP; i < CTP_REGS; i++) {
		unw_save_loc_t at;
		bool kept = !unw_get_save_loc(c, arch_regs[i], &at) && at.type == UNW_SLT_MEMORY;
		f->saved[i] = kept ? at.u.addr : 0;
	}
}

size_t unwind_frames(struct unwind *u, const struct ctp_state *s, struct unwind_frame *out, size_t max)
{
	unw_cursor_t c;
	unw_word_t pc = s->regs[CTP_REG_PC], sp = s->regs[CTP_REG_SP];
	size_t n = 0;
	u->s = s;
	u->near = NULL;
	u->more.have = 0;
	u->missed = false;
	if (unw_init_remote(&c, u->as, u))
		return 0;
	while (n < max && !u->missed) {
		out[n] = (struct unwind_frame){.pc = pc, .sp = sp};
		where_saved(&c, &out[n++]);
		int step = unw_step(&c);
		out[n - 1].outermost = step == 0 && !u->missed;
		if (step <= 0 || unw_get_reg(&c, UNW_REG_IP, &pc) || unw_get_reg(&c, UNW_REG_SP, &sp) ||
		    !climbs(s, out[n - 1].sp, sp))
			break;
	}
	return n;
}

bool unwind_function(struct unwind *u, uint64_t pc, struct unwind_function *out)
{
	static const struct ctp_state none;
	unw_proc_info_t info = {0};
	u->s = &none;
	u->near = NULL;
	u->more.have = 0;
	if (find(u->as, pc, &info, 0, u) < 0)
		return false;
	*out = (struct unwind_function){info.start_ip, info.end_ip, info.lsda};
	return true;
}

size_t unwind_state(pid_t pid, const struct ctp_state *s, uint64_t *pcs, size_t max)
{
	struct unwind *u;
	if (unwind_new(&u, pid))
		return 0;
	size_t n = unwind_walk(u, s, NULL, pcs, max, NULL);
	unwind_free(u);
	return n;
}
