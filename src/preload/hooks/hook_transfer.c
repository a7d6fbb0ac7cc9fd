// SPDX-License-Identifier: MIT
//
// Switch functions that programs contain themselves, whose entries were patched (preload/patch).
// Most keep a suspended context on its own stack, so that its stack pointer, the handle, is the
// key, as with Boost.Context; but where the caller goes on is known to the byte. Others keep the
// registers in a structure of theirs, which is the key as a ucontext_t is. Contexts are mostly
// made without a call: a context that is entered where nobody has left one begins a coroutine.
#include "context.h"
#include "cpu.h"
#include "preload/coroutine/begin.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/fcontext.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/real.h"
#include "preload/guest/switcher.h"
#include "preload/hooks/hook.h"

void hook_transfer(struct thread_ctx *g, struct arguments *a);
uint64_t hook_transfer_make(uint64_t sp, uint64_t bytes, uint64_t fn, const struct switcher *w);
void hook_fcontext_made(uint64_t handle, uint64_t sp, uint64_t bytes, uint64_t fn, const struct frame *f);

static uint64_t word(uint64_t at)
{
	return *(const uint64_t *)at;
}

// Known from before a fork, but not where it stands.
static bool is_unplaced(const struct ctp_state *s)
{
	return s && s->life == CTP_SUSPENDED && (s->flags & CTP_STATE_FOREIGN) && !s->changes;
}

// What lies at the handle is read last: its memory may be gone.
static __attribute__((noinline)) struct ctp_state *by_handle_slow(struct thread_ctx *g,
								  const struct switcher *w, uint64_t handle)
{
	struct ctp_state *s = stack_index_slot(handle), *native = g->native;
	handle_cache_note(g, handle, s);
	if (fcontext_waits_at(s, handle) || (s && s == g->current)) // the latter: a hook has seen it already
		return s;
	// who left for good has ended: a new context lies on its stack
	bool again = s && s->life == CTP_FINISHED && s->how == CTP_HOW_GONE;
	struct ctp_state *there = stack_index_stack(handle);
	struct ctp_state *late = again ? NULL : fcontext_late(g, handle, there);
	if (late)
		return late;
	if (is_unplaced(there))
		return there;
	if (native->id && native->life == CTP_SUSPENDED && !native->slot && coroutine_native_has(g, handle))
		return native;
	uint64_t pc_at = w->pc_at ? w->pc_at : w->bytes - 8;
	return begin_coroutine(g, &(struct target){handle, handle + w->bytes, word(handle + pc_at)});
}

// Who is entered by this handle.
static struct ctp_state *by_handle(struct thread_ctx *g, const struct switcher *w, uint64_t handle)
{
	struct ctp_state *s = handle_cache_find(handle);
	if (CTP_LIKELY(s->slot == handle && s->life == CTP_SUSPENDED))
		return s;
	return by_handle_slow(g, w, handle);
}

static void enter(struct thread_ctx *g, const struct switcher *w, struct ctp_state *to, enum ctp_how how,
		  uint64_t slot)
{
	if (CTP_UNLIKELY(to == g->current))
		return;
	g->current->function = (uint16_t)w->function;
	coroutine_switch(g, to, how, slot);
}

#if CPU_STANDS_IN
// Who is entered by the registers stored at `at`, and by which way it left: FCONTEXT, in one go, or JUMP.
static struct ctp_state *by_struct(struct thread_ctx *g, const struct switcher *w, uint64_t at,
				   enum ctp_how how)
{
	struct target t = {at, word(at + w->sp_at) + w->bytes, word(at + w->pc_at)};
	struct ctp_state *s = handle_cache_find(at);
	if (s->slot != at || s->life != CTP_SUSPENDED) { // of a thread that has ended, perhaps
		s = stack_index_slot(at);
		handle_cache_note(g, at, s);
	}
	bool same = s && s->slot == at && s->regs[CTP_REG_SP] == t.sp && s->regs[CTP_REG_PC] == t.pc;
	if (same && (s->life == CTP_SUSPENDED ? s->how == how : s != g->current))
		return s->life == CTP_SUSPENDED ? s : coroutine_find_slow(g, &t);
	if (s && s == g->current && same)
		return s;
	return begin_coroutine(g, &t);
}

static void restore(struct thread_ctx *g, const struct switcher *w, uint64_t at)
{
	struct ctp_state *to = g->saved_slot == at && g->saved[CTP_REG_SP] == word(at + w->sp_at) ?
				       g->current :
				       by_struct(g, w, at, CTP_HOW_JUMP);
	if (to != g->current)
		coroutine_leave(g, to, CTP_HOW_JUMP);
}

static bool is_greenlet(const struct ctp_state *s, const struct switcher *w)
{
	return s->entity == CTP_COROUTINE && (s->flags & CTP_STATE_SHARED_STACK) &&
	       s->function == w->function;
}

