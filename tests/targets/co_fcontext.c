// SPDX-License-Identifier: MIT
//
// co_fcontext.c - co.h's engine on Boost.Context. The one who is entered learns
// the handle of the one who left: it is stored by the former.
#include "co.h"

#include "fcontext.h"

static void entry(struct transfer t)
{
	struct co *c = t.data;
	c->back->fcontext = t.from;
	co_body(c);
}

static void make(struct co *c)
{
	c->own.fcontext = make_fcontext(c->stack + c->bytes, c->bytes, entry);
}

static void swap(struct co *c, union co_context *from, union co_context *to)
{
	bool entered = to == &c->own;
	struct transfer t = jump_fcontext(to->fcontext, c);
	union co_context *left = entered ? &c->own : c->back;
	(void)from;
	left->fcontext = t.from;
}

static void leave(union co_context *to)
{
	jump_fcontext(to->fcontext, NULL);
}

const struct co_engine co_fcontext = {"fcontext", make, swap, leave};
