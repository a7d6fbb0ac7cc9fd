// SPDX-License-Identifier: MIT
//
// Each of the lost ones needs a word of its own, wherever and however it is kept: encrypted, say, with a key
// that nobody knows. All but those to which others of them lead. So there are as many such words, or the
// program has none of them. One of them in eight looks like something else, of decimal text one in six. So a
// quarter is enough: of six random words fewer than three look so in one run of 350, fewer than two in one of
// 7,000.
//
// A large memory has such words anyway: there only what the kernel holds tells something.
//
// Code that was made at run time computes what it likes from its operands. What a compiler puts on a stack
// for a nested function is small, and whole/code_pages.c reads it.
#include "engine/memory/opaque.h"

#include <string.h>

#include "ctp/rules.h"
#include "search/disguise/handle_forms.h"
#include "search/opaque/opaque_words.h"

enum { SHARE = 4 };

// What is said of those that are parked is no proof anyway; those of no rule are a control group.
static bool is_wanted(const struct inspection *l, const struct suspect *s)
{
	return suspect_objects(s) && (l->others || (s->rule && s->rule != RULE_PARKED));
}

static bool is_led_to(const struct graph *g, uint32_t group)
{
	const struct graph_edge *e;
	for (size_t n = 0; (e = graph_edge_to(g, group, n)); n++)
		if (e->from != GRAPH_OUTSIDE && e->from != group)
			return true;
	return false;
}

static size_t needed(const struct inspection *l, struct graph *g)
{
	size_t all = 0, n = 0;
	for (size_t i = 0; i < l->n; i++) {
		uint32_t k = graph_group(g, (uint32_t)i);
		if (g->reached[k] || !is_wanted(l, l->who[i]))
			continue;
		all++;
		n += !is_led_to(g, k);
	}
	return n ? n : all > 0;
}

static uint64_t registered(const struct inspection *l)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->registrations.n; i++)
		n += (l->registrations.v[i].events & CTP_REG_EVENTS) &&
		     opaque_word(l->registrations.v[i].data);
	return n;
}

static uint64_t made_code(const struct memory *m)
{
	for (size_t i = 0; i < m->nmaps; i++) {
		const struct maps_line *at = &m->maps[i];
		bool is_file = *at->path == '/' && strncmp(at->path, "/memfd:", 7) != 0;
		if (at->perms[2] == 'x' && !is_file && *at->path != '[')
			return at->lo;
	}
	return 0;
}

struct opaque opaque_find(const struct inspection *l, struct search *s, uint64_t apart)
{
	size_t n = needed(l, &s->g);
	struct opaque_words o = {.s = s};
	if (!n)
		return (struct opaque){0};
	uint64_t code = made_code(s->memory);
	if (code)
		return (struct opaque){.words = n, .first = code, .code = code};
	if (s->bytes < HANDLE_FORMS_LARGE && opaque_words_count(&o))
		return (struct opaque){.why = "memory was not searched in time"};
	uint64_t all = o.n + apart + registered(l);
	return SHARE * all < n ? (struct opaque){0} : (struct opaque){.words = all, .first = o.first};
}
