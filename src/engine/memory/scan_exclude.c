// SPDX-License-Identifier: MIT
//
// Memory that the scan leaves out must be dead for certain. A stack counts below its stack
// pointer only if its lower end is known (declared to makecontext, with the coroutine's save
// area outside; or a thread's own stack by the C library's record, not shared with a declared
// stack), if no live word of it points further down, and only as far as its pages have been
// touched without a gap.
#include "engine/memory/scan_exclude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/inspect/boundary.h"
#include "engine/memory/callees.h"
#include "search/disguise/loader_pages.h"
#include "search/stacks/dead_stack.h"
#include "search/stacks/thread_stack.h"
#include "unwind/unwind.h"

enum { PAGE = 4096, EVENT_BYTES = 12 };

// A thread's own stack: where it stands, and where it last saved itself, if it has gone on.
struct native {
	uint64_t sp, slot, red;
	int tid;
};

struct dead {
	const struct inspection *l;
	struct dead_stack stacks;
	uint64_t *slots; // of natives that run, by thread
	struct span_list declared;
	struct native *natives;
	size_t nnatives;
	struct unwind *unwind; // from the first use on
};


static bool sane(const struct ctp_state *s)
{
	return s->hi > s->lo && s->hi - s->lo <= (1ULL << 32) && !(s->flags & CTP_STATE_SHARED_STACK);
}

// Its stack pointer is known: asleep, or held by us.
static bool still(const struct proc_task *t)
{
	return (t->state == 'S' || (t->state == 't' && t->got_regs)) &&
	       (t->nr >= 0 || t->nr == PROC_NOT_IN_SYSCALL);
}

// Where the thread that runs `s` sleeps, if it does.
static const struct proc_task *runner(const struct inspection *l, const struct ctp_state *s)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].slot == (int)s->thread && still(&l->tasks.v[i]))
			return &l->tasks.v[i];
	return NULL;
}

// What a function may use below its stack pointer (x86-64 psABI 3.2.2). Who sleeps in one of our hooks stands
// in the C library's wrapper of the call: what that may have put there of the program's are registers, and
// these lie in its entry.
static uint64_t red_zone(const struct inspection *l, const struct proc_task *t)
{
	return t && t->hooked && boundary_in_libc(&l->maps, t->pc) ? 0 : RED_ZONE;
}

static void coroutine(struct dead *d, const struct ctp_state *s, struct span_list *out)
{
	span_add(&d->declared, s->lo, s->hi);
	const struct proc_task *t = s->life == CTP_SUSPENDED ? NULL : runner(d->l, s);
	uint64_t sp = s->life == CTP_SUSPENDED ? s->regs[CTP_REG_SP] : t ? t->sp : 0;
	if (sp <= s->lo + RED_ZONE || sp > s->hi || (s->slot >= s->lo && s->slot < sp - RED_ZONE))
		return;
	dead_stack_add(&d->stacks,
		       &(struct dead_stack_of){.stack = {s->lo, s->hi}, .sp = sp, .red = red_zone(d->l, t)},
		       out);
}

// The stack on which a thread sleeps: that of the coroutine it runs, or its own.
static bool own_stack(const struct inspection *l, const struct proc_task *t, struct span *out)
{
	uint64_t current = l->threads[t->slot].current;
	struct ctp_walk w = ctp_walk_states(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); current && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		if (ctp_load64(&l->r->states[i].id) != current || !ctp_state_read(&l->r->states[i], &s))
			continue;
		if (s.entity == CTP_COROUTINE) {
			*out = (struct span){s.lo, s.hi};
			return sane(&s) && t->sp >= s.lo && t->sp < s.hi;
		}
	}
	uint64_t says;
	return thread_stack_find(&l->memory, t->tid, t->sp, out, &says);
}

// Where a stack begins that is all a stack: the main thread's is the kernel's to make, and that
// of a thread is libc's where it has a guard. One that the program gave to libc has none of libc's.
static uint64_t stack_floor(const struct inspection *l, int tid, const struct span *stack, uint64_t says)
{
	uint64_t block;
	if (tid == l->pid)
		return stack->lo;
	if (proc_peek(l->pid, says, &block, sizeof(block), false) != sizeof(block) || block >= stack->lo)
		return 0;
	return stack->lo + PAGE;
}

