// SPDX-License-Identifier: MIT
//
// A hub is looked for where a coroutine waits: its address lies in a register that the coroutine saved, or in
// its innermost frames, and one of the hub's first words is another coroutine's handle. All hubs of a circle
// must be alike: the owner's handle at one offset, the word of the queue at another. The word of the queue
// leads to the waiter in one of three ways:
// - to a node in the waiter's frames that holds its own handle;
// - into the object of its handle, at a distance that is the same for all (an intrusive link);
// - it is the handle itself. A pair of coroutines that know each other may look so, and the two ends of a
//   list: then each waiter must have its own hub at the same place of the same frame.
// Invariant: a handle leads to one coroutine only, and no hub is anybody's handle. Since all handles stand at
// one offset, no hub is in a circle twice.
#include "engine/memory/cycle_hubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum { HUBS_MOST = 1 << 15, EDGES_MOST = 1 << 16, STEPS_MOST = 1 << 16 };

struct edge {
	uint64_t hub, handle;
	uint32_t from, to;
	uint8_t offset; // of the handle, in words
};

struct circles {
	const struct hubs *h;
	const struct hubs_query *q;
	struct edge *edges; // sorted by from
	size_t nedges, edges_room;
	bool *taken; // members of circles that have been found
	uint64_t steps;
};

// ------------------------------------------------------------- hubs

static int add_edge(struct circles *h, struct edge e)
{
	if (h->nedges == EDGES_MOST)
		return 0;
	if (h->nedges == h->edges_room) {
		size_t room = h->edges_room ? 2 * h->edges_room : 64;
		struct edge *more = realloc(h->edges, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		h->edges = more;
		h->edges_room = room;
	}
	h->edges[h->nedges++] = e;
	return 0;
}

// The hub at place *i, of all who have its address: an edge for each and each handle.
static int add_hub(struct circles *h, size_t *i)
{
	uint64_t at = h->h->places[*i].at, words[HUBS_HUB_WORDS];
	size_t end = *i, n = 0;
	int r = 0;
	while (end < h->h->nplaces && h->h->places[end].at == at)
		end++;
	if (hubs_on_stack(h->h, at) == HUBS_NOBODY && h->q->is_data(h->q->ctx, at))
		n = h->q->peek(h->q->ctx, at, words, sizeof(words)) / sizeof(*words);
	for (size_t k = 0; k < n; k++) {
		uint32_t to = words[k] == at ? HUBS_NOBODY : hubs_whose(h->h, words[k]);
		for (size_t p = *i; !r && to != HUBS_NOBODY && p < end; p++)
			if (h->h->places[p].member != to)
				r = add_edge(h, (struct edge){at, words[k], h->h->places[p].member, to,
							      (uint8_t)k});
	}
	*i = end;
	return r;
}

static int by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int find_hubs(struct circles *h)
{
	int r = 0, hubs = 0;
	for (size_t i = 0; !r && i < h->h->nplaces && hubs < HUBS_MOST && !h->q->late(h->q->ctx); hubs++)
		r = add_hub(h, &i);
	if (h->nedges)
		qsort(h->edges, h->nedges, sizeof(*h->edges), by_from);
	return r;
}

// ------------------------------------------------------------- circles

struct path {
	const struct edge *e[CYCLE_HUBS_LONGEST];
	size_t n;
};

// The handle of the waiter at edge i is in the hub before.
static uint64_t handle_of(const struct path *p, size_t i)
{
	return p->e[(i + p->n - 1) % p->n]->handle;
}

static bool has_node(const struct circles *h, const struct hubs_member *m, uint64_t link, uint64_t handle)
{
	uint64_t words[HUBS_NODE_WORDS];
	size_t n = hubs_node(h->h, m, link, words);
	bool has = false;
	for (size_t i = 0; i < n; i++)
		has |= words[i] == handle;
	return has;
}

// Has each of them its own hub in the same register, or at the same place of the same frame?
static bool alike(const struct circles *h, const struct path *p)
{
	const struct hubs_member *first = &h->q->v[p->e[0]->from];
	for (unsigned k = 0; k < first->n; k++) {
		bool all = true;
		for (size_t i = 0; all && i < p->n; i++) {
			const struct hubs_member *m = &h->q->v[p->e[i]->from];
			all = m->pc == first->pc && k < m->n && m->words[k] == p->e[i]->hub;
		}
		if (all)
			return true;
	}
	return false;
}

// Is each of them queued at its hub, by the word at this offset? *firm: not by its handle alone.
static bool queued(const struct circles *h, const struct path *p, unsigned offset, bool *firm)
{
	bool nodes = true, links = true, handles = true;
	uint64_t distance = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct hubs_member *m = &h->q->v[p->e[i]->from];
		uint64_t word, at = p->e[i]->hub + offset * sizeof(word), handle = handle_of(p, i);
		if (h->q->peek(h->q->ctx, at, &word, sizeof(word)) != sizeof(word) || !hubs_is_address(word))
			return false;
		distance = i ? distance : word - handle;
		nodes = nodes && word != handle && has_node(h, m, word, handle);
		links = links && word - handle == distance && distance && distance < HUBS_CONTROL_BYTES &&
			word - p->e[i]->hub >= HUBS_HUB_WORDS * sizeof(word);
		handles = handles && word == handle;
	}
	*firm = nodes || links;
	return nodes || links || (handles && alike(h, p));
}

