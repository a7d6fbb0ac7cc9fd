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

enum {
	HUB_WORDS = 8,
	NODE_BEFORE = 4, // words before a node's link that may be the node's
	NODE_WORDS = 8,
	HANDLE_WORDS = 8,     // of a handle's object that may lead to its context
	CONTROL_BYTES = 1024, // between a control block's begin and the context in it
	HUBS_MOST = 1 << 15,
	EDGES_MOST = 1 << 16,
	STEPS_MOST = 1 << 16,
};
#define ADDRESS_LOW 0x10000ULL
#define ADDRESS_HIGH (1ULL << 47)
#define NOBODY UINT32_MAX

struct place { // a word of a member that may be a hub's address
	uint64_t at;
	uint32_t member;
};

struct edge {
	uint64_t hub, handle;
	uint32_t from, to;
	uint8_t offset; // of the handle, in words
};

struct hubs {
	const struct cycle_hubs_query *q;
	struct place *places; // sorted
	size_t nplaces;
	struct span *stacks; // of members, sorted; by_stack: whose
	uint32_t *by_stack;
	uint64_t *slots; // sorted, with by_slot
	uint32_t *by_slot;
	struct edge *edges; // sorted by from
	size_t nedges, edges_room;
	bool *taken; // members of circles that have been found
	uint64_t steps;
};

// ------------------------------------------------------------- whom a word leads to

struct key {
	uint64_t at;
	uint32_t member;
};

static int by_key(const void *a, const void *b)
{
	const struct key *x = a, *y = b;
	return x->at < y->at ? -1 : x->at > y->at;
}

static bool sort_members(struct hubs *h)
{
	size_t n = h->q->n;
	struct key *k = calloc(n + 1, sizeof(*k));
	h->stacks = calloc(n + 1, sizeof(*h->stacks));
	h->by_stack = calloc(n + 1, sizeof(*h->by_stack));
	h->slots = calloc(n + 1, sizeof(*h->slots));
	h->by_slot = calloc(n + 1, sizeof(*h->by_slot));
	h->taken = calloc(n + 1, sizeof(*h->taken));
	if (!k || !h->stacks || !h->by_stack || !h->slots || !h->by_slot || !h->taken) {
		free(k);
		return false;
	}
	for (size_t i = 0; i < n; i++)
		k[i] = (struct key){h->q->v[i].stack.lo, (uint32_t)i};
	qsort(k, n, sizeof(*k), by_key);
	for (size_t i = 0; i < n; i++) {
		h->by_stack[i] = k[i].member;
		h->stacks[i] = h->q->v[k[i].member].stack;
	}
	for (size_t i = 0; i < n; i++)
		k[i] = (struct key){h->q->v[i].slot, (uint32_t)i};
	qsort(k, n, sizeof(*k), by_key);
	for (size_t i = 0; i < n; i++) {
		h->by_slot[i] = k[i].member;
		h->slots[i] = k[i].at;
	}
	free(k);
	return true;
}

static uint32_t on_stack(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->stacks[k].lo <= word);
	return i && word < h->stacks[i - 1].hi ? h->by_stack[i - 1] : NOBODY;
}

// Whose context lies in an object that begins at `word`, or not far behind?
static uint32_t before_context(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->slots[k] < word);
	return i < h->q->n && h->slots[i] - word < CONTROL_BYTES ? h->by_slot[i] : NOBODY;
}

// Whose stack ends not far below? Boost puts a coroutine's control block there, above what it declares as
// the stack.
static uint32_t above_stack(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->stacks[k].lo <= word);
	return i && word - h->stacks[i - 1].hi < CONTROL_BYTES ? h->by_stack[i - 1] : NOBODY;
}

static bool is_address(uint64_t word)
{
	return word >= ADDRESS_LOW && word < ADDRESS_HIGH && word % sizeof(word) == 0;
}

// Whose saved context does the object lead to? One's alone.
static uint32_t to_context(const struct hubs *h, uint64_t at)
{
	uint64_t words[HANDLE_WORDS];
	size_t n = h->q->peek(h->q->ctx, at, words, sizeof(words)) / sizeof(*words);
	uint32_t is = NOBODY;
	for (size_t i = 0; i < n; i++) {
		size_t k = FIRST_NOT(h->q->n, j, h->slots[j] < words[i]);
		uint32_t m = k < h->q->n && h->slots[k] == words[i] ? h->by_slot[k] : NOBODY;
		if (m != NOBODY && is != NOBODY && m != is)
			return NOBODY;
		is = m != NOBODY ? m : is;
	}
	return is;
}

// Whose handle is it?
static uint32_t whose(const struct hubs *h, uint64_t word)
{
	if (!is_address(word))
		return NOBODY;
	uint32_t m = on_stack(h, word);
	if (m == NOBODY)
		m = before_context(h, word);
	if (m == NOBODY && h->q->is_data(h->q->ctx, word)) {
		m = to_context(h, word);
		m = m == NOBODY ? above_stack(h, word) : m;
	}
	return m;
}

// ------------------------------------------------------------- hubs

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	return x->at != y->at ? (x->at < y->at ? -1 : 1) : x->member < y->member ? -1 : x->member > y->member;
}

