// SPDX-License-Identifier: MIT
//
// A program may restrict itself by seccomp to the system calls that it needs, and be killed for any other:
// also for those that hooks make. So a filter that the program installs by prctl, or by syscall(SYS_seccomp,
// ...) as libseccomp does, is run here for each call that hooks make. If the answer depends on arguments, or
// on anything else that is not understood here, the call counts as forbidden. Not known here: filters from
// before the program began, and those that it installs by a system call in its own code.
#include "preload/guest/filter.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

#include "cpu.h"

uint32_t filter_fatal[FILTER_CALLS / 32];
uint32_t filter_on;

static bool spares(uint32_t what)
{
	what &= SECCOMP_RET_ACTION_FULL;
	return what == SECCOMP_RET_ALLOW || what == SECCOMP_RET_LOG || what == SECCOMP_RET_ERRNO;
}

// Where a jump leads, from the instruction behind it.
static uint32_t jump(const struct sock_filter *f, uint32_t a)
{
	bool is = BPF_OP(f->code) == BPF_JEQ ? a == f->k :
		  BPF_OP(f->code) == BPF_JGT ? a > f->k :
		  BPF_OP(f->code) == BPF_JGE ? a >= f->k :
					       (a & f->k) != 0;
	return BPF_OP(f->code) == BPF_JA ? f->k : is ? f->jt : f->jf;
}

// Whether the filter lets the program live that makes this call, whatever its arguments are.
static bool survives(const struct sock_fprog *p, uint32_t nr)
{
	uint32_t a = 0;
	for (uint32_t i = 0; i < p->len; i++) { // each jump leads forward
		const struct sock_filter *f = &p->filter[i];
		if (f->code == (BPF_RET | BPF_K))
			return spares(f->k);
		if (f->code == (BPF_RET | BPF_A))
			return spares(a);
		if (f->code == (BPF_LD | BPF_W | BPF_ABS) && f->k == offsetof(struct seccomp_data, nr))
			a = nr;
		else if (f->code == (BPF_LD | BPF_W | BPF_ABS) && f->k == offsetof(struct seccomp_data, arch))
			a = CPU_AUDIT_ARCH;
		else if (f->code == (BPF_ALU | BPF_AND | BPF_K))
			a &= f->k;
		else if (BPF_CLASS(f->code) == BPF_JMP && BPF_SRC(f->code) == BPF_K)
			i += jump(f, a);
		else
			return false;
	}
	return false;
}

void filter_note(const void *program)
{
	for (uint32_t nr = 0; nr < FILTER_CALLS; nr++)
		if (!program || !survives(program, nr))
			ctp_or32(&filter_fatal[nr / 32], 1U << (nr % 32));
	ctp_store32(&filter_on, 1);
}