static void enter_greenlet(struct thread_ctx *g, const struct switcher *w, uint64_t at)
{
	struct ctp_state *from = g->current, *to = g->native, *known = begin_find_copied(at);
	bool leaves = is_greenlet(from, w), begins = !word(at + w->sp_at), runs_on = true;
	uint64_t slot = leaves ? state_private(from)->copied : from->slot;
	if (!leaves && from != g->native) {
		coroutine_missed(g); // in a coroutine of another engine, which would be taken for the thread
		return;
	}
	if (leaves && slot == at)
		return;
	if (leaves)
		runs_on = word(slot + w->sp_at) != 0; // else it has ended
	if (word(at + w->pc_at) != UINT64_MAX) {
		bool lives = known && is_greenlet(known, w) && known->life == CTP_SUSPENDED;
		if (lives && begins)
			coroutine_destroy(g, known, CTP_HOW_REUSED, ctp_state_seen(known));
		to = lives && !begins ? known : begin_copied(g, at, word(at + w->pc_at), w->function, begins);
	}
	from->function = (uint16_t)w->function;
	coroutine_switch(g, to, runs_on ? CTP_HOW_FCONTEXT : CTP_HOW_GONE, runs_on ? slot : 0);
}

void hook_transfer(struct thread_ctx *g, struct arguments *a)
{
	const struct switcher *w = (const struct switcher *)a->rax;
	enum ctp_how how = w->family == SWITCHER_ONTOP ? CTP_HOW_ONTOP : CTP_HOW_FCONTEXT;
	uint64_t first = ARGUMENT(a, 0), second = ARGUMENT(a, 1), handle = first;
	fcontext_any = true;
	switch ((enum switcher_family)w->family) {
	case SWITCHER_STRUCT:
		enter(g, w, by_struct(g, w, second, how), how, first);
		return;
	case SWITCHER_RESTORE:
		restore(g, w, first);
		return;
	case SWITCHER_GREENLET:
		enter_greenlet(g, w, second);
		return;
	case SWITCHER_ENTER:
		g->saved_slot = 0;
		coroutine_leave(g, by_handle(g, w, second), CTP_HOW_SET);
		return;
	case SWITCHER_FROM:
		handle = second;
		break;
	case SWITCHER_SLOT:
		handle = word(second);
		break;
	case SWITCHER_SLOT_BACK:
		handle = word(first);
		break;
	case SWITCHER_HELPER:
		handle = ARGUMENT(a, 3);
		break;
	default:
		break;
	}
	g->handed = second;
	enter(g, w, by_handle(g, w, handle), how, g->regs[CTP_REG_SP] - w->bytes);
}

uint64_t hook_transfer_make(uint64_t sp, uint64_t bytes, uint64_t fn, const struct switcher *w)
{
	uint64_t (*real)(uint64_t, uint64_t, uint64_t) = (uint64_t(*)(uint64_t, uint64_t, uint64_t))w->real;
	uint64_t handle = real(sp, bytes, fn);
	struct frame f;
	CPU_CALLER(&f);
	hook_fcontext_made(handle, sp, bytes, fn, &f);
	return handle;
}

#else // aarch64: Ruby's alone

void hook_coroutine_transfer(struct thread_ctx *g, struct arguments *a);

// How its code saves the caller, from its own instructions: `sub sp, sp, #bytes` comes first, and x30,
// where the caller goes on, is stored by itself at #pc_at. False: another function's.
static bool read_code(struct switcher *w, const uint32_t *code)
{
	const uint32_t sub_sp = 0xd10003ff, str_x30 = 0xf90003fe, immediate = 0xfffU << 10,
		       bti_c = 0xd503245f;
	enum { LENGTH = 24 };
	unsigned at = code[0] == bti_c;
	if ((code[at] & ~immediate) != sub_sp)
		return false;
	w->bytes = code[at] >> 10 & 0xfff;
	for (unsigned i = at + 1; i < LENGTH; i++) {
		if ((code[i] & ~immediate) != str_x30)
			continue;
		w->pc_at = (code[i] >> 10 & 0xfff) * 8ULL;
		return w->pc_at < w->bytes;
	}
	return false;
}

// (where the caller's stack pointer is stored, where the other's is)
void hook_coroutine_transfer(struct thread_ctx *g, struct arguments *a)
{
	struct switcher w = {.family = SWITCHER_SLOT};
	const uint32_t *code = real_for(&real_coroutine_transfer, (const void *)g->regs[CTP_REG_PC]);
	if (!read_code(&w, code))
		return;
	fcontext_any = true;
	g->handed = ARGUMENT(a, 1);
	enter(g, &w, by_handle(g, &w, word(ARGUMENT(a, 1))), CTP_HOW_FCONTEXT, g->regs[CTP_REG_SP] - w.bytes);
}
#endif
