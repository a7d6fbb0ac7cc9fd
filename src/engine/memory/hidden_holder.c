// SPDX-License-Identifier: MIT
//
// A block in use that holds a pointer to a coroutine, and to which no word leads, is a leak, or the program
// keeps its address in a form that is not searched for. Which of the two cannot be told. But it is a leak
// where the coroutines that nothing reaches lead to it, which own it, or where the kernel did: it held the
// block's address as the data of a registration that has ended, or of a one-shot one that has fired.
#include "engine/memory/hidden_holder.h"

#include <stdlib.h>

#include "ctp/rules.h"
#include "search/mark/graph.h"

// What is said of those that are parked is no proof anyway; those of no rule are a control group.
static bool is_wanted(const struct inspection *l, struct graph *g, size_t i)
{
	const struct suspect *s = l->who[i];
	return s->rule && s->rule != RULE_PARKED && suspect_objects(s) &&
	       !g->reached[graph_group(g, (uint32_t)i)];
}

static void mark_data(struct graph *g, bool *owned, uint64_t data)
{
	uint32_t owners[GRAPH_OWNERS];
	unsigned n = graph_owners(g, data & SPAN_ADDRESS_MASK, owners);
	for (unsigned k = 0; k < n; k++)
		owned[owners[k]] = true;
}

// What a leak explains: what the lost ones lead to, and what the kernel held.
static bool mark_owned(const struct inspection *l, struct graph *g, bool *owned)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct suspect *s = l->who[i];
		if (!g->reached[graph_group(g, (uint32_t)i)])
			owned[graph_group(g, (uint32_t)i)] = true;
		if (s->c.fd >= 0)
			mark_data(g, owned, s->c.was.reg_data);
		for (uint32_t k = 0; k < s->s.nwaits && k < CTP_WAITS; k++)
			if (s->s.waits[k].epfd >= 0)
				mark_data(g, owned, s->s.waits[k].data);
	}
	for (size_t i = 0; i < l->registrations.n; i++)
		if (!(l->registrations.v[i].events & CTP_REG_EVENTS))
			mark_data(g, owned, l->registrations.v[i].data);
	return graph_follow(g, owned);
}

// From a word that leads to the group, up to a block that nothing leads to. Each step leads to a group that
// was not there before.
static struct hidden_holder name(const struct search *s, struct graph *g, uint32_t group, const bool *held,
				 const bool *owned)
{
	struct hidden_holder h = {0};
	bool *seen = calloc(g->n + 1, sizeof(*seen));
	while (seen && !seen[group]) {
		const struct graph_edge *e;
		uint32_t from = group;
		seen[group] = true;
		for (size_t n = 0; (e = graph_edge_to(g, group, n)); n++) {
			if (e->from == GRAPH_OUTSIDE || g->reached[e->from] || !held[e->from] ||
			    seen[e->from])
				continue;
			h.word = h.word ? h.word : e->at;
			from = e->from;
			if (!owned[from])
				break;
		}
		for (size_t i = 0; i < s->blocks.n && from != group; i++)
			if (graph_group(g, (uint32_t)(s->nodes + i)) == from)
				h.block = s->blocks.v[i].lo;
		group = from;
	}
	free(seen);
	return h;
}

static bool find(const struct inspection *l, struct search *s, bool *owned, bool *held,
		 struct hidden_holder *v)
{
	struct graph *g = &s->g;
	if (!mark_owned(l, g, owned))
		return false;
	for (size_t i = 0; i < s->blocks.n; i++) {
		uint32_t k = graph_group(g, (uint32_t)(s->nodes + i));
		held[k] = !owned[k] && !g->reached[k];
	}
	if (!graph_follow(g, held))
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (is_wanted(l, g, i) && held[graph_group(g, (uint32_t)i)])
			v[i] = name(s, g, graph_group(g, (uint32_t)i), held, owned);
	return true;
}

struct hidden_holder *hidden_holders(const struct inspection *l, struct search *s)
{
	struct hidden_holder *v = calloc(l->n + 1, sizeof(*v));
	bool *owned = calloc(s->g.n + 1, sizeof(*owned)), *held = calloc(s->g.n + 1, sizeof(*held));
	bool ok = v && owned && held && find(l, s, owned, held, v);
	free(owned);
	free(held);
	if (ok)
		return v;
	free(v);
	return NULL;
}
