// SPDX-License-Identifier: MIT
//
// Reads stackless.jsonl, which describes one inspection. A line that was cut off, or of a kind that this
// version does not know, is left out.
#include "trace/looks/stackless_looks.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/search.h"

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static bool flag(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s && *s ? strdup(s) : NULL;
}

static uint64_t address(const json_t *o)
{
	const char *s = json_string_value(o);
	return s ? strtoull(s, NULL, 0) : 0;
}

static void read_close(struct stackless_seen *s, const json_t *o)
{
	s->closed = json_is_object(o);
	s->close = (struct stackless_close){.fd = (int32_t)number(o, "fd"),
					    .gen = (uint32_t)number(o, "gen"),
					    .kind = (unsigned)number(o, "fd_kind"),
					    .how = (unsigned)number(o, "how"),
					    .opened_how = (unsigned)number(o, "opened_how"),
					    .closer = number(o, "closer"),
					    .closed = number(o, "closed"),
					    .opener = number(o, "opener"),
					    .opened = number(o, "opened"),
					    .closer_stack = (uint32_t)number(o, "closer_stack"),
					    .opener_stack = (uint32_t)number(o, "opener_stack")};
}

static int read_open(struct stackless_seen *s, const json_t *a)
{
	size_t i;
	json_t *e;
	s->ways.open = calloc(json_array_size(a) + 1, sizeof(*s->ways.open));
	if (!s->ways.open)
		return -ENOMEM;
	json_array_foreach(a, i, e)
	{
		const char *way = json_string_value(e);
		char *copy = way ? strdup(way) : NULL;
		if (copy)
			s->ways.open[s->ways.nopen++] = copy;
	}
	return 0;
}

static unsigned why_unknown(const json_t *o)
{
	static const char *const names[] = {[STACKLESS_NEVER] = "never",
					    [STACKLESS_LEFT] = "left",
					    [STACKLESS_ARMED] = "armed",
					    [STACKLESS_ENDS] = "ends",
					    [STACKLESS_UNUSED] = "unused"};
	const char *how = json_string_value(json_object_get(o, "how"));
	for (unsigned i = 0; how && i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i], how))
			return i;
	return STACKLESS_NEVER;
}

static int add_coroutine(struct stackless_looks *l, const json_t *o)
{
	static const char *const answers[] = {[STACKLESS_LOST] = "lost",
					      [STACKLESS_OWNED] = "owned",
					      [STACKLESS_HELD] = "held",
					      [STACKLESS_NUMBERED] = "numbered"};
	const char *answer = json_string_value(json_object_get(o, "answer")),
		   *state = json_string_value(json_object_get(o, "state"));
	unsigned k = 0;
	while (answer && k < sizeof(answers) / sizeof(*answers) && strcmp(answer, answers[k]))
		k++;
	uint64_t id = number(o, "id");
	if (!answer || k == sizeof(answers) / sizeof(*answers) || !id || id >= 1ULL << 53) {
		l->bad_lines++;
		return 0;
	}
	int e = GROW(l->v, l->n, l->room);
	if (e)
		return e;
	struct stackless_seen *s = &l->v[l->n++];
	*s = (struct stackless_seen){.id = id,
				     .symbol = text(o, "symbol"),
				     .answer = k,
				     .initial = state && !strcmp(state, "initial"),
				     .may_be_initial = flag(o, "may_be_initial"),
				     .single = flag(o, "single"),
				     .unknown = json_is_false(json_object_get(o, "known")),
				     .why = why_unknown(o)};
	read_close(s, json_object_get(o, "close"));
	const json_t *promise = json_object_get(o, "promise"), *created = json_object_get(o, "created");
	s->promise_of = address(json_object_get(promise, "of"));
	s->promise_at = number(promise, "at");
	s->created = number(created, "time");
	s->creator = number(created, "by");
	s->creator_stack = (uint32_t)number(created, "stack");
	e = read_open(s, json_object_get(o, "open"));
	return e ? e : slices_stack_of(l->stacks, json_object_get(o, "stack"), SLICES_OUTERMOST, &s->stack);
}

static int add_look(struct stackless_looks *l, const json_t *o)
{
	const char *look = json_string_value(json_object_get(o, "look"));
	free(l->why);
	free(l->way);
	l->looked = true;
	l->final = look && !strcmp(look, "final");
	l->ns = number(o, "ns");
	l->total = number(o, "total");
	l->suspended = number(o, "suspended");
	l->initial = number(o, "initial");
	l->last = number(o, "final");
	l->running = number(o, "running");
	l->destroying = number(o, "destroying");
	l->may_have_ended = number(o, "may_have_ended");
	l->undecided = number(o, "undecided");
	l->rings = flag(o, "rings");
	l->sent = flag(o, "sent");
	l->half = flag(o, "half");
	l->quiet = flag(o, "quiet");
	l->why = text(o, "why");
	l->way = text(o, "way");
	l->scanned_bytes = number(o, "scanned_bytes");
	return 0;
}

static int add_destroyed(struct stackless_looks *l, const json_t *o)
{
	int e = GROW(l->destroyed, l->ndestroyed, l->destroyed_room);
	char *symbol = e ? NULL : text(o, "symbol");
	if (!symbol) {
		l->bad_lines++;
		return e;
	}
	l->destroyed[l->ndestroyed++] =
		(struct stackless_destroyed){.symbol = symbol,
					     .count = number(o, "count"),
					     .first = number(o, "first"),
					     .longest = number(o, "longest"),
					     .created_stack = (uint32_t)number(o, "created_stack"),
					     .first_stack = (uint32_t)number(o, "stack")};
	return 0;
}

