// SPDX-License-Identifier: MIT
//
// Hands the words that the search found to free_list.h. A word counts if it lies outside the suspect's own
// memory, in memory that is reachable itself. A word that holds the first address after the suspect's memory
// does not count: it refers to what lies beside it.
#include "engine/memory/cancelled.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "ctp/there.h"
#include "engine/memory/free_list.h"
#include "search/mark/scan.h"

struct cancelled {
	struct inspection *l;
	struct graph *g;
	struct free_list_member *members; // by suspect
	struct free_list_coroutine *all;
	size_t n, room;
	bool apart; // one that is not inspected now may be in a list with them
};

bool cancelled_may_be(const struct suspect *s)
{
	return s->rule == RULE_LOST_WAKEUP || s->rule == RULE_REMOVED || s->rule == RULE_SET_CLOSED;
}

static bool within(const struct suspect *s, uint64_t address)
{
	for (unsigned k = 0; k < s->nmine; k++)
		if (address >= s->mine[k].lo && address < s->mine[k].hi)
			return true;
	return false;
}

// Is it the edge of what lies beside it? So is where the loader's own memory ends.
static bool is_edge(const struct cancelled *c, const struct suspect *s, uint64_t at, uint64_t value)
{
	const struct maps_line *m = proc_maps_find(&c->l->maps, at);
	bool loader = m && strstr(m->path, "/ld-");
	for (unsigned k = 0; k < s->nmine; k++)
		if ((loader && value == s->mine[k].lo) || (value == s->mine[k].hi && !within(s, value)))
			return true;
	return false;
}

// Does one word lead to it, and no other?
static bool one_word(const struct cancelled *c, size_t i, struct free_list_member *m)
{
	const struct suspect *s = c->l->who[i];
	uint32_t k = graph_group(c->g, (uint32_t)i);
	const struct graph_edge *e;
	*m = (struct free_list_member){0};
	if (!cancelled_may_be(s) || !suspect_objects(s) || s->a[PROOF_P6A].holds == HOLDS_FALSE ||
	    !c->g->reached[k])
		return false;
	for (size_t n = 0; (e = graph_edge_to(c->g, k, n)); n++) {
		uint64_t value;
		if (e->from != GRAPH_OUTSIDE && !c->g->reached[e->from])
			continue;
		if (proc_peek(c->l->pid, e->at, &value, sizeof(value), false) != sizeof(value))
			return false;
		value &= SPAN_ADDRESS_MASK;
		if (is_edge(c, s, e->at, value))
			continue;
		if (m->at || !within(s, value))
			return false;
		*m = (struct free_list_member){
			.at = e->at, .value = value, .ended = (uint64_t)s->c.fd << 32 | s->c.gen};
	}
	return m->at != 0;
}

// Have all that it waits for ended? It may be in the same free list, though it is not inspected now: it was
// decided before, or its end was seen later.
static bool has_lost(const struct inspection *l, const struct ctp_state *s)
{
	struct ctp_fd f;
	unsigned ended = 0;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
		ended += s->waits[i].fd >= 0 && inspect_fd(l->r, (uint64_t)s->waits[i].fd, &f) &&
			 (f.gen != s->waits[i].gen || f.life != CTP_FD_OPEN);
	return s->life == CTP_SUSPENDED && ended && ended == s->nwaits;
}

static bool add(struct cancelled *c, const struct ctp_state *s, uint32_t member)
{
	if (c->n == c->room)
		return false;
	bool living = (s->life == CTP_SUSPENDED || s->life == CTP_RUNNING) && member == FREE_LIST_NO_MEMBER &&
		      !has_lost(c->l, s);
	c->all[c->n++] = (struct free_list_coroutine){{s->slot, s->lo}, member, living};
	return true;
}

// Of the suspects that are this coroutine.
static size_t first_of(const struct inspection *l, uint64_t id)
{
	return FIRST_NOT(l->n, i, l->who[i]->s.id < id);
}

static bool is_member(const struct cancelled *c, uint64_t id)
{
	for (size_t i = first_of(c->l, id); i < c->l->n && c->l->who[i]->s.id == id; i++)
		if (c->members[i].at)
			return true;
	return false;
}

// How many there are; -1: there was no time.
static int take_members(struct cancelled *c)
{
	int found = 0;
	for (size_t i = 0; i < c->l->n; i++) {
		if (inspect_late(c->l))
			return -1;
		if (one_word(c, i, &c->members[i])) {
			found++;
			add(c, &c->l->who[i]->s, (uint32_t)i);
		}
	}
	return found;
}

static bool is_inspected(const struct inspection *l, uint64_t id)
{
	size_t i = first_of(l, id);
	return i < l->n && l->who[i]->s.id == id;
}

static bool take_others(struct cancelled *c)
{
	struct ctp_walk w = ctp_walk_states(c->l->r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state s;
		const struct ctp_state *from = &c->l->r->states[i];
		if (ctp_load32(&from->owner) != CTP_OWNER_GUEST || from->entity != CTP_COROUTINE ||
		    !ctp_state_read(from, &s) || s.entity != CTP_COROUTINE || is_member(c, s.id))
			continue;
		c->apart |= has_lost(c->l, &s) && !is_inspected(c->l, s.id);
		if (!add(c, &s, FREE_LIST_NO_MEMBER) || (w.rows % 1024 == 0 && inspect_late(c->l)))
			return false;
	}
	return true;
}

static void mark(struct inspection *l, uint64_t id)
{
	for (size_t i = first_of(l, id); i < l->n && l->who[i]->s.id == id; i++)
		l->who[i]->pooled = cancelled_may_be(l->who[i]);
}

bool cancelled_find(struct inspection *l, struct graph *g)
{
	struct ctp_walk w = ctp_walk_states(l->r);
	struct cancelled c = {.l = l, .g = g, .room = l->n + w.n};
	c.members = calloc(l->n + 1, sizeof(*c.members));
	c.all = calloc(c.room + 1, sizeof(*c.all));
	int members = c.members && c.all ? take_members(&c) : -1;
	bool all = !members || (members > 0 && take_others(&c));
	if (all && members) {
		free_list_find(l->pid, c.all, c.n, c.members);
		for (size_t i = 0; i < l->n; i++)
			if (c.members[i].listed)
				mark(l, l->who[i]->s.id);
	}
	l->pools = all && !c.apart;
	free(c.members);
	free(c.all);
	return all;
}
