// SPDX-License-Identifier: MIT
//
// Frames of one of our hooks, and of libc below it. Of the program's values they hold only
// callee-saved registers, at places that the unwind tables give, and arguments, which the
// caller has as well. All other words there are the callees' own, or remains. The frames
// count as such only if the walk passes through libc, then libctp.so, and arrives at the
// caller that the thread's entry names: then no frame of the program is in between.
#include "engine/memory/callees.h"

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

static bool saved_at(const struct unwind_frame *f, uint64_t at)
{
	bool is = false;
	for (int i = 0; i < CTP_REGS; i++)
		is |= f->saved[i] == at;
	return is;
}

void callees_find(const struct inspection *l, const struct proc_task *t, struct unwind **u,
		  struct span_list *out)
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
	size_t n = unwind_frames(*u, &s, f, FRAMES), k = find_caller(l, c, f, n);
	for (uint64_t at = t->sp - RED_ZONE; k < n && at < caller; at += sizeof(at))
		if (!saved_at(&f[k], at))
			span_add(out, at, at + sizeof(at));
}