static int add_wait(struct stackless_looks *l, const json_t *o)
{
	int e = GROW(l->waits, l->nwaits, l->waits_room);
	char *symbol = e ? NULL : text(o, "symbol");
	if (!symbol) {
		l->bad_lines++;
		return e;
	}
	struct stackless_wait *w = &l->waits[l->nwaits++];
	*w = (struct stackless_wait){.symbol = symbol,
				     .count = number(o, "count"),
				     .armed = number(o, "armed"),
				     .least_ns = number(o, "least_ns"),
				     .most_ns = number(o, "most_ns")};
	return slices_stack_of(l->stacks, json_object_get(o, "stack"), SLICES_OUTERMOST, &w->stack);
}

static void drop_waits(struct stackless_looks *l)
{
	for (size_t i = 0; i < l->nwaits; i++)
		free(l->waits[i].symbol);
	l->nwaits = 0;
}

// The frames were looked at again; `still`: no thread had run.
static void look_again(struct stackless_looks *l, const json_t *o)
{
	drop_waits(l);
	l->again_ns = number(o, "ns");
	l->ns = flag(o, "still") ? l->again_ns : l->ns;
}

static void read_steps(struct stackless_steps *s, const json_t *a)
{
	size_t i;
	json_t *e;
	json_array_foreach(a, i, e)
	{
		if (s->n == STACKLESS_STEPS)
			return;
		s->at[s->n] = address(json_is_array(e) ? json_array_get(e, 0) : e);
		s->calls[s->n++] = address(json_array_get(e, 1));
	}
}

static int add_place(struct stackless_looks *l, const json_t *o)
{
	const char *by = json_string_value(json_object_get(o, "by"));
	uint64_t pc = address(json_object_get(o, "pc")), resume = address(json_object_get(o, "resume"));
	if (!by || !pc || !resume) {
		l->bad_lines++;
		return 0;
	}
	int e = GROW(l->places, l->nplaces, l->places_room);
	if (e)
		return e;
	struct stackless_place *p = &l->places[l->nplaces++];
	*p = (struct stackless_place){.pc = pc,
				      .gcc = !strcmp(by, "gcc"),
				      .merged = flag(o, "merged"),
				      .initial = flag(o, "initial"),
				      .resume = resume,
				      .asks = address(json_object_get(o, "asks")),
				      .landing = address(json_object_get(o, "landing")),
				      .store = address(json_object_get(o, "store"))};
	read_steps(&p->behind, json_object_get(o, "behind"));
	read_steps(&p->before, json_object_get(o, "before"));
	return 0;
}

static void seen_deinit(struct stackless_seen *s)
{
	free(s->symbol);
	for (size_t k = 0; k < s->ways.nopen; k++)
		free(s->ways.open[k]);
	free(s->ways.open);
}

static void withdraw(struct stackless_looks *l, uint64_t id)
{
	size_t i = FIRST_NOT(l->n, k, l->v[k].id < id); // lines are by address
	if (i < l->n && l->v[i].id == id)
		l->v[i].withdrawn = true;
}

static void drop_withdrawn(struct stackless_looks *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++) {
		if (!l->v[i].withdrawn) {
			l->v[kept++] = l->v[i];
			continue;
		}
		uint64_t *state = l->v[i].initial ? &l->initial : &l->suspended;
		*state -= *state > 0;
		l->total -= l->total > 0;
		seen_deinit(&l->v[i]);
	}
	l->n = kept;
}

static int line(void *looks, const json_t *o)
{
	struct stackless_looks *l = looks;
	const char *what = json_string_value(json_object_get(o, "what"));
	if (what && !strcmp(what, "coroutine"))
		return add_coroutine(l, o);
	if (what && !strcmp(what, "place"))
		return add_place(l, o);
	if (what && !strcmp(what, "look"))
		return add_look(l, o);
	if (what && !strcmp(what, "destroyed"))
		return add_destroyed(l, o);
	if (what && !strcmp(what, "waits"))
		return add_wait(l, o);
	if (what && !strcmp(what, "again")) {
		look_again(l, o);
		return 0;
	}
	if (what && !strcmp(what, "withdrawn")) {
		withdraw(l, number(o, "id"));
		return 0;
	}
	if (what && !strcmp(what, "unseen")) {
		l->unseen = number(o, "functions");
		return 0;
	}
	if (what && !strcmp(what, "doubt")) {
		free(l->doubt);
		l->doubt = text(o, "why");
		return 0;
	}
	if (what && !strcmp(what, "control")) {
		free(l->control);
		l->control = text(o, "text");
		return 0;
	}
	l->bad_lines++;
	return 0;
}

int stackless_looks_read(struct stackless_looks *s, struct slices_set *stacks, int folder, const char *name)
{
	s->stacks = stacks;
	int e = json_each_line(folder, name, line, s, &s->bad_lines);
	s->stacks = NULL;
	drop_withdrawn(s);
	return e;
}

void stackless_looks_deinit(struct stackless_looks *s)
{
	for (size_t i = 0; i < s->n; i++)
		seen_deinit(&s->v[i]);
	for (size_t i = 0; i < s->ndestroyed; i++)
		free(s->destroyed[i].symbol);
	drop_waits(s);
	free(s->waits);
	free(s->destroyed);
	free(s->places);
	free(s->v);
	free(s->why);
	free(s->way);
	free(s->doubt);
	free(s->control);
	*s = (struct stackless_looks){0};
}
