// SPDX-License-Identifier: MIT
//
// Many loops register a descriptor with its number as data, and find the handle by that number: in a map's
// node, or in a record of an array, the number is in the word before the handle. A small number is found
// anywhere by chance, so the coroutine's frame must hold it, too, the descriptor must have been registered
// with it, and the coroutine must be older than the close. More than SUSPECT is not made of it.
#include "engine/stackless/numbered.h"

#include <string.h>

#include "ctp/births.h"

enum { FRAME_MOST = 4096, CLOSES_MOST = 4096 };

// In the frame, as an int.
static bool frame_holds(const struct inspection *l, const struct stackless *s, int32_t number)
{
	int32_t v[FRAME_MOST / 4];
	size_t bytes = s->block.hi - s->block.lo;
	size_t n = memory_peek(&l->memory, s->block.lo, v, bytes < sizeof(v) ? bytes : sizeof(v), false) / 4;
	for (size_t i = 4; i < n; i++) // behind its two functions
		if (v[i] == number)
			return true;
	return false;
}

// Its number stands in no set again, by which the program could find the handle.
static bool stays_closed(const struct inspection *l, const struct closes_one *c)
{
	struct ctp_fd f;
	return !inspect_fd(l->r, (uint64_t)c->fd, &f) || f.life != CTP_FD_OPEN || f.reg_epfd < 0;
}

static bool is_older(const struct inspection *l, const struct stackless *s, const struct closes_one *c)
{
	struct ctp_birth b;
	return ctp_births_find(l->r, s->at, &b) && b.created < c->end.closed;
}

const struct closes_one *numbered_end(const struct closes *closes, const struct inspection *l,
				      const struct stackless *s)
{
	size_t first = closes->n > CLOSES_MOST ? closes->n - CLOSES_MOST : 0;
	for (size_t k = closes->n; k-- > first;) {
		const struct closes_one *c = &closes->v[k];
		if ((int32_t)c->was.reg_data == c->fd && stays_closed(l, c) && is_older(l, s, c) &&
		    frame_holds(l, s, c->fd))
			return c;
	}
	return NULL;
}

const struct closes_one *numbered_close(const struct closes *closes, const struct inspection *l,
					const struct stackless *s, uint64_t at)
{
	int32_t before[2];
	if (at % 8 ||
	    memory_peek(&l->memory, at - sizeof(before), before, sizeof(before), false) < sizeof(before))
		return NULL;
	size_t first = closes->n > CLOSES_MOST ? closes->n - CLOSES_MOST : 0;
	for (size_t k = closes->n; k-- > first;) { // the last one counts
		const struct closes_one *c = &closes->v[k];
		if (c->fd != before[0] && c->fd != before[1])
			continue;
		return (int32_t)c->was.reg_data == c->fd && stays_closed(l, c) && is_older(l, s, c) &&
				       frame_holds(l, s, c->fd) ?
			       c :
			       NULL;
	}
	return NULL;
}
