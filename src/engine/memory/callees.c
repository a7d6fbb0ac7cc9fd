// SPDX-License-Identifier: MIT
//
// Frames of one of our hooks, and of libc below it. Of the program's values they hold only
// callee-saved registers, at places that the unwind tables give, and arguments, which the
// caller has as well. All other words there are the callees' own, or remains. The frames
// count as such only if the walk passes through libc, then libctp.so, and arrives at the
// caller that the thread's entry names: then no frame of the program is in between.
#include "engine/memory/callees.h"

#include <string.h>

#include "engine/inspect/boundary.h"
#include "unwind/arch.h"

enum { FRAMES = 16 };

// The index of the hook's caller in `f`; n if the walk did not come to it in this way.
static size_t find_caller(const struct inspection *l, const struct ctp_thread *c,
			  const struct unwind_frame *f, size_t n)
{
	const struct ctp_ext *e = l->r->ext;
	size_t k = 1, hook;
	while (k < n && boundary_in_libc(&l->maps, f[k].pc))
		k++;
	for (hook = k; k < n && f[k].pc - e->self_base < e->self_end - e->self_base;)
		k++;
	bool is = k > hook && k < n && f[k].sp == c->wait_regs[CTP_REG_SP] &&
		  f[k].pc == c->wait_regs[CTP_REG_PC];
	return is ? k : n;
}

// A new thread begins with the callee-saved registers of the thread that made it. A function must save such a
// register before it changes it (x86-64 psABI 3.2.1, AAPCS64 6.1.1), at a place that its unwind information
// gives. So the value is where the outermost frame that saved it says, else still in the register; and libc's
// start of the thread, to which it would be given back, never returns. What lies in that start's own frames
// is libc's, among it those registers once more (setjmp, for pthread_exit).
static unsigned inherited(const struct inspection *l, const struct ctp_thread *c, struct unwind *u,
			  struct span_list *out)
{
	struct unwind_frame f[UNWIND_FRAMES];
	struct ctp_state s = {0};
	unsigned mask = 0;
	memcpy(s.regs, c->wait_regs, sizeof(s.regs));
	size_t n = unwind_frames(u, &s, f, UNWIND_FRAMES);
	if (n < 2 || !f[n - 1].outermost || !boundary_in_libc(&l->maps, f[n - 1].pc))
		return 0;
	if (boundary_in_libc(&l->maps, f[n - 2].pc)) // start_thread, between clone and the thread's function
		span_add(out, f[n - 2].sp, f[n - 1].sp);
	for (int i = CTP_REG_S0; i < CTP_REGS; i++)
		if (f[n - 1].saved[i])
			span_add(out, f[n - 1].saved[i], f[n - 1].saved[i] + sizeof(*s.regs));
		else
			mask |= 1u << i;
	return mask;
}

// Of those that are not in `but`.
static bool saved_at(const struct unwind_frame *f, uint64_t at, unsigned but)
{
	bool is = false;
	for (int i = 0; i < CTP_REGS; i++)
		is |= f->saved[i] == at && !(but >> i & 1);
	return is;
}

void callees_find(const struct inspection *l, struct proc_task *t, struct unwind **u, struct span_list *out)
{
	struct unwind_frame f[FRAMES];
	const struct ctp_thread *c = &l->threads[t->slot];
	uint64_t caller = c->wait_regs[CTP_REG_SP];
	if (!inspect_in_hook(c, t) || t->nr < 0 || t->sp % sizeof(caller) ||
	    !boundary_in_libc(&l->maps, t->pc))
		return;
	struct ctp_state s = {
		.regs = {[CTP_REG_PC] = t->pc, [CTP_REG_SP] = t->sp, [CTP_REG_FP] = arch_frame(caller)}};
	if (!*u && unwind_new(u, l->pid))
		return;
	t->inherited = inherited(l, c, *u, out);
	size_t n = unwind_frames(*u, &s, f, FRAMES), k = find_caller(l, c, f, n);
	for (uint64_t at = t->sp - RED_ZONE; k < n && at < caller; at += sizeof(at))
		if (!saved_at(&f[k], at, t->inherited))
			span_add(out, at, at + sizeof(at));
}
