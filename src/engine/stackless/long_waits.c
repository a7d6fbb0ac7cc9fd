// SPDX-License-Identifier: MIT
//
// No event of a descriptor leads to them by its registration. One whose frame holds the number of a
// descriptor of which an event may come is counted apart: a session keeps its descriptor's number wherever it
// waits. Places that were told of are kept, though none may wait there any more: a line is told once.
#include "engine/stackless/long_waits.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/json.h"
#include "engine/stackless/stackless_stack.h"

#define LONG_NS 1000000000ULL
#define HASH_FIRST 0xcbf29ce484222325ULL
#define HASH_TIMES 0x100000001b3ULL

struct long_place {
	uint64_t key;
	char *symbol, *lines; // places of the stack
	json_t *stack;
};

struct long_one {
	size_t place;
	uint64_t since_ns;
	bool armed;
};

void long_waits_clear(struct long_waits *w)
{
	for (size_t i = 0; i < w->nplaces; i++) {
		free(w->places[i].symbol);
		free(w->places[i].lines);
		json_decref(w->places[i].stack);
	}
	idmap_deinit(&w->told);
	w->told = (struct idmap){0};
	w->nplaces = w->n = 0;
	w->begin = w->end = 0;
}

// Of the same suspension, awaited from the same ones.
static uint64_t key_of(const struct awaiting *a, uint32_t row)
{
	uint64_t key = HASH_FIRST;
	for (size_t n = 0; row != STACKLESS_NONE && n < STACKLESS_STACK_MOST;
	     n++, row = a->list.v[row].awaited_by) {
		const struct stackless *s = &a->list.v[row];
		const uint64_t words[] = {s->pair->resume, s->index, s->state};
		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			key = (key ^ words[i]) * HASH_TIMES;
	}
	return key;
}

static bool make_place(struct long_waits *w, struct awaiting *a, uint32_t row, struct long_place *p)
{
	size_t bytes;
	FILE *lines = open_memstream(&p->lines, &bytes);
	if (!lines)
		return false;
	p->stack = stackless_stack_lines(lines, a, &w->told, row);
	fclose(lines);
	p->symbol = strdup(a->list.v[row].pair->symbol);
	if (p->lines && p->stack && p->symbol)
		return true;
	free(p->lines);
	free(p->symbol);
	json_decref(p->stack);
	return false;
}

// LONG_PLACES: there is no room for it.
static size_t place_at(struct long_waits *w, struct awaiting *a, uint32_t row)
{
	uint64_t key = key_of(a, row);
	for (size_t i = 0; i < w->nplaces; i++)
		if (w->places[i].key == key)
			return i;
	if (!w->places)
		w->places = calloc(LONG_PLACES, sizeof(*w->places));
	if (!w->places || w->nplaces == LONG_PLACES)
		return LONG_PLACES;
	w->places[w->nplaces] = (struct long_place){.key = key};
	return make_place(w, a, row, &w->places[w->nplaces]) ? w->nplaces++ : LONG_PLACES;
}

void long_waits_note(struct long_waits *w, struct awaiting *a)
{
	w->n = 0;
	for (uint32_t i = 0; i < a->list.n; i++) {
		const struct awaiting_one *one = &a->v[i];
		if (one->answer > AWAITING_REACHED || one->led || one->told || !one->since_ns ||
		    a->list.v[i].state != STACKLESS_SUSPENDED)
			continue;
		size_t place = place_at(w, a, i);
		if (place == LONG_PLACES || GROW(w->v, w->n, w->room))
			continue;
		w->v[w->n++] = (struct long_one){place, one->since_ns, one->armed};
	}
}

struct sums {
	uint64_t n, armed, least_ns, most_ns;
};

static void put_waits(FILE *out, const struct long_place *p, const struct sums *s)
{
	json_line(out,
		  json_pack("{s:i, s:s, s:s, s:I, s:I, s:I, s:I, s:O}", "v", 1, "what", "waits", "symbol",
			    p->symbol, "count", (json_int_t)s->n, "armed", (json_int_t)s->armed, "least_ns",
			    (json_int_t)s->least_ns, "most_ns", (json_int_t)s->most_ns, "stack", p->stack));
}

// Where the lines belong: in the place of the last ones, unless others came behind them.
static bool seek(struct long_waits *w, FILE *out)
{
	if (fseek(out, 0, SEEK_END))
		return false;
	long end = ftell(out);
	if (w->end && end == w->end && !ftruncate(fileno(out), w->begin) && !fseek(out, w->begin, SEEK_SET))
		end = w->begin;
	w->begin = end;
	return end >= 0;
}

void long_waits_write(struct long_waits *w, FILE *out, uint64_t ns, enum long_waits_of of)
{
	struct sums s[LONG_PLACES] = {{0}};
	for (size_t i = 0; i < w->n; i++) {
		const struct long_one *one = &w->v[i];
		uint64_t age = ns > one->since_ns ? ns - one->since_ns : 0;
		struct sums *at = &s[one->place];
		if (age < LONG_NS)
			continue;
		at->least_ns = at->n && at->least_ns < age ? at->least_ns : age;
		at->most_ns = at->most_ns > age ? at->most_ns : age;
		at->armed += one->armed;
		at->n++;
	}
	if (!seek(w, out))
		return;
	if (of != LONG_FULL)
		json_line(out, json_pack("{s:i, s:s, s:I, s:b}", "v", 1, "what", "again", "ns",
					 (json_int_t)ns, "still", of == LONG_STILL));
	for (size_t i = 0; i < w->nplaces; i++) {
		fputs(w->places[i].lines, out);
		if (s[i].n)
			put_waits(out, &w->places[i], &s[i]);
	}
	fflush(out);
	w->end = ftell(out);
}

void long_waits_deinit(struct long_waits *w)
{
	long_waits_clear(w);
	free(w->places);
	free(w->v);
	*w = (struct long_waits){0};
}
