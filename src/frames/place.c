// SPDX-License-Identifier: MIT
//
// The function that the compiler made the coroutine of, with the line that its code tells.
#include "frames/place.h"

#include <errno.h>
#include <stdlib.h>

#include "symbols/demangle.h"

int place_find(struct place *out, struct symbols *s, const struct suspension *c, const char *symbol)
{
	struct suspension_place p;
	char *name = symbol ? demangle(symbol) : NULL;
	int e = symbol && !name ? -ENOMEM : suspension_find(&p, s, c);
	if (e) {
		free(name);
		return e;
	}
	uint64_t pc = p.frame ? p.frame->pc : c->landing ? c->landing : c->resume;
	*out = (struct place){.exact = p.exact, .initial = p.initial};
	if (p.frame) {
		out->frame = *p.frame;
	} else if (p.own) { // the line of its beginning says nothing about where it is
		out->frame = *p.own;
		out->frame.line = 0;
		out->frame.file = NULL;
	}
	out->frame.offset += pc - out->frame.pc;
	out->frame.pc = pc;
	out->frame.symbol = name;
	out->frame.inlined = false;
	return 0;
}

void place_deinit(struct place *p)
{
	free((char *)p->frame.symbol);
	*p = (struct place){0};
}
