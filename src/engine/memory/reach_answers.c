// SPDX-License-Identifier: MIT
//
// What leads to a suspect is named by up to six words; the first is kept for all suspects of its group. Only
// who is unreachable has the answer "holds"; what may lead to it in a form that nobody can search for leaves
// it open.
#include "engine/memory/reach_answers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/rules.h"
#include "engine/inspect/hold.h"

enum { WORDS_NAMED = 6 };

bool reach_answers_begin(struct reach_answers *r)
{
	r->reported = calloc(r->s->g.n + 1, sizeof(*r->reported));
	r->second = calloc(r->l->n + 1, sizeof(*r->second));
	return r->reported && r->second;
}

// Names the words that lead to a group; the first is kept for all that lie in it.
static void name_words(struct reach_answers *r, uint32_t k, uint64_t id)
{
	struct graph *g = &r->s->g;
	char text[INSPECT_TEXT - 48];
	uint32_t named = 0, more = 0;
	const struct graph_edge *e;
	for (size_t n = 0; (e = graph_edge_to(g, k, n)); n++) {
		if (e->from != GRAPH_OUTSIDE && !g->reached[e->from])
			continue;
		if (named++ >= WORDS_NAMED) {
			more++;
			continue;
		}
		word_names_word(&r->names, e->at, text, sizeof(text));
		inspect_open(r->l, id, "%s leads to it", text);
		if (!r->reported[k])
			r->reported[k] = strdup(text);
	}
	if (more)
		inspect_open(r->l, id, "%u more words lead to it", more);
}

static bool in_block(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (address >= s->blocks.v[i].lo && address < s->blocks.v[i].hi)
			return true;
	return false;
}

// What leads to it may do so by blocks of the heap: which words in disguise lead to such.
static void name_disguised(struct reach_answers *r, uint64_t id)
{
	enum { TRIES = 64 };
	char text[INSPECT_TEXT - 80];
	unsigned named = 0;
	for (size_t i = 0; i < r->disguised->nhits && i < TRIES && named < WORDS_NAMED; i++) {
		const struct disguised_hit *h = &r->disguised->hits[i];
		if (inspect_late(r->l) || !in_block(r->s, h->address))
			continue;
		word_names_word(&r->names, h->at, text, sizeof(text));
		inspect_open(r->l, id, "%s leads to a block of the heap, and may lead on to it", text);
		named++;
	}
}

static void say_holder(struct reach_answers *r, const struct hidden_holder *h, struct suspect *s)
{
	unsigned long long id = s->s.id;
	char text[INSPECT_TEXT - 96];
	word_names_word(&r->names, h->word, text, sizeof(text));
	inspect_open(r->l, id,
		     "%s leads to it, by a block of the heap at 0x%llx to which nothing is found to lead",
		     text, (unsigned long long)h->block);
	inspect_say(
		&s->a[PROOF_P6A], HOLDS_FALSE,
		"a block of the heap at 0x%llx leads to coroutine %llu; what leads to the block is not found",
		(unsigned long long)h->block, id);
}

static bool rests_on_search(const struct suspect *s)
{
	return s->rule && s->rule != RULE_PARKED;
}

static void say_opaque(struct reach_answers *r, struct suspect *s)
{
	char text[INSPECT_TEXT - 128] = "what the kernel holds";
	if (r->opaque.code) {
		inspect_open(r->l, s->s.id, "the code at 0x%llx was made at run time, and may lead to it",
			     (unsigned long long)r->opaque.code);
		inspect_say(
			&s->a[PROOF_P6A], HOLDS_OPEN,
			"the code at 0x%llx was made at run time: it may compute what leads to coroutine %llu",
			(unsigned long long)r->opaque.code, (unsigned long long)s->s.id);
		return;
	}
	if (r->opaque.first)
		word_names_word(&r->names, r->opaque.first, text, sizeof(text));
	inspect_open(r->l, s->s.id, "%s looks like a key or encrypted data, and may lead to it", text);
	inspect_say(
		&s->a[PROOF_P6A], HOLDS_OPEN,
		"%llu word%s look%s like keys or encrypted data: what leads to coroutine %llu may be kept so",
		(unsigned long long)r->opaque.words, r->opaque.words == 1 ? "" : "s",
		r->opaque.words == 1 ? "s" : "", (unsigned long long)s->s.id);
}

static void answer(struct reach_answers *r, size_t i)
{
	struct suspect *s = r->l->who[i];
	struct inspect_answer *a = &s->a[PROOF_P6A];
	unsigned long long id = s->s.id;
	uint32_t k = graph_group(&r->s->g, (uint32_t)i);
	if (r->reported[k])
		inspect_open(r->l, id, "%s leads to it", r->reported[k]);
	else if (!inspect_late(r->l)) // names only
		name_words(r, k, id);
	if (a->holds == HOLDS_FALSE)
		return;
	if (s->pooled)
		inspect_say(a, HOLDS_FALSE,
			    "all that leads to coroutine %llu looks like a free list of the program's own",
			    id);
	else if (r->reported[k])
		inspect_say(a, HOLDS_FALSE, "%.150s leads to coroutine %llu", r->reported[k], id);
	else if (r->s->g.reached[k])
		inspect_say(a, HOLDS_FALSE, "something leads to coroutine %llu", id);
	else if (r->holders[i].block)
		say_holder(r, &r->holders[i], s);
	else if (r->opaque.words && rests_on_search(s))
		say_opaque(r, s);
	else
		inspect_say(a, HOLDS_TRUE, "no pointer to coroutine %llu found (%.1f MB searched)", id,
			    (double)r->l->scanned_bytes / 1e6);
}

// Of what is no coroutine of the region, others answer; words are named where they ask for it.
static void others_answer(struct reach_answers *r)
{
	r->l->others->answer(r->l, &r->s->g);
	for (size_t i = 0; i < r->l->n && !inspect_late(r->l); i++)
		if (r->l->who[i]->firm)
			name_words(r, graph_group(&r->s->g, (uint32_t)i), r->l->who[i]->s.id);
}

void reach_answers(struct reach_answers *r)
{
	if (r->l->others) {
		others_answer(r);
		return;
	}
	r->holders = hidden_holders(r->l, r->s);
	if (!r->holders) {
		hold_say(r->l, REACH_TOO_LITTLE);
		return;
	}
	for (size_t i = 0; i < r->l->n; i++)
		if (suspect_objects(r->l->who[i])) {
			answer(r, i);
			if (r->second[i] && r->s->g.reached[graph_group(&r->s->g, (uint32_t)i)])
				name_disguised(r, r->l->who[i]->s.id);
		}
}

void reach_answers_deinit(struct reach_answers *r)
{
	for (size_t k = 0; r->reported && k < r->s->g.n; k++)
		free(r->reported[k]);
	free(r->reported);
	free(r->second);
	free(r->holders);
	word_names_deinit(&r->names);
}
