// SPDX-License-Identifier: MIT
//
// The engine writes what the code of a coroutine says about where it is suspended; debug information, which
// may be on another machine, makes a line of it.
#include "analyze/report/stackless_places.h"

#include "symbols/suspension.h"

_Static_assert((int)STACKLESS_STEPS >= (int)SUSPENSION_BEHIND, "all steps");

static unsigned copy(struct suspension_step *to, unsigned most, const struct stackless_steps *from)
{
	unsigned n = from->n < most ? from->n : most;
	for (unsigned i = 0; i < n; i++)
		to[i] = (struct suspension_step){from->at[i], from->calls[i]};
	return n;
}

static int look_up(struct symbols *s, const struct stackless_place *p)
{
	struct suspension_place found;
	struct suspension c = {.gcc = p->gcc,
			       .initial = p->initial,
			       .merged = p->merged,
			       .resume = p->resume,
			       .asks = p->asks,
			       .landing = p->landing,
			       .store = p->store};
	c.nbehind = copy(c.behind, SUSPENSION_BEHIND, &p->behind);
	c.nbefore = copy(c.before, SUSPENSION_BEFORE, &p->before);
	int e = suspension_find(&found, s, &c);
	return e || !found.frame ? e : symbols_moved(s, p->pc, found.frame->pc + 1, found.exact);
}

int stackless_places(struct report *r)
{
	int e = 0;
	for (size_t i = 0; !e && i < r->world->nimages; i++) {
		const struct stackless_looks *l = &r->world->images[i].stackless;
		for (size_t k = 0; !e && r->symbols[i] && k < l->nplaces; k++)
			e = look_up(r->symbols[i], &l->places[k]);
	}
	return e;
}
