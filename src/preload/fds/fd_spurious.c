// SPDX-License-Identifier: MIT
//
// CTP022 and CTP023: spurious wakeups. A coroutine that was resumed by an event of its
// descriptor, gets EAGAIN there and suspends on it again has been woken for nothing; any read
// or write of its own that succeeds ends the series. A single coroutine is a busy wakeup from
// SPURIOUS_MANY consecutive ones on; with others that wait for the same thing, by whatever number, it is a
// herd. Not counted: a coroutine that tries without an event (a poll by yield, a deadline), and one that
// shares its descriptor with one that waits for the other direction.
#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "preload/fds/fds.h"
#include "preload/coroutine/incident.h"

enum { SPURIOUS_MANY = 100, HERD_LEAST = 4 };

// ------------------------------------------------------------- a herd

// ctp_fd.herd: coroutines with a spurious wakeup | served << 16, in this round; rounds so far that were
// herds << 24; rounds << 40. A round has one who is served at most; the next one begins another.
#define HERD_VAIN(h) ((uint32_t)(h)&0xffff)
#define HERD_SERVED(h) ((uint32_t)((h) >> 16) & 0xff)
#define HERD_HERDS(h) ((uint32_t)((h) >> 24) & 0xffff)
#define HERD_ROUND(h) ((h) >> 40)

// Numbers of one description share a herd. Two descriptions of one place take it from each other: then
// fewer are counted.
enum { SHARED = 64 };
static struct shared {
	uint64_t desc, herd, where; // where: the number and generation by which it is told
} shared[SHARED];

struct place {
	uint64_t *herd;
	int fd;
	uint32_t gen;
};

static struct place place_of(struct ctp_fd *e, int fd)
{
	struct shared *s = &shared[e->desc % SHARED];
	uint64_t was = ctp_load64(&s->desc), desc = e->desc;
	if (!(e->flags & CTP_FD_DUPED))
		return (struct place){&e->herd, fd, e->gen};
	if (was != desc && ctp_cas64(&s->desc, was, desc)) {
		ctp_store64(&s->where, (uint64_t)(uint32_t)fd << 32 | e->gen);
		ctp_store64(&s->herd, 0);
	}
	uint64_t where = ctp_load64(&s->where);
	return (struct place){&s->herd, (int)(where >> 32), (uint32_t)where};
}

__attribute__((noinline)) void spurious_served(struct ctp_fd *e, int fd)
{
	uint64_t *herd = place_of(e, fd).herd, h = ctp_load64(herd);
	uint64_t next = HERD_SERVED(h) ?
				((HERD_ROUND(h) + 1) << 40 | (uint64_t)HERD_HERDS(h) << 24 | 1 << 16) :
				h + (1 << 16);
	ctp_cas64(herd, h, next); // fails: another was served or woken at this very time
}

static void of_herd(struct thread_ctx *g, struct ctp_state *s, struct ctp_fd *e)
{
	struct place at = place_of(e, g->eagain_fd);
	uint64_t h = ctp_load64(at.herd);
	if (state_private(s)->spurious_round == HERD_ROUND(h) + 1 || HERD_VAIN(h) == 0xffff)
		return;
	state_private(s)->spurious_round = HERD_ROUND(h) + 1;
	bool herd = HERD_VAIN(h) + 1 == HERD_LEAST && HERD_HERDS(h) < 0xffff;
	h += 1 + ((uint64_t)herd << 24);
	ctp_store64(at.herd, h); // about: two at a time count as one
	if (HERD_VAIN(h) < HERD_LEAST)
		return;
	struct ctp_incident i = {.rule = RULE_HERD,
				 .who = s->id,
				 .stack = s->stack,
				 .fd = at.fd,
				 .gen = at.gen,
				 .other = e->opener,
				 .other_stack = e->opener_stack,
				 .other_time = e->opened};
	i.value[0] = (uint64_t)HERD_VAIN(h) << 16 | HERD_HERDS(h); // the largest, and then the last
	i.value[1] = HERD_SERVED(h);
	incident_note(g, &i);
}

// ------------------------------------------------------------- alone

static void alone(struct thread_ctx *g, struct ctp_state *s, const struct ctp_fd *e)
{
	if (state_private(s)->spurious_row++ == 0)
		state_private(s)->spurious_began = s->since;
	if (state_private(s)->spurious_row % SPURIOUS_MANY)
		return;
	struct ctp_incident i = {.rule = RULE_BUSY,
				 .who = s->id,
				 .stack = s->stack,
				 .fd = g->eagain_fd,
				 .gen = e->gen,
				 .other = e->opener,
				 .other_stack = e->opener_stack,
				 .other_time = e->opened};
	i.value[0] = state_private(s)->spurious_row;
	i.value[1] = s->since - state_private(s)->spurious_began;
	i.value[2] = e->reg_events;
	i.value[3] = g->eagain_events;
	incident_note(g, &i);
}

__attribute__((noinline)) void spurious_suspends(struct thread_ctx *g, struct ctp_state *s)
{
	struct ctp_fd *e = fds_entry(g->eagain_fd);
	uint64_t key = (uint64_t)(uint32_t)g->eagain_fd << 32 | g->eagain_gen;
	if (s->entity != CTP_COROUTINE || !e || e->gen != g->eagain_gen)
		return;
	bool woken = s->tried == key && ctp_load64(&e->event_time) >= state_private(s)->spurious_since;
	bool both = e->waiter[0] && e->waiter[1] && e->waiter[0] != e->waiter[1];
	if (s->tried != key)
		state_private(s)->spurious_round = 0;
	s->tried = key;
	state_private(s)->spurious_since = s->since;
	if (woken && (e->flags & (CTP_FD_MANY | CTP_FD_DUPED)))
		of_herd(g, s, e);
	if (woken && !both && !(e->flags & (CTP_FD_MANY | CTP_FD_LISTENS)))
		alone(g, s, e);
	else
		state_private(s)->spurious_row = 0;
}
