// SPDX-License-Identifier: MIT
//
// A coroutine has accepted a connection, or was given it, has read from it, and written nothing to it since;
// then it was parked. Its client waits for the answer. That alone is no fault: the answer may take long, or
// none may be due. So it counts only if one of these holds as well, for more than a second:
// - Others who came to this place later were resumed, and it waits ten times as long as any of them did.
// - Others that were made where it was have ended, and it waits ten times as long as the longest of their
// lives.
// - It answered on this connection before, and so did others who wait here; none was ever resumed from here,
// or not more often than wait here now, and it waits a hundred times as long as any of those did.
// - All who waited here were resumed by one and the same coroutine, by its next turn; it has had its turn
// since (parked_resumer.h), and it waits ten times as long as any of those did.
// Others, or a loop, have gone on since, or all loops have gone to sleep. It is SUSPECT at most: who
// subscribes to something reads, too, and waits.
#include "analyze/parked/parked_unanswered.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "analyze/parked/parked_resumer.h"
#include "base/text.h"
#include "trace/transitions.h"

#define LEAST_NS 3000000000ULL // where nobody was ever resumed
enum { TIMES = 10, TIMES_MORE = 100, PASSED_LEAST = 3, OVER_LEAST = 5, TOGETHER_LEAST = 2 };
enum { CHANGES_LEAST = 6, ASKED_MOST = 64, DESCRIPTORS_MOST = 4096 };

struct asked {
	const struct ctp_state *state;
	size_t row;
	const struct ctp_fd *f;
	int32_t fd;
	uint64_t since_ns;
	unsigned place;           // row of l->v
	uint64_t passed, longest; // who came to it later, and were resumed; and how long they waited
};

struct unanswered {
	const struct parked_history *l;
	struct asked *v;
	struct parked_resumer *by; // of each
	size_t n, room;
	struct idmap by_id;
	size_t together[PARKED_PLACES]; // who have answered before
};

// ------------------------------------------------------------- who was asked

// A copy of a descriptor does not say how the first was made: of a connection to a port of this process, by
// accept.
static bool is_of_listener(const struct image *m, int64_t fd, uint32_t gen)
{
	const char *name = descriptors_name(&m->descriptors, fd, gen), *port = NULL;
	const char *end = name ? strstr(name, " <- ") : NULL;
	for (const char *at = name; at && end && at < end; at++)
		port = *at == ':' ? at : port;
	for (size_t i = 0; port && m->descriptors.n <= DESCRIPTORS_MOST && i < m->descriptors.n; i++) {
		const char *other = m->descriptors.v[i].name, *its = other ? strrchr(other, ':') : NULL;
		size_t n = (size_t)(end - port);
		if (its && !strchr(other, ' ') && strlen(its) == n && !memcmp(its, port, n))
			return true;
	}
	return false;
}

bool parked_unanswered_accepted(const struct image *m, size_t row)
{
	const struct ctp_fd *f = table_row(&m->fds, row);
	bool copy = f->opened_how == CTP_CALL_DUP || f->opened_how == CTP_CALL_DUP2 ||
		    f->opened_how == CTP_CALL_DUP3;
	return f->life == CTP_FD_OPEN && (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UNIX) &&
	       (f->opened_how == CTP_CALL_ACCEPT ||
		(copy && is_of_listener(m, (int64_t)table_index(&m->fds, row), f->gen)));
}

static bool is_asked(const struct image *m, size_t row)
{
	const struct ctp_fd *f = table_row(&m->fds, row);
	return f->latest == CTP_FD_READ_LAST && parked_unanswered_accepted(m, row);
}

static uint64_t coroutine(uint64_t who)
{
	return who & CTP_FD_UNNAMED ? 0 : who & CTP_ID_MASK;
}

uint64_t parked_unanswered_reader(const struct image *m, const struct ctp_fd *f)
{
	uint64_t by = coroutine(f->last_in);
	const struct ctp_state *s = by ? image_entity(m, by) : NULL;
	if (by && !(s && s->entity == CTP_NATIVE))
		return by;
	return f->learned ? f->learned : coroutine(f->last_out);
}

