// SPDX-License-Identifier: MIT
//
// The guest counts calls of operator delete by the functions that the frame names. It does not know which
// functions make a coroutine; the symbols tell.
#include "engine/stackless/destroyed.h"

#include <jansson.h>

#include "base/json.h"
#include "ctp/seq.h"
#include "ctp/there.h"

// Of Clang's coroutines the code that destroys them is a function of its own. Where it was inlined, this
// cannot be told from one that has ended.
static const struct pair *pair_of(const struct pairs *pairs, const struct ctp_destroyed *d)
{
	size_t same;
	const struct pair *p = pairs_find(pairs, d->resume, d->destroy, &same);
	bool told = p && p->symbol && (p->maker == PAIR_GCC || d->pc - 1 - p->destroy < p->destroy_bytes);
	return told ? p : NULL;
}

static void write_row(FILE *out, const struct pair *p, const struct ctp_destroyed *d)
{
	json_t *o = json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "v", 1, "what", "destroyed",
			      "symbol", p->symbol, "count", (json_int_t)d->count, "first",
			      (json_int_t)d->first, "longest", (json_int_t)d->longest, "created_stack",
			      (json_int_t)d->stack, "stack", (json_int_t)d->by);
	json_line(out, o);
}

static struct ctp_walk rows(const struct ctp_region *r)
{
	return ctp_walk(r, r->destroyed, sizeof(*r->destroyed), r->destroyed_max);
}

bool destroyed_any(const struct ctp_region *r)
{
	struct ctp_walk w = rows(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
		if (ctp_load64(&r->destroyed[i].count))
			return true;
	return false;
}

void destroyed_write(FILE *out, const struct pairs *pairs, const struct ctp_region *r)
{
	struct ctp_walk w = rows(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		if (ctp_load64(&r->destroyed[i].resume) <= 1)
			continue;
		const struct ctp_destroyed d = r->destroyed[i];
		const struct pair *p = d.count ? pair_of(pairs, &d) : NULL;
		if (p)
			write_row(out, p, &d);
	}
}
