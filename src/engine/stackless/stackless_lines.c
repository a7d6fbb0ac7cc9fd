// SPDX-License-Identifier: MIT
//
// One line for the inspection, with counts, and one for each coroutine that something was found of. A
// coroutine's stack is that of its awaits: where it is suspended, where the one that awaits it is, and so on.
// Addresses are as if they were returned to, so that they are looked up like all others. A later inspection
// knows all that an earlier one did, so the file is written anew.
#include "engine/stackless/stackless_lines.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/idmap.h"
#include "base/json.h"
#include "ctp/births.h"
#include "engine/memory/reach.h"
#include "engine/stackless/destroyed.h"
#include "engine/stackless/stackless_stack.h"

enum { LINES_MOST = 10000 };

static json_t *open_ways(const struct inspection *l, uint64_t id)
{
	json_t *v = json_array();
	for (size_t i = 0; i < l->nopen; i++)
		if (l->open[i].id == id) {
			json_t *text = json_string(l->open[i].text);
			json_array_append_new(v, text ? text : json_string("a way that has no name"));
		}
	return v;
}

static json_t *close_of(const struct closes_one *c)
{
	const struct ctp_fd *e = &c->end, *w = &c->was;
	return json_pack("{s:i, s:I, s:i, s:i, s:I, s:I, s:I, s:i, s:I, s:I, s:I}", "fd", c->fd, "gen",
			 (json_int_t)e->closed_gen, "fd_kind", (int)w->kind, "how", (int)e->closed_how,
			 "closer", (json_int_t)e->closer, "closer_stack", (json_int_t)e->closer_stack,
			 "closed", (json_int_t)e->closed, "opened_how", (int)w->opened_how, "opener",
			 (json_int_t)w->opener, "opener_stack", (json_int_t)w->opener_stack, "opened",
			 (json_int_t)w->opened);
}

static const char *answer_word(enum awaiting_answer a)
{
	static const char *const words[] = {
		[AWAITING_OPEN] = "open",   [AWAITING_ARMED] = "armed", [AWAITING_REACHED] = "reached",
		[AWAITING_OWNED] = "owned", [AWAITING_HELD] = "held",   [AWAITING_NUMBERED] = "numbered",
		[AWAITING_LOST] = "lost"};
	return words[a];
}

static void coroutine(FILE *out, struct awaiting *a, const struct inspection *l, struct idmap *told,
		      uint32_t row)
{
	const struct stackless *s = &a->list.v[row];
	const struct awaiting_one *one = &a->v[row];
	bool single = stackless_may_be_initial(s) && !stackless_at(&a->list, s).landing;
	json_t *o = json_pack("{s:i, s:s, s:I, s:s, s:s, s:s, s:b, s:b, s:b, s:s, s:o, s:o}", "v", 1, "what",
			      "coroutine", "id", (json_int_t)s->at, "state", stackless_state_name(s->state),
			      "answer", answer_word(one->answer), "symbol", s->pair->symbol, "may_be_initial",
			      stackless_may_be_initial(s), "single", single, "known", one->how == KNOWN_FOUND,
			      "how", known_how_name(one->how), "stack",
			      stackless_stack_lines(out, a, told, row), "open", open_ways(l, s->block.lo));
	struct ctp_birth b;
	if (o && ctp_births_find(l->r, s->at, &b))
		json_object_set_new(o, "created",
				    json_pack("{s:I, s:I, s:I}", "time", (json_int_t)b.created, "by",
					      (json_int_t)b.creator, "stack", (json_int_t)b.stack));
	if (o && one->promise_of)
		json_object_set_new(o, "promise",
				    json_pack("{s:o, s:I}", "of", json_hex(one->promise_of), "at",
					      (json_int_t)one->promise_at));
	const struct closes_one *close = one->close ? one->close : one->ended;
	if (o && close)
		json_object_set_new(o, "close", close_of(close));
	json_line(out, o);
}

static void counts(FILE *out, const struct awaiting *a, const struct inspection *l, uint64_t ns)
{
	json_int_t by_state[STACKLESS_ENDED + 1] = {0}, open = 0;
	for (size_t i = 0; i < a->list.n; i++) {
		by_state[a->list.v[i].state]++;
		bool waits = (a->list.v[i].state == STACKLESS_SUSPENDED &&
			      a->list.v[i].awaits == STACKLESS_NONE) ||
			     a->list.v[i].state == STACKLESS_INITIAL;
		open += waits && a->v[i].answer == AWAITING_OPEN;
	}
	// Why nothing could be told: the first suspect's answer has it.
	const char *why = a->too_many ? "there are more of them than are judged" :
			  l->n && l->who[0]->a[PROOF_P6A].holds == HOLDS_OPEN ? l->who[0]->a[PROOF_P6A].text :
			  l->way                                              ? l->way :
										"";
	json_t *text = json_string(why);
	json_line(
		out,
		json_pack(
			"{s:i, s:s, s:I, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:b, s:b, s:b, s:b, s:o, s:s, s:I}",
			"v", 1, "what", "look", "ns", (json_int_t)ns, "look", l->final ? "final" : "live",
			"total", (json_int_t)a->list.n, "suspended", by_state[STACKLESS_SUSPENDED], "initial",
			by_state[STACKLESS_INITIAL], "final", by_state[STACKLESS_FINAL], "running",
			by_state[STACKLESS_RUNNING], "destroying", by_state[STACKLESS_DESTROYING],
			"may_have_ended", by_state[STACKLESS_ENDED], "undecided", open, "rings",
			l->registrations.uring > 0, "sent", *l->sent != 0, "half", reach_half(l), "quiet",
			l->n && l->who[0]->a[PROOF_P6B].holds == HOLDS_TRUE, "why",
			text ? text : json_string("?"), "way", l->way ? l->way : "", "scanned_bytes",
			(json_int_t)l->scanned_bytes));
}

void stackless_lines_write(FILE *out, struct awaiting *a, const struct inspection *l, struct long_waits *w,
			   uint64_t ns)
{
	size_t lines = 0;
	rewind(out);
	long_waits_clear(w);
	if (ftruncate(fileno(out), 0))
		return;
	counts(out, a, l, ns);
	for (uint32_t i = 0; i < a->list.n && lines < LINES_MOST; i++)
		if (a->v[i].answer > AWAITING_REACHED) {
			coroutine(out, a, l, &w->told, i);
			lines++;
		}
	destroyed_write(out, &a->functions->pairs, l->r);
	long_waits_note(w, a);
	long_waits_write(w, out, ns, LONG_FULL);
}

void stackless_lines_unseen(FILE *out, size_t functions)
{
	json_line(out,
		  json_pack("{s:i, s:s, s:I}", "v", 1, "what", "unseen", "functions", (json_int_t)functions));
	fflush(out);
}
