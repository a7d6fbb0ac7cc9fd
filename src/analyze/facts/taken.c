// SPDX-License-Identifier: MIT
//
// A coroutine waits for a descriptor, and another entity has read it since. The wakeup may be stolen, or the
// reader did the work: that cannot be told, so it is a fact, and the coroutine is undecided. One fact for
// each place that reads so.
#include "analyze/facts/taken.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "ctp/words.h"

enum { PLACES_SHOWN = 5 };

struct place { // where one is read; `first` of n coroutines
	const struct image *image;
	const struct ctp_incident *by;
	const struct ctp_state *first;
	size_t n;
};

struct places {
	struct place *v;
	size_t n, room;
};

static int note(struct places *p, const struct image *m, const struct ctp_state *s)
{
	const struct ctp_incident *by = image_taken(m, s);
	for (size_t i = 0; by && i < p->n; i++)
		if (p->v[i].image == m && p->v[i].by->stack == by->stack) {
			p->v[i].n++;
			return 0;
		}
	if (!by)
		return 0;
	int e = GROW(p->v, p->n, p->room);
	if (!e)
		p->v[p->n++] = (struct place){m, by, s, 1};
	return e;
}

static int by_many(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->n != y->n ? (x->n < y->n) - (x->n > y->n) :
			      (x->first->id > y->first->id) - (x->first->id < y->first->id);
}

static int say(struct report *r, const struct place *p)
{
	const struct ctp_fd *f = image_fd(p->image, p->by->fd);
	char who[160] = "a thread without coroutines", where[PLACE_BYTES], more[48] = "";
	if (!(p->by->value[1] & CTP_FD_UNNAMED))
		report_who(r, p->image, p->by->value[1], who, sizeof(who));
	place_text(r, p->image, p->by->stack, 1, where, sizeof(where));
	if (p->n > 1)
		snprintf(more, sizeof(more), ", and %zu more wait%s so", p->n - 1, p->n == 2 ? "s" : "");
	return results_fact(
		&r->results, rules_id[RULE_WRONG_WAITER], p->n,
		"coroutine %" PRIu64 " waits for fd %d (%s), which %s has read%s while it waited: "
		"undecided, its wakeup may be taken%s",
		p->first->id, p->by->fd, words_kind(f ? f->kind : CTP_FD_OTHER), who, where, more);
}

int taken_facts(struct report *r)
{
	struct places p = {0};
	int e = 0;
	for (size_t k = 0; !e && k < r->world->nimages; k++) {
		const struct image *m = &r->world->images[k];
		for (size_t i = 0; !e && m->has_tables && !m->replaced && i < m->stations.n; i++)
			if ((m->row_flags[i] & IMAGE_ROW_TAKEN) && r->accounts[k][i] == ACCOUNT_UNDECIDED)
				e = note(&p, m, image_state(m, i));
	}
	if (!e && p.n)
		qsort(p.v, p.n, sizeof(*p.v), by_many);
	for (size_t i = 0; !e && i < p.n && i < PLACES_SHOWN; i++)
		e = say(r, &p.v[i]);
	free(p.v);
	return e;
}
