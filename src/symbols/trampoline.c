// SPDX-License-Identifier: MIT
//
// A coroutine library begins all coroutines in one function, calls what each is for, and
// returns to it when that ends. Functions are compared by name, or by where they begin.
#include "symbols/trampoline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int trampoline_read(struct trampoline_stack *out, const struct frames *f)
{
	struct trampoline_stack s = {.v = calloc(f->n + 1, sizeof(*s.v)), .known = true};
	if (!s.v)
		return -ENOMEM;
	for (size_t i = f->n; i-- > 0;) {
		if (frames_is_library(f->items[i]))
			continue;
		s.known &= f->items[i]->symbol || f->items[i]->function;
		s.v[s.n++] = f->items[i];
	}
	*out = s;
	return 0;
}

bool trampoline_same(const struct symbols_frame *a, const struct symbols_frame *b)
{
	bool same = a->symbol && b->symbol ? !strcmp(a->symbol, b->symbol) :
					     !a->symbol && !b->symbol && a->function == b->function;
	return same && a->module && b->module && !strcmp(a->module, b->module);
}

size_t trampoline_alike(const struct trampoline_stack *s, const struct trampoline_stack *others, size_t n)
{
	size_t p = s->n;
	for (size_t i = 0; i < n; i++) {
		size_t k = 0;
		while (k < p && k < others[i].n && trampoline_same(s->v[k], others[i].v[k]))
			k++;
		p = k;
	}
	return p;
}

bool trampoline_runs(const struct trampoline_stack *others, size_t n, size_t at)
{
	const struct symbols_frame *first = NULL;
	uint64_t pc = 0;
	for (size_t i = 0; i < n; i++) {
		const struct trampoline_stack *r = &others[i];
		if (r->n <= at + 1)
			continue;
		if (!first) {
			first = r->v[at + 1];
			pc = r->v[at]->pc;
		} else if (r->v[at]->pc == pc && !trampoline_same(r->v[at + 1], first)) {
			return true;
		}
	}
	return false;
}

bool trampoline_switches(const struct trampoline_stack *s, size_t p, const struct trampoline_stack *others,
			 size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct trampoline_stack *r = &others[i];
		size_t k = 0;
		while (r->n > s->n && k < s->n - p && trampoline_same(s->v[s->n - 1 - k], r->v[r->n - 1 - k]))
			k++;
		if (k == s->n - p && r->n > s->n)
			return true;
	}
	return false;
}
