// SPDX-License-Identifier: MIT
//
// What the scan leaves out. Each span must be dead for certain: a stack below
// its pointer counts only where the stack's lower end is known - declared to
// makecontext, with the coroutine's own save area not in there, or a mapping
// of its own above a guard (or the main stack) that no declared stack shares.
#include "engine/dead.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"

enum { RED_ZONE = 128, EVENT_BYTES = 12 };

void span_add(struct span_list *s, uint64_t lo, uint64_t hi)
{
	if (hi <= lo)
		return;
	if (s->n == s->room) {
		size_t room = s->room ? s->room * 2 : 256;
		struct span *more = realloc(s->v, room * sizeof(*more));
		if (!more) {
			s->failed = true;
			return;
		}
		s->v = more;
		s->room = room;
	}
	s->v[s->n++] = (struct span){lo, hi};
}


static bool sane(const struct ctp_state *s)
{
	return s->hi > s->lo && s->hi - s->lo <= (1ULL << 32) && !(s->flags & CTP_STATE_SHARED_STACK);
}

// Its stack pointer is known: asleep, or held by us.
static bool still(const struct proc_task *t)
{
	return (t->state == 'S' || (t->state == 't' && t->got_regs)) && (t->nr >= 0 || t->nr == PROC_NOT_IN_SYSCALL);
}

// Where the thread that runs `s` sleeps, or 0.
static uint64_t running_sp(const struct look *l, const struct ctp_state *s)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (l->tasks.v[i].slot == (int)s->thread && still(&l->tasks.v[i]))
			return l->tasks.v[i].sp;
	return 0;
}

static void coroutine(const struct look *l, const struct ctp_state *s, struct span_list *declared, struct span_list *out)
{
	span_add(declared, s->lo, s->hi);
	uint64_t sp = s->life == CTP_SUSPENDED ? s->regs[CTP_REG_SP] : running_sp(l, s);
	if (sp <= s->lo + RED_ZONE || sp > s->hi || (s->slot >= s->lo && s->slot < sp - RED_ZONE))
		return;
	span_add(out, s->lo, sp - RED_ZONE);
}

// Below `sp` in a mapping of its own.
static void native_stack(const struct look *l, uint64_t sp, const struct span_list *declared, struct span_list *out)
{
	const struct maps_line *m = proc_maps_find(&l->maps, sp);
	if (!m || sp <= m->lo + RED_ZONE)
		return;
	bool guarded = m > l->maps.v && m[-1].hi == m->lo && !strncmp(m[-1].perms, "---p", 4) && !m->ino &&
		       !*m->path && m->perms[3] == 'p';
	if (!guarded && strcmp(m->path, "[stack]"))
		return;
	for (size_t i = 0; i < declared->n; i++)
		if (declared->v[i].lo < sp && declared->v[i].hi > m->lo)
			return;
	span_add(out, m->lo, sp - RED_ZONE);
}

// Has the frame that saved `s` returned? Its caller stands above where it stood, on the same stack.
static bool frame_gone(const struct look *l, const struct ctp_state *s)
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

// Does the context still lie there, or has its memory become something else?
static bool still_there(const struct look *l, const struct ctp_state *s, uint64_t regs, unsigned n)
{
	uint64_t words[32];
	bool sp = false, pc = false;
	n = n < 32 ? n : 32;
	if (proc_peek(l->pid, regs, words, n * 8, false) != n * 8)
		return false;
	for (unsigned i = 0; i < n; i++) {
		sp |= words[i] == s->regs[CTP_REG_SP];
		pc |= words[i] == s->regs[CTP_REG_PC];
	}
	return sp && pc;
}

// Words of a save slot that nobody can use any more. A context saved by
// swapcontext goes on as from a call, after which caller-saved registers hold
// nothing; one whose owner has gone on since can be entered again, as long as
// the function that saved it has not returned.
static void save_slot(const struct look *l, const struct ctp_state *s, struct span_list *out)
{
	const struct ctp_ext *e = l->r->ext;
	if (!s->slot || s->how != CTP_HOW_SWAP || (s->life != CTP_RUNNING && s->life != CTP_SUSPENDED) || s->changes == 0)
		return;
	bool used_up = s->life == CTP_RUNNING && frame_gone(l, s);
	uint64_t regs = s->slot + e->context_off;
	if (!still_there(l, s, regs, e->context_words))
		return;
	for (unsigned i = 0; i < e->context_words && i < 32; i++)
		if (used_up || (e->context_scratch >> i & 1))
			span_add(out, regs + 8 * i, regs + 8 * i + 8);
}

void dead_find(const struct look *l, struct span_list *out)
{
	struct span_list declared = {0}, natives = {0};
	uint32_t n = ctp_load32(&l->r->header->allocated_count);
	for (uint32_t i = 0; i < n && i < l->r->stations_max; i++) {
		struct ctp_state s;
		if (ctp_load32(&l->r->stations[i].state.owner) != CTP_OWNER_GUEST ||
		    !ctp_state_read(&l->r->stations[i].state, &s))
			continue;
		save_slot(l, &s, out);
		bool lives = s.life == CTP_SUSPENDED || s.life == CTP_RUNNING;
		if (s.entity == CTP_NATIVE && s.life == CTP_SUSPENDED)
			span_add(&natives, s.regs[CTP_REG_SP], s.regs[CTP_REG_SP] + 1);
		else if (s.entity == CTP_COROUTINE && lives && sane(&s))
			coroutine(l, &s, &declared, out);
		else if (s.entity == CTP_COROUTINE && sane(&s))
			span_add(&declared, s.lo, s.hi);
	}
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (!still(t))
			continue;
		if (t->slot >= 0 && l->threads[t->slot].native && l->threads[t->slot].current == l->threads[t->slot].native)
			span_add(&natives, t->sp, t->sp + 1);
		if (look_in_epoll(t) && t->args[2] < (1u << 24))
			span_add(out, t->args[1], t->args[1] + t->args[2] * EVENT_BYTES);
	}
	for (size_t i = 0; i < natives.n && !declared.failed; i++)
		native_stack(l, natives.v[i].lo, &declared, out);
	const struct ctp_ext *e = l->r->ext;
	span_add(out, e->region_base, e->region_base + l->r->bytes);
	span_add(out, e->areas_base, e->areas_base + e->areas_bytes);
	span_add(out, e->self_base, e->self_end);
	free(declared.v);
	free(natives.v);
}
