// SPDX-License-Identifier: MIT
//
// Which suspended coroutine a word references. Invariant: at most one.
#include "engine/memory/hubs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/search.h"

enum {
	NODE_BEFORE = 4,
	HANDLE_WORDS = 8
}; // words before a link that may be the node's; of an object that may lead to a context
#define ADDRESS_LOW 0x10000ULL
#define ADDRESS_HIGH (1ULL << 47)

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
	if (!k || !h->stacks || !h->by_stack || !h->slots || !h->by_slot) {
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

uint32_t hubs_on_stack(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->stacks[k].lo <= word);
	return i && word < h->stacks[i - 1].hi ? h->by_stack[i - 1] : HUBS_NOBODY;
}

// Whose context lies in an object that begins at `word`, or not far behind?
static uint32_t before_context(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->slots[k] < word);
	return i < h->q->n && h->slots[i] - word < HUBS_CONTROL_BYTES ? h->by_slot[i] : HUBS_NOBODY;
}

// Whose stack ends not far below? Boost puts a coroutine's control block there, above what it declares as
// the stack.
static uint32_t above_stack(const struct hubs *h, uint64_t word)
{
	size_t i = FIRST_NOT(h->q->n, k, h->stacks[k].lo <= word);
	return i && word - h->stacks[i - 1].hi < HUBS_CONTROL_BYTES ? h->by_stack[i - 1] : HUBS_NOBODY;
}

bool hubs_is_address(uint64_t word)
{
	return word >= ADDRESS_LOW && word < ADDRESS_HIGH && word % sizeof(word) == 0;
}

// Does an object that begins at `at` reach as far as behind its word `i`? Not where that is not known.
static bool reaches(const struct hubs *h, uint64_t at, size_t i)
{
	uint64_t bytes = h->q->extent ? h->q->extent(h->q->ctx, at) : UINT64_MAX;
	return bytes != UINT64_MAX && (i + 1) * sizeof(at) <= bytes;
}

// Whose saved context does the object lead to? One's alone: what leads to another's behind that is the next
// object, unless it is known to be the same.
static uint32_t to_context(const struct hubs *h, uint64_t at)
{
	uint64_t words[HANDLE_WORDS];
	size_t n = h->q->peek(h->q->ctx, at, words, sizeof(words)) / sizeof(*words);
	uint32_t is = HUBS_NOBODY;
	for (size_t i = 0; i < n; i++) {
		size_t k = FIRST_NOT(h->q->n, j, h->slots[j] < words[i]);
		uint32_t m = k < h->q->n && h->slots[k] == words[i] ? h->by_slot[k] : HUBS_NOBODY;
		if (m != HUBS_NOBODY && is != HUBS_NOBODY && m != is)
			return reaches(h, at, i) ? HUBS_NOBODY : is;
		is = m != HUBS_NOBODY ? m : is;
	}
	return is;
}

// Whose handle is it?
uint32_t hubs_whose(const struct hubs *h, uint64_t word)
{
	if (!hubs_is_address(word))
		return HUBS_NOBODY;
	uint32_t m = hubs_on_stack(h, word);
	if (m == HUBS_NOBODY)
		m = before_context(h, word);
	if (m == HUBS_NOBODY && h->q->is_data(h->q->ctx, word)) {
		m = to_context(h, word);
		m = m == HUBS_NOBODY ? above_stack(h, word) : m;
	}
	return m;
}

static int by_place(const void *a, const void *b)
{
	const struct hubs_place *x = a, *y = b;
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
			if (hubs_is_address(h->q->v[i].words[k]))
				h->places[h->nplaces++] =
					(struct hubs_place){h->q->v[i].words[k], (uint32_t)i};
	qsort(h->places, h->nplaces, sizeof(*h->places), by_place);
	for (size_t i = 0; i < h->nplaces; i++)
		if (!kept || by_place(&h->places[kept - 1], &h->places[i]))
			h->places[kept++] = h->places[i];
	h->nplaces = kept;
	return true;
}

size_t hubs_node(const struct hubs *h, const struct hubs_member *m, uint64_t link,
		 uint64_t words[HUBS_NODE_WORDS])
{
	uint64_t from = link - NODE_BEFORE * sizeof(*words);
	if (link % sizeof(*words) || link < m->sp || link >= m->stack.hi)
		return 0;
	from = from < m->sp ? m->sp : from;
	size_t bytes = m->stack.hi - from, most = HUBS_NODE_WORDS * sizeof(*words);
	return h->q->peek(h->q->ctx, from, words, bytes < most ? bytes : most) / sizeof(*words);
}

int hubs_init(struct hubs *h, const struct hubs_query *q)
{
	*h = (struct hubs){.q = q};
	return sort_members(h) && find_places(h) ? 0 : -ENOMEM;
}

void hubs_deinit(struct hubs *h)
{
	free(h->places);
	free(h->stacks);
	free(h->by_stack);
	free(h->slots);
	free(h->by_slot);
	*h = (struct hubs){0};
}