// All of it was found by its own edges: is it what we look for?
static bool is_circle(const struct circles *h, const struct path *p, bool *firm)
{
	const struct hubs_query *q = h->q;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->n; k++)
			if (p->e[i]->hub == p->e[k]->handle)
				return false;
	bool is = false;
	for (unsigned offset = 0; !is && offset < HUBS_HUB_WORDS; offset++)
		is = offset != p->e[0]->offset && queued(h, p, offset, firm);
	for (size_t i = 0; is && q->is_handle && i < p->n; i++)
		is = q->is_handle(q->ctx, p->e[i]->handle, &q->v[p->e[i]->to]);
	return is;
}

static bool on_path(const struct path *p, uint32_t member)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->e[i]->from == member)
			return true;
	return false;
}

// Goes on from the last edge; each circle is walked from its lowest member.
static bool walk(struct circles *h, struct path *p, uint32_t at, bool *firm)
{
	uint32_t first = p->n ? p->e[0]->from : at;
	size_t i = FIRST_NOT(h->nedges, k, h->edges[k].from < at);
	for (; i < h->nedges && h->edges[i].from == at; i++) {
		const struct edge *e = &h->edges[i];
		if (++h->steps > STEPS_MOST || h->taken[e->to] || e->to < first ||
		    (p->n && e->offset != p->e[0]->offset))
			continue;
		p->e[p->n++] = e;
		if (e->to == first ?
			    p->n > 1 && is_circle(h, p, firm) :
			    p->n < CYCLE_HUBS_LONGEST && !on_path(p, e->to) && walk(h, p, e->to, firm))
			return true;
		p->n--;
	}
	return false;
}

static size_t find_circles(struct circles *h, struct cycle_hubs_circle *out, size_t most)
{
	size_t n = 0;
	for (uint32_t m = 0; m < h->q->n && n < most && !h->q->late(h->q->ctx); m++) {
		struct path p = {.n = 0};
		bool firm = false;
		h->steps = 0;
		if (h->taken[m] || !walk(h, &p, m, &firm))
			continue;
		out[n] = (struct cycle_hubs_circle){.n = p.n, .firm = firm};
		for (size_t i = 0; i < p.n; i++) {
			h->taken[p.e[i]->from] = true;
			out[n].at[i].member = p.e[i]->from;
			out[n].at[i].hub = p.e[i]->hub;
		}
		n++;
	}
	return n;
}

int cycle_hubs_find(const struct hubs *hubs, struct cycle_hubs_circle *out, size_t most)
{
	struct circles h = {.h = hubs, .q = hubs->q, .taken = calloc(hubs->q->n + 1, sizeof(*h.taken))};
	int r = h.taken ? find_hubs(&h) : -ENOMEM;
	if (!r)
		r = (int)find_circles(&h, out, most);
	free(h.edges);
	free(h.taken);
	return r;
}
