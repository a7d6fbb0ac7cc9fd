// SPDX-License-Identifier: MIT
//
// A peer that never answers is no fault of the program's, and an idle connection looks the same. So this is a
// fact, and said only where it stands out: one waits for more than ten times the longest of the waits that
// ever ended at that place; or several do for twice that, and ten times as long as most, as one in a thousand
// takes long on a busy machine; or several wait at a place where no wait has ever ended. That a peer is
// silent the kernel must have said, a second or more after they suspended. What else last_used.h tells is of
// those without a wait.
#include "analyze/facts/silent_peers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/words.h"
#include "trace/transitions.h"

#define LONG_NS 1000000000ULL
#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone
enum { PLACES_SHOWN = 5, TIMES = 10, SEVERAL = 2, SEVERAL_TIMES = 2, MOST_OF = 20 };

struct waiter {
	uint32_t stack;
	int32_t fd;
	uint64_t span_ns;
};

struct place {
	uint32_t stack;
	uint64_t ended, longest_ns; // waits that ended there
	uint64_t of[64];            // how many of them, by the highest bit of their length
	size_t several;             // waiters that stand out if there are several
	size_t n;                   // waiters that stand out
	uint64_t span_ns;
	int32_t lo, hi;
};

struct silent {
	struct report *report;
	const struct image *m;
	struct waiter *v;
	size_t n, room;
	struct place *places;
	size_t nplaces, places_room;
	struct idmap by_stack; // to a place
	bool lost;
};

// ------------------------------------------------------------- who waits for whom

// Of a pipe or socket pair within the program the other end is the program's own silence.
static bool is_own(const struct image *m, const struct ctp_fd *f)
{
	for (size_t i = 0; f->peer_desc && i < m->fds.n; i++) {
		const struct ctp_fd *other = table_row(&m->fds, i);
		if (other->life == CTP_FD_OPEN && other->desc == f->peer_desc)
			return true;
	}
	return false;
}

static bool has_silent_peer(const struct silent *u, const struct ctp_state *s, const struct ctp_wait *w)
{
	const struct ctp_fd *f = image_fd(u->m, w->fd);
	uint64_t since = world_ns(u->report->world, s->since);
	if (!f || f->gen != w->gen || f->life != CTP_FD_OPEN || (f->flags & CTP_FD_LISTENS) ||
	    f->event_time >= s->since ||
	    !(f->kind == CTP_FD_TCP || f->kind == CTP_FD_UDP || f->kind == CTP_FD_UNIX))
		return false;
	const struct descriptor *d = descriptors_find(&u->m->descriptors, w->fd, f->gen);
	return d && d->asked && !d->ready && d->unread <= 0 && d->ns >= since + LONG_NS && !is_own(u->m, f);
}

static int add(struct silent *u, const struct ctp_state *s, uint64_t span_ns)
{
	if (GROW(u->v, u->n, u->room))
		return -ENOMEM;
	u->v[u->n++] = (struct waiter){s->stack, s->waits[0].fd, span_ns};
	if (idmap_get(&u->by_stack, s->stack) != IDMAP_NONE)
		return 0;
	if (GROW(u->places, u->nplaces, u->places_room))
		return -ENOMEM;
	u->places[u->nplaces] = (struct place){.stack = s->stack, .lo = -1, .hi = -1};
	return idmap_set(&u->by_stack, s->stack, (uint32_t)u->nplaces++);
}

static int find(struct silent *u, const unsigned char *accounts)
{
	const struct world *w = u->report->world;
	uint64_t end = u->m->snapshot_ns ? u->m->snapshot_ns : w->snapshot_ns;
	int e = 0;
	for (size_t i = 0; !e && i < u->m->stations.n; i++) {
		const struct ctp_state *s = image_state(u->m, i);
		uint64_t since = accounts[i] == ACCOUNT_HEALTHY ? world_ns(w, s->since) : 0;
		if (since && end >= since + LONG_NS && s->stack && image_nwaits(s) == 1 &&
		    has_silent_peer(u, s, &s->waits[0]))
			e = add(u, s, end - since);
	}
	return e;
}

// ------------------------------------------------------------- what is usual there

static int sink(void *arg, const struct transition *t)
{
	struct silent *u = arg;
	const struct ctp_merge_entity *to = t->to;
	uint32_t at = t->kind == CTP_EV_SWITCH && to && to->suspended && !to->native ?
			      idmap_get(&u->by_stack, to->stack) :
			      IDMAP_NONE;
	u->lost |= t->from_gap || t->to_gap;
	if (at == IDMAP_NONE || t->to_gap || !to->since_ns || t->ns <= to->since_ns)
		return 0;
	struct place *p = &u->places[at];
	p->ended++;
	p->of[63 - __builtin_clzll(t->ns - to->since_ns)]++;
	p->longest_ns = t->ns - to->since_ns > p->longest_ns ? t->ns - to->since_ns : p->longest_ns;
	return 0;
}

