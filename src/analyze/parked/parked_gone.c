// SPDX-License-Identifier: MIT
//
// One coroutine told the others of what is new, and has ended; they were not resumed to hear that nothing
// more will come, or came to wait after they had been told. Whose work has come to its end looks the same,
// and so do subscribers whose publisher has left. So a coroutine counts only if all of these hold:
// - It has read from a connection that was accepted, or written to it, and that is still open.
// - It was resumed from where it waits several times, most of them right after a turn of one and the same
//   coroutine (parked_resumer.h); and so were the others who wait for that one.
// - That one has ended, or is suspended where none was ever resumed, as is who has ended and is kept. Since
//   this one was made, none was made where that one was: no publisher is to come, as clients come and go.
// - It waits for more than a second, and ten times its longest wait there; others, or a loop, have gone on
//   since, or all loops have gone to sleep.
// It is SUSPECT at most: it may be left to its client to go away.
#include "analyze/parked/parked_gone.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/parked/parked_resumer.h"
#include "analyze/parked/parked_unanswered.h"
#include "base/grow.h"
#include "base/text.h"

enum { OWN_LEAST = 3, ALL_LEAST = 8, TIMES = 10, SERVING_MOST = 1024 };

struct serving {
	const struct ctp_state *state;
	size_t row;
};

struct gone {
	const struct parked_history *l;
	struct serving *v;
	struct parked_resumer *by; // of each
	size_t n, room, by_room;
	struct idmap by_id;
};

static int add(struct gone *u, const struct ctp_state *s, size_t row)
{
	if (GROW(u->v, u->n, u->room) || idmap_set(&u->by_id, s->id, (uint32_t)u->n))
		return -ENOMEM;
	u->v[u->n++] = (struct serving){s, row};
	return 0;
}

// Those who have a client, and were resumed before where they wait.
static int find_serving(struct gone *u, const unsigned char *told)
{
	const struct image *m = u->l->m;
	int r = 0;
	for (size_t i = 0; !r && i < m->fds.n && u->n < SERVING_MOST; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		uint64_t id = parked_unanswered_accepted(m, i) ? parked_unanswered_reader(m, f) : 0;
		uint32_t row = id ? idmap_get(&m->by_id, id) : IDMAP_NONE;
		const struct ctp_state *s = row == IDMAP_NONE ? NULL : image_state(m, row);
		unsigned at = !s || told[row] || !parked_history_is(m, s, row) ? 0 : u->l->of[s->stack];
		if (at && u->l->v[at - 1].left && idmap_get(&u->by_id, id) == IDMAP_NONE)
			r = add(u, s, row);
	}
	return r;
}

static int find_resumers(struct gone *u, const struct world *w)
{
	u->by = calloc(u->n, sizeof(*u->by));
	if (!u->by)
		return -ENOMEM;
	for (size_t i = 0; i < u->n; i++)
		u->by[i] = (struct parked_resumer){.waits = u->v[i].state->id,
						   .place = u->l->of[u->v[i].state->stack] - 1U};
	return parked_resumer_own(w, u->l, u->by, u->n);
}

// ------------------------------------------------------------- is that one gone?

static bool is_stuck(const struct image *m, const struct ctp_state *s)
{
	const struct ctp_site *at = s->stack && s->stack < m->sites.n ? table_row(&m->sites, s->stack) : NULL;
	uint32_t row = idmap_get(&m->by_id, s->id);
	return at && !at->resumed && row != IDMAP_NONE && parked_history_is(m, s, row);
}

static bool is_gone(const struct parked_history *l, const struct parked_member *of)
{
	const struct ctp_state *s = image_entity(l->m, of->id);
	return !of->runs || (s && is_stuck(l->m, s));
}

static uint64_t waits(const struct world *w, const struct parked_history *l, const struct ctp_state *s)
{
	uint64_t since = world_ns(w, s->since);
	return l->end_ns > since ? l->end_ns - since : 0;
}

static bool is_left(const struct world *w, const struct gone *u, size_t i)
{
	const struct parked_resumer *r = &u->by[i];
	const struct parked_spot *p = &u->l->v[r->place];
	const struct parked_member *by = parked_history_member(u->l, r->by);
	uint64_t ns = waits(w, u->l, u->v[i].state);
	return by && r->early && r->resumed >= OWN_LEAST && 3 * r->handed >= 2 * r->resumed &&
	       ns > PARKED_LONG_NS && ns > TIMES * r->longest && is_gone(u->l, by) &&
	       (parked_history_goes_on(w, u->l, p) || parked_history_rests(w, u->l, p));
}

// ------------------------------------------------------------- what it says

static int report(const struct pass *pass, const struct world *w, const struct gone *u, size_t i,
		  uint64_t all, struct results *out)
{
	const struct parked_resumer *r = &u->by[i];
	const struct parked_member *by = parked_history_member(u->l, r->by);
	struct verdict_case c;
	char span[32];
	case_of_wait(&c, pass, &(struct suspect){.world = w, .image = u->l->m, .state = u->v[i].state}, out);
	text_duration(span, sizeof(span), case_suspended_ns(&c));
	c.message = results_text(out,
				 "%" PRIu64 " of %" PRIu64
				 " times it was resumed here right after coroutine %" PRIu64
				 " had run, which %s; %" PRIu64 " such waits in all",
				 r->handed, r->resumed, r->by,
				 by->runs ? "is suspended where none was ever resumed" : "has ended", all);
	c.doing = results_text(out, "%s for nothing that is known; %s", span, c.message);
	c.actor = (struct case_party){.did = "resumer", .id = r->by, .stack = by->stack};
	c.proof = (struct obligations){.verdict = VERDICT_SUSPECT, .by_hand = w->counts.hand > 0};
	c.proof.items[PROOF_P0] = case_completeness(case_complete(w, u->l->m));
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P5] =
		(struct obligation){HOLDS_TRUE, "had its chance: the loops have gone on since, or to sleep"};
	c.claim = "waits for a coroutine that has gone";
	c.refuted = "somebody else resumes it, and is late, or it is left to its client to go away";
	c.fix = "tell all who wait when nothing more will come, close their queue, and look for that in one step with "
		"the wait: who comes after the last notification waits for good";
	return results_add(out, &c);
}

// Of all who wait for one, at one place.
static uint64_t handed_by(const struct gone *u, const struct parked_resumer *r)
{
	uint64_t n = 0;
	for (size_t i = 0; i < u->n; i++)
		n += u->by[i].by == r->by && u->by[i].place == r->place ? u->by[i].handed : 0;
	return n;
}

static int judge(const struct pass *pass, const struct world *w, const struct gone *u, unsigned char *told,
		 struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < u->n; i++) {
		uint64_t all = is_left(w, u, i) ? handed_by(u, &u->by[i]) : 0;
		if (all < ALL_LEAST)
			continue;
		told[u->v[i].row] = 1;
		r = report(pass, w, u, i, all, out);
	}
	return r;
}

int parked_gone(const struct pass *pass, const struct world *w,
		const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	struct gone u = {.l = &v[PARKED_USUAL]};
	int r = u.l->n ? find_serving(&u, told) : 0;
	r = r || !u.n ? r : find_resumers(&u, w);
	r = r || !u.n ? r : judge(pass, w, &u, told, out);
	idmap_deinit(&u.by_id);
	free(u.v);
	free(u.by);
	return r;
}