// Below `sp` on a thread's own stack.
static void thread_stack(struct dead *d, const struct native *t, struct span_list *out)
{
	struct span stack;
	uint64_t says;
	if (!thread_stack_find(&d->l->memory, t->tid, t->sp, &stack, &says))
		return;
	for (size_t i = 0; i < d->declared.n; i++)
		if (d->declared.v[i].lo < stack.hi && d->declared.v[i].hi > stack.lo)
			return;
	const struct ctp_ext *e = d->l->r->ext;
	uint64_t left_end = t->slot ? t->slot + e->context_off + 8ULL * e->context_words : 0;
	dead_stack_add(
		&d->stacks,
		&(struct dead_stack_of){
			stack, t->sp, t->red, stack_floor(d->l, t->tid, &stack, says), {t->slot, left_end}},
		out);
}

// ------------------------------------------------------------------- saved contexts

// Has the frame that saved `s` returned? Its caller stands above where it stood, on the same stack.
static bool frame_gone(const struct inspection *l, const struct ctp_state *s)
{
	uint64_t saved = s->regs[CTP_REG_SP];
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (t->slot != (int)s->thread || !still(t) || l->threads[t->slot].current != s->id)
			continue;
		uint64_t now = t->hooked ? l->threads[t->slot].wait_regs[CTP_REG_SP] : t->sp;
		const struct maps_line *m = proc_maps_find(&l->maps, now);
		return m && saved >= m->lo && saved < now;
	}
	return false;
}

// Is it what the switch left there? A word that the program has put there since is none of ours.
static bool as_left(const struct ctp_state *s, uint64_t word)
{
	bool is = word == s->slot || word == s->left_to;
	for (unsigned i = 0; i < CTP_REGS; i++)
		is |= word == s->regs[i];
	return is;
}

// Words of a save slot that nobody can use any more. A context saved by
// swapcontext goes on as from a call, after which caller-saved registers hold
// nothing; one whose owner has gone on since can be entered again, as long as
// the function that saved it has not returned. Only words whose value is known
// to come from the switch count: a slot's memory may have become something else.
static void save_slot(const struct inspection *l, const struct ctp_state *s, struct span_list *out)
{
	enum { MOST = 32 };
	const struct ctp_ext *e = l->r->ext;
	uint64_t words[MOST], regs = s->slot + e->context_off;
	unsigned n = e->context_words < MOST ? e->context_words : MOST;
	if (!s->slot || s->source == CTP_SOURCE_PROGRAM || s->how != CTP_HOW_SWAP ||
	    (s->life != CTP_RUNNING && s->life != CTP_SUSPENDED) || s->changes == 0)
		return;
	bool used_up = s->life == CTP_RUNNING && frame_gone(l, s), sp = false, pc = false;
	if (proc_peek(l->pid, regs, words, n * 8, false) != n * 8)
		return;
	for (unsigned i = 0; i < n; i++) {
		sp |= words[i] == s->regs[CTP_REG_SP];
		pc |= words[i] == s->regs[CTP_REG_PC];
	}
	for (unsigned i = 0; sp && pc && i < n; i++)
		if ((used_up || (e->context_scratch >> i & 1)) && as_left(s, words[i]))
			span_add(out, regs + 8 * i, regs + 8 * i + 8);
}

// ------------------------------------------------------------------------- all of it

static void add_native(struct dead *d, uint64_t sp, int tid, uint64_t slot, uint64_t red)
{
	struct native *more = realloc(d->natives, (d->nnatives + 1) * sizeof(*more));
	if (!more)
		return;
	d->natives = more;
	more[d->nnatives++] = (struct native){sp, slot, red, tid};
}

static void station(struct dead *d, const struct ctp_state *s, struct span_list *out)
{
	const struct inspection *l = d->l;
	bool lives = s->life == CTP_SUSPENDED || s->life == CTP_RUNNING;
	save_slot(l, s, out);
	if (s->entity == CTP_NATIVE && s->life == CTP_SUSPENDED && s->thread < l->nthreads)
		add_native(d, s->regs[CTP_REG_SP], (int)l->threads[s->thread].tid, 0, RED_ZONE);
	else if (s->entity == CTP_COROUTINE && lives && sane(s))
		coroutine(d, s, out);
	else if (s->entity == CTP_COROUTINE && sane(s))
		span_add(&d->declared, s->lo, s->hi);
	if (s->entity == CTP_NATIVE && s->life == CTP_RUNNING && s->thread < l->nthreads)
		d->slots[s->thread] = s->slot;
}