static bool find_places(struct hubs *h)
{
	size_t all = 0, kept = 0;
	for (size_t i = 0; i < h->q->n; i++)
		all += h->q->v[i].n;
	h->places = calloc(all + 1, sizeof(*h->places));
	if (!h->places)
		return false;
	for (size_t i = 0; i < h->q->n; i++)
		for (unsigned k = 0; k < h->q->v[i].n; k++)
			if (is_address(h->q->v[i].words[k]))
				h->places[h->nplaces++] = (struct place){h->q->v[i].words[k], (uint32_t)i};
	qsort(h->places, h->nplaces, sizeof(*h->places), by_place);
	for (size_t i = 0; i < h->nplaces; i++)
		if (!kept || by_place(&h->places[kept - 1], &h->places[i]))
			h->places[kept++] = h->places[i];
	h->nplaces = kept;
	return true;
}

static int add_edge(struct hubs *h, struct edge e)
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
static int add_hub(struct hubs *h, size_t *i)
{
	uint64_t at = h->places[*i].at, words[HUB_WORDS];
	size_t end = *i, n = 0;
	int r = 0;
	while (end < h->nplaces && h->places[end].at == at)
		end++;
	if (on_stack(h, at) == NOBODY && h->q->is_data(h->q->ctx, at))
		n = h->q->peek(h->q->ctx, at, words, sizeof(words)) / sizeof(*words);
	for (size_t k = 0; k < n; k++) {
		uint32_t to = words[k] == at ? NOBODY : whose(h, words[k]);
		for (size_t p = *i; !r && to != NOBODY && p < end; p++)
			if (h->places[p].member != to)
				r = add_edge(
					h, (struct edge){at, words[k], h->places[p].member, to, (uint8_t)k});
	}
	*i = end;
	return r;
}

static int by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static int find_hubs(struct hubs *h)
{
	int r = 0, hubs = 0;
	for (size_t i = 0; !r && i < h->nplaces && hubs < HUBS_MOST && !h->q->late(h->q->ctx); hubs++)
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

static bool has_node(const struct hubs *h, const struct cycle_hubs_member *m, uint64_t link, uint64_t handle)
{
	uint64_t words[NODE_BEFORE + NODE_WORDS], from = link - NODE_BEFORE * sizeof(*words);
	if (link % sizeof(*words) || link < m->sp || link >= m->stack.hi)
		return false;
	from = from < m->sp ? m->sp : from;
	size_t n = h->q->peek(h->q->ctx, from, words, sizeof(words)) / sizeof(*words);
	bool has = false;
	for (size_t i = 0; i < n && from + i * sizeof(*words) < m->stack.hi; i++)
		has |= words[i] == handle;
	return has;
}

// Has each of them its own hub in the same register, or at the same place of the same frame?
static bool alike(const struct hubs *h, const struct path *p)
{
	const struct cycle_hubs_member *first = &h->q->v[p->e[0]->from];
	for (unsigned k = 0; k < first->n; k++) {
		bool all = true;
		for (size_t i = 0; all && i < p->n; i++) {
			const struct cycle_hubs_member *m = &h->q->v[p->e[i]->from];
			all = m->pc == first->pc && k < m->n && m->words[k] == p->e[i]->hub;
		}
		if (all)
			return true;
	}
	return false;
}

// Is each of them queued at its hub, by the word at this offset? *firm: not by its handle alone.
static bool queued(const struct hubs *h, const struct path *p, unsigned offset, bool *firm)
{
	bool nodes = true, links = true, handles = true;
	uint64_t distance = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct cycle_hubs_member *m = &h->q->v[p->e[i]->from];
		uint64_t word, at = p->e[i]->hub + offset * sizeof(word), handle = handle_of(p, i);
		if (h->q->peek(h->q->ctx, at, &word, sizeof(word)) != sizeof(word) || !is_address(word))
			return false;
		distance = i ? distance : word - handle;
		nodes = nodes && word != handle && has_node(h, m, word, handle);
		links = links && word - handle == distance && distance && distance < CONTROL_BYTES &&
			word - p->e[i]->hub >= HUB_WORDS * sizeof(word);
		handles = handles && word == handle;
	}
	*firm = nodes || links;
	return nodes || links || (handles && alike(h, p));
}

// All of it was found by its own edges: is it what we look for?
static bool is_circle(const struct hubs *h, const struct path *p, bool *firm)
{
	const struct cycle_hubs_query *q = h->q;
	for (size_t i = 0; i < p->n; i++)
		for (size_t k = 0; k < p->n; k++)
			if (p->e[i]->hub == p->e[k]->handle)
				return false;
	bool is = false;
	for (unsigned offset = 0; !is && offset < HUB_WORDS; offset++)
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
static bool walk(struct hubs *h, struct path *p, uint32_t at, bool *firm)
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

static size_t find_circles(struct hubs *h, struct cycle_hubs_circle *out, size_t most)
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

int cycle_hubs_find(const struct cycle_hubs_query *q, struct cycle_hubs_circle *out, size_t most)
{
	struct hubs h = {.q = q};
	int r = 0;
	if (q->n < 2)
		return 0;
	if (!sort_members(&h) || !find_places(&h))
		r = -ENOMEM;
	if (!r)
		r = find_hubs(&h);
	if (!r)
		r = (int)find_circles(&h, out, most);
	free(h.places);
	free(h.stacks);
	free(h.by_stack);
	free(h.slots);
	free(h.by_slot);
	free(h.edges);
	free(h.taken);
	return r;
}