static bool has_answered(const struct asked *a)
{
	uint64_t by = coroutine(a->f->last_out);
	return by == a->state->id && a->state->changes >= CHANGES_LEAST;
}

static int find_asked(struct unanswered *u, const struct world *w, const unsigned char *told)
{
	const struct image *m = u->l->m;
	for (size_t i = 0; i < m->fds.n && u->n < ASKED_MOST; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		uint64_t id = is_asked(m, i) ? parked_unanswered_reader(m, f) : 0;
		uint32_t row = id ? idmap_get(&m->by_id, id) : IDMAP_NONE;
		const struct ctp_state *s = row == IDMAP_NONE ? NULL : image_state(m, row);
		if (!s || told[row] || !parked_history_is(m, s, row) || !u->l->of[s->stack] ||
		    idmap_get(&u->by_id, id) != IDMAP_NONE)
			continue;
		if (GROW(u->v, u->n, u->room) || idmap_set(&u->by_id, id, (uint32_t)u->n))
			return -ENOMEM;
		struct asked *a = &u->v[u->n++];
		*a = (struct asked){.state = s, .row = row, .f = f, .fd = (int32_t)table_index(&m->fds, i)};
		a->since_ns = world_ns(w, s->since);
		a->place = u->l->of[s->stack] - 1U;
		u->together[a->place] += has_answered(a);
	}
	return 0;
}

// ------------------------------------------------------------- the history

static int note_passing(void *arg, const struct transition *t)
{
	struct unanswered *u = arg;
	const struct ctp_merge_entity *to = t->to;
	if (t->kind != CTP_EV_SWITCH || !to || !to->suspended || to->native || !to->since_ns)
		return 0;
	unsigned at = to->stack < u->l->m->stack_index.n ? u->l->of[to->stack] : 0;
	for (size_t i = 0; at && i < u->n; i++) {
		struct asked *a = &u->v[i];
		uint64_t waited = t->ns > to->since_ns ? t->ns - to->since_ns : 0;
		if (a->place != at - 1 || to->id == a->state->id)
			continue;
		a->passed += to->since_ns > a->since_ns;
		a->longest = waited > a->longest ? waited : a->longest;
	}
	return 0;
}

// ------------------------------------------------------------- what it says

static const char *had_its_turn(const struct parked_resumer *by, struct results *out)
{
	return results_text(out,
			    "%" PRIu64 " that waited here were resumed by coroutine %" PRIu64
			    ", %s; it has had "
			    "%" PRIu64 " since",
			    by->resumed, by->by,
			    by->most == 1 ? "each by its next turn" :
					    results_text(out, "after %" PRIu64 " turns at most", by->most),
			    by->turns);
}

// Why its answer is late; NULL: it may not be. *by stays where that is what somebody has not done.
static const char *why(const struct unanswered *u, const struct asked *a, const struct parked_resumer **by,
		       struct results *out)
{
	const struct parked_resumer *resumer = *by;
	const struct parked_spot *p = &u->l->v[a->place];
	const struct parked_users *alike = &p->of[PARKED_MADE_ALIKE];
	uint64_t waits = u->l->end_ns > a->since_ns ? u->l->end_ns - a->since_ns : 0;
	char most[32];
	*by = NULL;
	text_duration(most, sizeof(most), a->longest);
	if (waits > PARKED_LONG_NS && a->passed >= PASSED_LEAST && waits > TIMES * a->longest)
		return results_text(out, "%" PRIu64 " came here later, and were resumed, after %s at most",
				    a->passed, most);
	text_duration(most, sizeof(most), alike->life_ns);
	if (waits > PARKED_LONG_NS && alike->over >= OVER_LEAST && waits > TIMES * alike->life_ns)
		return results_text(out, "%" PRIu64 " others made where it was lived for %s at most",
				    alike->over, most);
	bool answered = waits > LEAST_NS && u->together[a->place] >= TOGETHER_LEAST && has_answered(a);
	if (answered && !p->left)
		return results_text(out,
				    "it answered before; %zu wait here, from where none was ever resumed",
				    p->parked);
	if (waits > PARKED_LONG_NS && waits > TIMES * resumer->longest && parked_resumer_is_late(resumer)) {
		*by = resumer;
		return had_its_turn(resumer, out);
	}
	text_duration(most, sizeof(most), p->longest);
	return answered && p->left <= p->parked && waits > TIMES_MORE * p->longest ?
		       results_text(out,
				    "it answered before; %zu wait here, from where %" PRIu64
				    " w%s resumed before, after %s at most",
				    p->parked, p->left, p->left == 1 ? "as" : "ere", most) :
		       NULL;
}

