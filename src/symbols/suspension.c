// SPDX-License-Identifier: MIT
//
// The line of a co_await is that of its call of await_suspend, wherever that was inlined; it follows the
// instruction that stores the state. It is also that of await_ready, before the branch that leads there.
// Where neither is left, two addresses are near: where the function goes on, and where it stored its state.
// GCC's code that goes on begins with await_resume, unless it was moved; Clang gives that code other lines,
// but its store has the line of the co_await. The line is that of the coroutine itself, not of what was
// inlined there. Both compilers give the suspension before the first line that of the function's declaration.
#include "symbols/suspension.h"

#include <string.h>

// The frame of the coroutine's own function among those inlined into one another.
static const struct symbols_frame *outermost(const struct symbols_place *p)
{
	return p->n ? &p->frames[symbols_coroutine(p)] : NULL;
}

static const struct symbols_frame *with_line(const struct symbols_place *p)
{
	const struct symbols_frame *f = outermost(p);
	return f && f->line ? f : NULL;
}

static bool has_word(const struct symbols_frame *f, const char *word)
{
	return f->symbol && strstr(f->symbol, word);
}

static bool inlines(const struct symbols_place *p, const char *word)
{
	for (size_t i = 0; i + 1 < p->n; i++)
		if (has_word(&p->frames[i], word))
			return true;
	return false;
}

static bool same_function(const struct symbols_frame *a, const struct symbols_frame *b)
{
	return a->symbol && b->symbol && !strcmp(a->symbol, b->symbol);
}

// The call of one of an awaiter's functions among these instructions, inlined or not: `own` is the
// coroutine's function. 0, *out is NULL if there is none; or -ENOMEM.
static int find_call(struct symbols *s, const struct suspension_step *v, unsigned n, bool back,
		     const char *word, const struct symbols_frame *own, const struct symbols_frame **out)
{
	struct symbols_place p, called = {0};
	*out = NULL;
	for (unsigned k = 0; k < n && own; k++) {
		const struct suspension_step *step = &v[back ? n - 1 - k : k];
		int e = symbols_find(s, step->at, false, &p);
		if (!e && step->calls)
			e = symbols_find(s, step->calls, false, &called);
		if (e)
			return e;
		bool calls = step->calls && called.n && has_word(&called.frames[called.n - 1], word);
		const struct symbols_frame *f = calls || inlines(&p, word) ? with_line(&p) : NULL;
		if (f && same_function(f, own)) {
			*out = f;
			return 0;
		}
	}
	return 0;
}

enum { PROLOGUE_MOST = 96 };

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

struct finding {
	struct symbols *s;
	const struct suspension *c;
	const struct symbols_frame *own; // where the function begins
	struct symbols_place landing, store, branch;
	int declared;
	int made; // the line that GCC gives to what it adds: the last one
};

// What the two addresses say.
static const struct symbols_frame *choose(const struct finding *f, bool *exact)
{
	const struct symbols_frame *land = with_line(&f->landing), *stored = with_line(&f->store);
	bool resumes = inlines(&f->landing, "await_resume");
	if (!f->c->gcc) {
		const struct symbols_frame *decided = with_line(&f->branch);
		*exact = stored && !f->c->merged;
		return *exact ? stored : decided ? decided : stored ? stored : land;
	}
	bool made = stored && (stored->line == f->made || stored->line == f->declared);
	*exact = resumes || (stored && !made);
	if (land && resumes)
		return land;
	return stored && (!made || !land) ? stored : land;
}

// Clang: a function that awaits at one place and starts at once looks as one that was not started, as its
// ramp, or whoever that was inlined into, stores the same state. If it awaits at all, it is there.
static int at_its_await(const struct finding *w, const struct symbols_frame **f, bool *exact)
{
	struct symbols_place p;
	bool own = *f && (*f)->line > w->declared + 1; // not that of its opening brace
	uint64_t at = own ? 0 : symbols_awaits(w->s, w->c->resume);
	int e = at ? symbols_find(w->s, at, false, &p) : 0;
	if (at && !e && with_line(&p)) {
		*f = with_line(&p);
		*exact = true;
	}
	return e;
}

static int look_up(struct finding *w, struct symbols *s, const struct suspension *c)
{
	struct symbols_place entry, asks = {0};
	*w = (struct finding){.s = s, .c = c};
	int e = symbols_find(s, c->resume, false, &entry);
	if (!e && c->asks)
		e = symbols_find(s, c->asks, false, &asks);
	if (!e && c->landing)
		e = symbols_find(s, c->landing, false, &w->landing);
	if (!e && c->store)
		e = symbols_find(s, c->store, false, &w->store);
	if (!e && c->nbefore)
		e = symbols_find(s, c->before[c->nbefore - 1].at, false, &w->branch);
	w->own = e ? NULL : outermost(&entry);
	w->made = e || !with_line(&asks) ? 0 : with_line(&asks)->line;
	w->declared = e ? 0 : symbols_declared(s, c->resume);
	return e;
}

static int find(struct finding *w, const struct symbols_frame **f, bool *exact)
{
	const struct suspension *c = w->c;
	*exact = true;
	if (c->initial && with_line(&w->store)) {
		*f = with_line(&w->store);
		return 0;
	}
	int e = find_call(w->s, c->behind, c->nbehind, false, "await_suspend", w->own, f);
	if (!e && !*f)
		e = find_call(w->s, c->before, c->nbefore, true, "await_ready", w->own, f);
	if (e || *f)
		return e;
	*f = choose(w, exact);
	if (!c->landing && !c->initial && !c->gcc)
		e = at_its_await(w, f, exact);
	if (!e && !*f && !c->landing && !c->store && !c->gcc) {
		*exact = false;
		e = behind_prologue(w->s, c->resume, w->own, f);
	}
	return e;
}

int suspension_find(struct suspension_place *out, struct symbols *s, const struct suspension *c)
{
	struct finding w;
	const struct symbols_frame *f = NULL;
	bool exact = false;
	int e = look_up(&w, s, c);
	if (!e)
		e = find(&w, &f, &exact);
	if (!e)
		*out = (struct suspension_place){
			.own = w.own,
			.frame = f,
			.exact = f && exact,
			.initial = c->initial || (c->may_be_initial && f && f->line &&
						  f->line == symbols_declared(s, f->pc))};
	return e;
}
