// SPDX-License-Identifier: MIT
//
// A message was sent, a semaphore posted or a condition signalled, and the coroutine that waits for it was
// not resumed: the signal came before the wait, or went to a waiter that had given up, or a flag says that it
// was sent already. What was sent is there, and its reader waits beside it. ctp-run has learned which two
// words were equal whenever the reader waited, and moved together with each piece of work, as the ends of a
// queue do; and has seen that they differ, that nothing is taken, and that nothing is resumed, while loops go
// on or sleep (engine/sets/set_filled.c). It counts if they have differed for twice as long as any finished
// wait at this place, or if they had moved many times. If a thread without coroutines could be the consumer,
// and be slow, they must have begun to differ while the reader already waited: a sender that waits for an
// answer comes after that. It is SUSPECT at most: a reader that is paused for the first time looks the same.
#include "analyze/parked/parked_filled.h"

#include <inttypes.h>

#include "analyze/case/hub_name.h"
#include "analyze/parked/parked_case.h"
#include "analyze/parked/parked_idle.h"
#include "base/text.h"

enum { MOVES_MANY = 8, TIMES_LONGER = 2 };

static const struct parked_spot *spot_of(const struct parked_history *l, const struct ctp_state *s)
{
	unsigned at = l->n && s->stack < l->m->stack_index.n ? l->of[s->stack] : 0;
	return at ? &l->v[at - 1] : NULL;
}

static bool lasts(const struct set_filled *f, const struct parked_spot *p)
{
	return f->moves >= MOVES_MANY || (p && p->left && f->ns - f->since_ns > TIMES_LONGER * p->longest);
}

static bool is_such(const struct world *w, const struct image *m, const struct set_filled *f,
		    const struct ctp_state *s, const struct parked_spot *p)
{
	bool here = f->here && world_ns(w, s->since) <= f->empty_ns;
	return f->ns > f->since_ns && lasts(f, p) && (here || !parked_idle_threads(m));
}

static int report(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct set_filled *f, const struct ctp_state *s, struct results *out)
{
	char differ[32];
	text_duration(differ, sizeof(differ), f->ns - f->since_ns);
	const char *name = hub_name(&(struct set_circle_wait){.hub = f->at, .name = f->name}, out);
	const struct parked_words words = {
		.message = results_text(out,
					"two words, at %s and %" PRIu64
					" bytes further, were equal in %" PRIu64
					" waits here, as those of an empty queue, and moved together %" PRIu64
					"%s times; now they have differed for %s, and nothing was taken",
					name, f->apart, f->parks - f->n, f->moves,
					f->moves == UINT8_MAX ? " or more" : "", differ),
		.chance = "had its chance: loops have gone on, or gone to sleep, since",
		.claim = "waits, while the queue has filled that was empty whenever it waited before",
		.refuted = "it waits for something else than what lies there now, or it is paused",
		.fix = "find who put it there, and why the reader was not resumed: a signal between its look and its wait, or "
		       "to a waiter that had given up, or a flag that says that it was sent already",
	};
	return parked_case_add(pass, w, m, s, &words, out);
}

static int tell(const struct pass *pass, const struct world *w, const struct image *m,
		const struct parked_history *l, const struct set_filled *f, unsigned char *told,
		struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && i < f->n; i++) {
		const struct set_parked *is = &m->set_looks.readers.v[f->parked + i];
		uint32_t row = idmap_get(&m->by_id, is->coroutine);
		const struct ctp_state *s = row == IDMAP_NONE ? NULL : image_state(m, row);
		if (!s || told[row] || s->changes != is->changes || !parked_history_is(m, s, row) ||
		    !is_such(w, m, f, s, spot_of(l, s)))
			continue;
		told[row] = 1;
		r = report(pass, w, m, f, s, out);
	}
	return r;
}

int parked_filled(const struct pass *pass, const struct world *w, const struct image *m,
		  const struct parked_history v[PARKED_PLACINGS], unsigned char *told, struct results *out)
{
	int r = 0;
	for (size_t i = 0; !r && m->has_tables && !m->replaced && i < m->set_looks.nfilled; i++)
		r = tell(pass, w, m, &v[PARKED_USUAL], &m->set_looks.filled[i], told, out);
	return r;
}
