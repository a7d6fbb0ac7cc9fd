// SPDX-License-Identifier: MIT
//
// Boost.Context: fcontext_t make_fcontext(void *sp, size_t size, void (*fn)(transfer_t)),
// transfer_t jump_fcontext(fcontext_t to, void *data), and ontop_fcontext(to, data, fn), which
// runs fn on top of the target (most switches of Boost.Fiber, and how a fiber is unwound). A
// handle is the stack pointer at which a context was suspended on its own stack, so the
// address alone gives its owner: nothing is read there. The distance from there to the place
// where the context continues depends on the library's version, and is learned. Before Boost
// 1.61 the function was jump_fcontext(fcontext_t *from, fcontext_t to, ...). Functions of
// other libraries that have these names pass through: their arguments are on no known stack.
#include "context.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/fcontext.h"
#include "preload/hooks/hook.h"
#include "preload/coroutine/stack_index.h"

enum { HANDLE_MOST = 1024 };

void hook_jump_fcontext(struct thread_ctx *g, struct arguments *a);
void hook_ontop_fcontext(struct thread_ctx *g, struct arguments *a);
void hook_fcontext_made(uint64_t handle, uint64_t sp, uint64_t bytes, uint64_t fn, const struct frame *f);

uint64_t fcontext_bytes = FCONTEXT_BYTES; // the fast path reads it, too

// make_fcontext(sp, bytes, fn) has returned `handle` to the frame f.
void hook_fcontext_made(uint64_t handle, uint64_t sp, uint64_t bytes, uint64_t fn, const struct frame *f)
{
	uint64_t lo = sp - bytes;
	bool own = bytes < sp && handle < sp && (bytes ? handle > lo : sp - handle <= HANDLE_MOST);
	struct thread_ctx *g = own ? hook_enter() : NULL;
	if (!g)
		return;
	g->regs[CTP_REG_PC] = f->pc;
	g->regs[CTP_REG_SP] = f->sp;
	g->regs[CTP_REG_FP] = f->fp;
	fcontext_any = true;
	handle_cache_note(g, handle, coroutine_make(g, lo, sp, fn, handle));
	guest_leave(g);
}

// With all that registers hand over and return, in case it is another's.
#define MAKE(name, symbol) \
	unsigned __int128 name(uint64_t sp, uint64_t bytes, uint64_t fn, uint64_t a3, uint64_t a4, \
			       uint64_t a5) \
	{ \
		__typeof__(make_fcontext) *real = real_for(&real_##symbol, __builtin_return_address(0)); \
		unsigned __int128 r = real(sp, bytes, fn, a3, a4, a5); \
		struct frame f; \
		CPU_CALLER(&f); \
		hook_fcontext_made((uint64_t)r, sp, bytes, fn, &f); \
		return r; \
	}

CTP_HOOK MAKE(make_fcontext, make_fcontext);
#if CPU_STANDS_IN
__typeof__(make_fcontext) exported_make;
MAKE(exported_make, _ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE)
#else
CTP_HOOK MAKE(_ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE,
	      _ZN5boost7context6detail13make_fcontextEPvmPFvNS1_10transfer_tEE)
#endif

static __attribute__((noinline)) struct ctp_state *owner_slow(struct thread_ctx *g, uint64_t handle)
{
	struct ctp_state *s = stack_index_slot(handle);
	handle_cache_note(g, handle, s);
	if (fcontext_waits_at(s, handle))
		return s;
	s = stack_index_stack(handle);
	if (!s && coroutine_native_has(g, handle))
		s = g->native;
	if (fcontext_waits_at(s, handle))
		return s;
	if (!s || s == g->current || s->life != CTP_SUSPENDED)
		return fcontext_late(g, handle, s);
	uint64_t bytes = s->regs[CTP_REG_SP] - handle; // nothing else points to just below a stack pointer
	if (!bytes || bytes > HANDLE_MOST)
		return NULL;
	fcontext_bytes = bytes;
	return s;
}

// The owner of `handle`; NULL if that is no handle that we know.
static inline struct ctp_state *owner(struct thread_ctx *g, uint64_t handle)
{
	struct ctp_state *s = handle_cache_find(handle);
	bool waits = s->slot == handle && (s->life == CTP_SUSPENDED || s->life == CTP_CREATED);
	return CTP_LIKELY(waits) ? s : owner_slow(g, handle);
}

static inline void jump(struct thread_ctx *g, struct arguments *a, enum ctp_how how)
{
	struct ctp_state *to = owner(g, ARGUMENT(a, 0));
	if (CTP_UNLIKELY(!to && how == CTP_HOW_FCONTEXT && fcontext_any))
		to = owner(g, ARGUMENT(a, 1)); // before 1.61
	if (CTP_LIKELY(to && to != g->current))
		coroutine_switch(g, to, how, g->regs[CTP_REG_SP] - fcontext_bytes);
	else if (fcontext_any)
		g->thread->unknown++;
}

void hook_jump_fcontext(struct thread_ctx *g, struct arguments *a)
{
	jump(g, a, CTP_HOW_FCONTEXT);
}

void hook_ontop_fcontext(struct thread_ctx *g, struct arguments *a)
{
	g->handed = ARGUMENT(a, 1);
	jump(g, a, CTP_HOW_ONTOP);
}