static int report(const struct pass *pass, const struct world *w, const struct unanswered *u,
		  const struct asked *a, const char *late, const struct parked_resumer *by,
		  struct results *out)
{
	const struct parked_spot *p = &u->l->v[a->place];
	struct verdict_case c;
	char span[32];
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = u->l->m, .state = a->state}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message =
		results_text(out, "it has read from fd %d#%u, and not answered; %s", a->fd, a->f->gen, late);
	c.doing = results_text(out, "%s for nothing that is known; %s", span, c.message);
	c.proof = (struct obligations){.verdict = VERDICT_SUSPECT, .by_hand = w->counts.hand > 0};
	c.proof.items[PROOF_P0] = case_completeness(case_complete(w, u->l->m));
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P5] = (struct obligation){
		HOLDS_TRUE, p->others ? results_text(out,
						     "had its chance: others were resumed %" PRIu64
						     " times since the last one came here or left",
						     p->others) :
					"had its chance: the loops have gone on since, or to sleep"};
	c.fix = by ? "look at what its resumer did in that turn: a notification that came before the wait, a query "
		     "that was dropped, one of several that was not told" :
		     "find what it waits for: a place or lock that was not given back, a message or notification "
		     "that was lost, or a coroutine that waits itself";
	if (by)
		c.actor = (struct case_party){.did = "resumer", .id = by->by, .stack = by->stack};
	c.claim = "has read a request, and is not resumed to answer it";
	c.refuted = "the answer takes so much longer, or none is due: it subscribes to something";
	return results_add(out, &c);
}

static int judge(const struct pass *pass, const struct world *w, const struct unanswered *u,
		 unsigned char *told, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < u->n; i++) {
		const struct asked *a = &u->v[i];
		const struct parked_spot *p = &u->l->v[a->place];
		const struct parked_resumer *by = &u->by[i];
		const char *late = why(u, a, &by, out);
		if (!late || !(parked_history_goes_on(w, u->l, p) || parked_history_rests(w, u->l, p)))
			continue;
		told[a->row] = 1;
		r = report(pass, w, u, a, late, by, out);
	}
	return r;
}

static int find_resumers(struct unanswered *u, const struct world *w)
{
	u->by = calloc(u->n, sizeof(*u->by));
	if (!u->by)
		return -ENOMEM;
	for (size_t i = 0; i < u->n; i++)
		u->by[i] = (struct parked_resumer){.waits = u->v[i].state->id, .place = u->v[i].place};
	return parked_resumer_find(w, u->l, u->by, u->n);
}

int parked_unanswered(const struct pass *pass, const struct world *w,
		      const struct parked_history v[PARKED_PLACINGS], unsigned char *told,
		      struct results *out)
{
	struct unanswered u = {.l = &v[PARKED_USUAL]};
	int r = u.l->n ? find_asked(&u, w, told) : 0;
	r = r || !u.n ? r : transitions_walk(w, note_passing, &u);
	r = r || !u.n ? r : find_resumers(&u, w);
	r = r || !u.n ? r : judge(pass, w, &u, told, out);
	idmap_deinit(&u.by_id);
	free(u.v);
	free(u.by);
	return r;
}