// How many events its wait brings: in it, or taken out of it by a stop, ours or another's, with nothing; or
// held while it returns. -1: it is in no wait.
static int64_t brings(const struct proc_task *t)
{
	if (inspect_in_epoll(t))
		return 0;
	if (!t->got_regs || !inspect_epoll_call(t->nr))
		return -1;
	return t->result == -EINTR ? 0 : t->result;
}

// In the hook that made the call: then the caller's registers lie in its entry. (proc_task.hooked is for
// those who sleep; a stopped one has been taken out of the call, and will make it anew.)
static bool in_hook(const struct ctp_thread *c, const struct proc_task *t)
{
	return inspect_in_hook(c, t) && c->wait_call == CTP_IN_EPOLL && c->wait_fd == (int)t->args[0];
}

// Is it what the caller's frame has room for? (`sizeof events` for their number is a slip that does no harm.)
static bool in_one_frame(struct dead *d, const struct ctp_thread *c, uint64_t lo, uint64_t bytes)
{
	struct ctp_state s = {0};
	memcpy(s.regs, c->wait_regs, sizeof(s.regs));
	if (!d->unwind && unwind_new(&d->unwind, d->l->pid))
		return false;
	return lo + bytes <= unwind_frame_end(d->unwind, &s, lo);
}

// The event buffer of a wait, but for the events that it brings, is the kernel's: on the sleeper's own
// stack, where it is full of what was there before, as long as the call says; elsewhere
// as far as the kernel has ever filled it, should the call not be right. Where it
// may say bytes (sizeof) in place of how many, so many bytes are believed.
static void event_buffer(struct dead *d, const struct proc_task *t, struct span_list *out)
{
	struct span stack;
	uint64_t lo = t->args[1], bytes = t->args[2] % EVENT_BYTES ? t->args[2] * EVENT_BYTES : t->args[2];
	int64_t n = brings(t);
	if (n < 0 || t->slot < 0 || t->args[2] >= 1u << 24 || (uint64_t)n > t->args[2])
		return;
	const struct ctp_thread *c = &d->l->threads[t->slot];
	if (!own_stack(d->l, t, &stack) || lo < t->sp || lo + bytes > stack.hi || !in_hook(c, t) ||
	    !in_one_frame(d, c, lo, bytes)) {
		uint64_t came = c->came_buf == lo ? c->came_bytes : 0;
		bytes = came < bytes ? came : bytes;
	}
	uint64_t live = (uint64_t)n * EVENT_BYTES;
	if (live < bytes)
		span_add(out, lo + live, lo + bytes);
}

static void tasks(struct dead *d, struct span_list *out)
{
	const struct inspection *l = d->l;
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct proc_task *t = &l->tasks.v[i];
		const struct ctp_thread *c = t->slot >= 0 ? &l->threads[t->slot] : NULL;
		if (!still(t))
			continue;
		if (!c || c->current == c->native) // also one that has run no coroutine: it has neither
			add_native(d, t->sp, t->tid, c ? d->slots[t->slot] : 0, red_zone(d->l, t));
		event_buffer(d, t, out);
		if (c)
			callees_find(l, t, &d->unwind, out);
	}
}

static bool begin(struct dead *d)
{
	d->slots = calloc(d->l->nthreads + 1, sizeof(*d->slots));
	return dead_stack_init(&d->stacks, &d->l->memory) && d->slots;
}

void scan_exclude_find(const struct inspection *l, struct span_list *out)
{
	struct dead d = {.l = l};
	bool able = begin(&d);
	uint64_t now = proc_now_ns(), late = l->deadline_ns > now ? now + (l->deadline_ns - now) / 3 : now;
	struct ctp_walk w = ctp_walk_states(l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); able && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		if (w.rows % 256 == 0 && signals_late(late))
			able = false;
		if (ctp_load32(&l->r->states[i].owner) == CTP_OWNER_GUEST &&
		    ctp_state_read(&l->r->states[i], &s))
			station(&d, &s, out);
	}
	if (able)
		tasks(&d, out);
	for (size_t i = 0; able && i < d.nnatives && !d.declared.failed; i++)
		thread_stack(&d, &d.natives[i], out);
	const struct ctp_ext *e = l->r->ext;
	span_add(out, e->region_base, e->region_base + l->r->bytes);
	span_add(out, e->areas_base, e->areas_base + e->areas_bytes);
	span_add(out, e->self_base, e->self_end);
	span_add(out, e->page, e->page + PAGE);
	loader_pages_stale(&l->memory, out);
	dead_stack_deinit(&d.stacks);
	free(d.slots);
	free(d.declared.v);
	free(d.natives);
	unwind_free(d.unwind);
}
