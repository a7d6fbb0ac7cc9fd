// SPDX-License-Identifier: MIT
//
// Boost.Context: fcontext_t make_fcontext(void *sp, size_t size, void (*fn)(transfer_t)),
// transfer_t jump_fcontext(fcontext_t to, void *data), and ontop_fcontext(to, data,
// fn), which runs fn on top of the target (most switches of Boost.Fiber, and how a
// fiber is unwound). A handle is the stack pointer at which a context left itself
// on its own stack, so its owner is told by address alone: nothing is read there. How far
// that lies below the place where it goes on depends on the library's version,
// and is learned. Before Boost 1.61 it was jump_fcontext(fcontext_t *from,
// fcontext_t to, ...). Functions of other libraries that have these names pass
// through: their arguments lead to no known stack.
#include "context.h"
#include "coroutine.h"
#include "hook.h"
#include "pagemap.h"

void hook_jump_fcontext(struct guest *g, struct arguments *a);
void hook_ontop_fcontext(struct guest *g, struct arguments *a);

static uint64_t frame_bytes = FCONTEXT_BYTES;

// With all that registers hand over and return, in case it is another's.
CTP_HOOK unsigned __int128 make_fcontext(uint64_t sp, uint64_t bytes, uint64_t fn, uint64_t a3, uint64_t a4, uint64_t a5)
{
	unsigned __int128 r = real_make_fcontext(sp, bytes, fn, a3, a4, a5);
	uint64_t handle = (uint64_t)r, lo = sp - bytes;
	struct guest *g = bytes && bytes < sp && handle > lo && handle < sp ? hook_enter() : NULL;
	if (g) {
		struct frame f;
		CPU_CALLER(&f);
		g->regs[CTP_REG_PC] = f.pc;
		g->regs[CTP_REG_SP] = f.sp;
		g->regs[CTP_REG_FP] = f.fp;
		coroutine_make(g, lo, sp, fn, handle);
		guest_leave(g);
	}
	return r;
}

static inline bool waits_at(const struct ctp_state *s, uint64_t handle)
{
	return s && s->slot == handle && (s->life == CTP_SUSPENDED || s->life == CTP_CREATED) &&
	       coroutine_holds(s, handle);
}

// The owner of `handle`; NULL if that is no handle that we know.
static struct ctp_state *owner(struct guest *g, uint64_t handle)
{
	struct ctp_state **recent = coroutine_recent(g, handle), *s = *recent;
	if (CTP_LIKELY(waits_at(s, handle)))
		return s;
	s = *recent = pagemap_slot(handle);
	if (waits_at(s, handle))
		return s;
	s = pagemap_stack(handle);
	if (!s && coroutine_native_has(g, handle))
		s = g->native;
	if (s && s != g->current && s->life == CTP_SUSPENDED) {
		uint64_t bytes = s->regs[CTP_REG_SP] - handle;
		if (bytes && bytes <= 1024)
			frame_bytes = bytes;
	}
	return s;
}

static inline void jump(struct guest *g, struct arguments *a, enum ctp_how how)
{
	struct ctp_state *to = owner(g, ARGUMENT(a, 0));
	if (CTP_UNLIKELY(!to || to == g->current)) {
		to = how == CTP_HOW_FCONTEXT && coroutine_any() ? owner(g, ARGUMENT(a, 1)) : NULL;
		if (!to || to == g->current || !waits_at(to, ARGUMENT(a, 1)))
			return;
	}
	coroutine_switch(g, to, how, g->regs[CTP_REG_SP] - frame_bytes);
}

void hook_jump_fcontext(struct guest *g, struct arguments *a)
{
	jump(g, a, CTP_HOW_FCONTEXT);
}

void hook_ontop_fcontext(struct guest *g, struct arguments *a)
{
	jump(g, a, CTP_HOW_ONTOP);
}
