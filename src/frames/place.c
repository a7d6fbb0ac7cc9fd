// SPDX-License-Identifier: MIT
//
// Two addresses have the line of a co_await: where the function goes on, and where it stored its state
// before. GCC's code that goes on begins with await_resume, unless it was moved; Clang gives that code other
// lines. The line is that of the coroutine itself, not of what was inlined there. Both give the suspension
// before the first line that of the function's declaration.
#include "frames/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

// The frame of the coroutine's own function among those inlined into one another.
static const struct symbols_frame *outermost(const struct symbols_place *p)
{
	return p->n ? &p->frames[symbols_coroutine(p)] : NULL;
}

static bool by_await_resume(const struct symbols_place *p)
{
	for (size_t i = 0; i + 1 < p->n; i++)
		if (p->frames[i].symbol && strstr(p->frames[i].symbol, "await_resume"))
			return true;
	return p->n == 1;
}

static const struct symbols_frame *with_line(const struct symbols_place *p)
{
	const struct symbols_frame *f = outermost(p);
	return f && f->line ? f : NULL;
}

// They are next to each other in memory.
static bool same_function(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a->symbol && b->symbol && !strcmp(a->symbol, b->symbol);
}

enum { PROLOGUE_MOST = 96, AWAIT_MOST = 96, AWAIT_BEFORE = 48 };

// Behind the store comes await_suspend. Where that is inlined, it has the line of the co_await, whatever
// lines the compiler gave to the store itself.
static int behind_store(struct symbols *s, uint64_t store, const struct symbols_frame **out)
{
	struct symbols_place p;
	for (uint64_t at = store - AWAIT_BEFORE; store && at < store + AWAIT_MOST; at++) {
		int e = symbols_find(s, at, false, &p);
		if (e)
			return e;
		for (size_t i = 0; i + 1 < p.n; i++)
			if (p.frames[i].symbol && strstr(p.frames[i].symbol, "await_suspend") &&
			    with_line(&p) && same_function(with_line(&p), *out)) {
				*out = with_line(&p);
				return 0;
			}
	}
	return 0;
}

static const struct symbols_frame *choose(const struct place_code *c, const struct symbols_place *landing,
					  const struct symbols_place *store, int declared)
{
	const struct symbols_frame *land = with_line(landing), *stored = with_line(store);
	bool bare = landing->n == 1 && stored && stored->line != declared; // nothing is left of await_resume
	if (c->maker == PAIR_GCC && land && by_await_resume(landing) && !bare)
		return land;
	return stored ? stored : land;
}

// Of a function that suspends at one place alone the code says nothing, as it always goes on there: behind
// its prologue, which has the function's own line.
static int behind_prologue(struct symbols *s, uint64_t resume, const struct symbols_frame *own,
			   const struct symbols_frame **out)
{
	struct symbols_place p;
	int declared = symbols_declared(s, resume);
	for (uint64_t at = resume + 1; own && own->line && at < resume + PROLOGUE_MOST; at++) {
		int e = symbols_find(s, at, false, &p);
		const struct symbols_frame *f = e ? NULL : with_line(&p);
		if (e)
			return e;
		if (f && same_function(f, own) && f->line != own->line && f->line > declared + 1) {
			*out = f;
			return 0;
		}
	}
	return 0;
}

// Clang: a function that awaits at one place and starts at once looks as one that was not started, as its
// ramp, or whoever that was inlined into, stores the same state. If it awaits at all, it is there.
static int at_its_await(struct symbols *s, const struct place_code *c, const struct symbols_frame **f)
{
	struct symbols_place p;
	bool own = *f && (*f)->line > symbols_declared(s, c->resume) + 1; // not that of its opening brace
	uint64_t at = own ? 0 : symbols_awaits(s, c->resume);
	int e = at ? symbols_find(s, at, false, &p) : 0;
	if (at && !e && with_line(&p))
		*f = with_line(&p);
	return e;
}

int place_find(struct place *out, struct symbols *s, const struct place_code *c)
{
	struct symbols_place landing = {0}, store = {0}, entry = {0};
	uint64_t pc = c->landing ? c->landing : c->resume;
	int e = symbols_find(s, c->resume, false, &entry);
	if (!e && c->landing)
		e = symbols_find(s, c->landing, false, &landing);
	if (!e && c->store)
		e = symbols_find(s, c->store, false, &store);
	char *symbol = e || !c->symbol ? NULL : demangle(c->symbol);
	if (!symbol && (e || c->symbol))
		return e ? e : -ENOMEM;
	const struct symbols_frame *own = outermost(&entry);
	const struct symbols_frame *f = c->initial && with_line(&store) ?
						with_line(&store) :
						choose(c, &landing, &store, symbols_declared(s, c->resume));
	if (f && c->maker == PAIR_GCC && !c->initial && landing.n == 1)
		e = behind_store(s, c->store, &f);
	if (!e && !c->landing && !c->initial && c->maker == PAIR_CLANG)
		e = at_its_await(s, c, &f);
	if (!e && !f && !c->landing && !c->store && c->maker == PAIR_CLANG)
		e = behind_prologue(s, c->resume, own, &f);
	if (e) {
		free(symbol);
		return e;
	}
	*out = (struct place){.frame = own ? *own : (struct symbols_frame){0}};
	if (f) {
		out->frame = *f;
		pc = f->pc;
	} else if (own) { // the line of its beginning says nothing about where it is
		out->frame.line = 0;
		out->frame.file = NULL;
	}
	out->frame.offset += pc - out->frame.pc;
	out->frame.pc = pc;
	out->frame.symbol = symbol;
	out->frame.inlined = false;
	out->initial = c->initial ||
		       (c->may_be_initial && f && f->line && f->line == symbols_declared(s, f->pc));
	return 0;
}

void place_deinit(struct place *p)
{
	free((char *)p->frame.symbol);
	*p = (struct place){0};
}