// What 19 of 20 of the waits took, or less.
static uint64_t most_took(const struct place *p)
{
	uint64_t n = 0;
	unsigned bit = 0;
	while (bit < 63 && (n += p->of[bit]) < p->ended - p->ended / MOST_OF)
		bit++;
	return p->ended ? 2ULL << bit : 0;
}

static bool is_long(const struct place *p, uint64_t span_ns, bool several)
{
	return span_ns > TIMES * p->longest_ns ||
	       (several && span_ns > SEVERAL_TIMES * p->longest_ns && span_ns > TIMES * most_took(p));
}

static struct place *place_of(const struct silent *u, const struct waiter *w)
{
	return &u->places[idmap_get(&u->by_stack, w->stack)];
}

static void count(struct silent *u)
{
	for (size_t i = 0; i < u->n; i++)
		place_of(u, &u->v[i])->several += is_long(place_of(u, &u->v[i]), u->v[i].span_ns, true);
	for (size_t i = 0; i < u->n; i++) {
		const struct waiter *w = &u->v[i];
		struct place *p = place_of(u, w);
		if (!is_long(p, w->span_ns, p->several >= SEVERAL))
			continue;
		p->n++;
		p->span_ns = w->span_ns > p->span_ns ? w->span_ns : p->span_ns;
		p->lo = p->lo < 0 || w->fd < p->lo ? w->fd : p->lo;
		p->hi = w->fd > p->hi ? w->fd : p->hi;
	}
}

// ------------------------------------------------------------- what it says

static int say(const struct silent *u, const struct place *p)
{
	char span[32], longest[32], place[PLACE_BYTES], more[24] = "", usual[96];
	const struct ctp_fd *f = image_fd(u->m, p->lo);
	const char *name = p->n == 1 ? descriptors_name(&u->m->descriptors, p->lo, f->gen) : NULL;
	text_duration(span, sizeof(span), p->span_ns);
	text_duration(longest, sizeof(longest), p->longest_ns);
	place_text_apart(u->report, u->m, p->stack, place, sizeof(place));
	if (p->hi > p->lo)
		snprintf(more, sizeof(more), " ... %d", p->hi);
	if (p->ended)
		snprintf(usual, sizeof(usual), "%" PRIu64 " wait%s ended there after %s at most", p->ended,
			 p->ended == 1 ? "" : "s", longest);
	else
		snprintf(usual, sizeof(usual), "no wait has ended there");
	return results_fact(
		&u->report->results, "INFO", p->n,
		"%zu coroutine%s suspended for %s%s, waiting for fd %d%s (%s%s%s), peer%s silent; %s", p->n,
		p->n == 1 ? " is" : "s are", span, place, p->lo, more, words_kind(f->kind), name ? " " : "",
		name ? name : "", p->n == 1 ? "" : "s", usual);
}

static int by_age(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return (x->span_ns < y->span_ns) - (x->span_ns > y->span_ns);
}

// What was lost of the history may have been a wait that ended there.
static int say_all(struct silent *u)
{
	int e = 0;
	size_t shown = 0;
	if (u->nplaces)
		qsort(u->places, u->nplaces, sizeof(*u->places), by_age);
	for (size_t i = 0; !e && i < u->nplaces && shown < PLACES_SHOWN; i++) {
		const struct place *p = &u->places[i];
		if (p->ended ? p->n > 0 : p->n >= SEVERAL && !u->lost) {
			e = say(u, p);
			shown++;
		}
	}
	return e;
}

static void deinit(struct silent *u)
{
	idmap_deinit(&u->by_stack);
	free(u->places);
	free(u->v);
}

int silent_peers_facts(struct report *r)
{
	const struct world *w = r->world;
	struct silent u = {.report = r, .m = w->images};
	if (w->nimages != 1 || w->form != WORLD_DIRECTORY || w->events > EVENTS_MOST || !u.m->has_tables ||
	    u.m->replaced || !r->accounts[0])
		return 0;
	int e = find(&u, r->accounts[0]);
	if (!e && u.n) {
		e = transitions_walk(w, sink, &u);
		e = e == -ESPIPE ? 0 : e;
	}
	count(&u);
	e = e ? e : say_all(&u);
	deinit(&u);
	return e;
}
