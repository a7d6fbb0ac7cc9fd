// SPDX-License-Identifier: MIT
//
// The nodes are members of structures of one type, so they lie equally far behind the begins of their
// objects. Where two of them follow each other, the first one's link tells where the node before it lies.
// From there the ring is gone round, through other objects and whatever may be written: it has to lead back.
// By chance it does not.
#include "search/disguise/xor_rings.h"

#include <stdlib.h>

#include "base/search.h"
#include "search/mark/scan.h"

enum { WORD = 8, WORDS = XOR_RINGS_BYTES / WORD, ELSEWHERE_MOST = 64, READS_MOST = 4096 };

struct going {
	const struct xor_rings *r;
	uint64_t (*words)[WORDS]; // of each object
	size_t n;
	unsigned k;     // the word that is the link
	unsigned reads; // of nodes elsewhere
};

static uint64_t node(const struct going *g, size_t i)
{
	return g->r->objects[i].lo + g->k * WORD;
}

// The object whose node lies there; n: none.
static size_t object_of(const struct going *g, uint64_t address)
{
	size_t i = FIRST_NOT(g->n, at, node(g, at) < address);
	return i < g->n && node(g, i) == address ? i : g->n;
}

// It is none of the objects'.
static bool may_be_node(const struct xor_rings *r, uint64_t address)
{
	const struct maps_line *at = address % WORD ? NULL : memory_map(r->memory, address);
	return at && at->perms[1] == 'w' && scan_find(r->objects, r->nobjects, address) == r->nobjects;
}

// 0: there is none. From a node with such a link the way would lead back.
static uint64_t link_at(struct going *g, uint64_t address)
{
	size_t i = object_of(g, address);
	uint64_t link = 0;
	if (i < g->n)
		return g->words[i][g->k];
	if (may_be_node(g->r, address) && g->reads++ < READS_MOST)
		memory_peek_touched(g->r->memory, address, &link, WORD);
	return link;
}

// From the head to the node at `at`, and on, until it is the head again. tell: call hit() of each object.
static bool goes_round(struct going *g, uint64_t head, uint64_t at, bool tell)
{
	uint64_t before = head, link = 0;
	const uint64_t first = at;
	size_t objects = 0;
	for (size_t seen = 0; seen < g->n + ELSEWHERE_MOST && (link = link_at(g, at)); seen++) {
		bool is_object = object_of(g, at) < g->n;
		uint64_t next = link ^ before;
		objects += is_object;
		if (tell && is_object)
			g->r->hit(g->r->ctx, head, at);
		if (next == head)
			return objects > 1 && link_at(g, head) == (first ^ at);
		before = at;
		at = next;
	}
	return false;
}

static void find_after(struct going *g, size_t i)
{
	uint64_t link = g->words[i][g->k];
	for (size_t next = 0; link && link % WORD == 0 && next < g->n; next++) {
		uint64_t head = link ^ node(g, next);
		if (next != i && may_be_node(g->r, head) && goes_round(g, head, node(g, i), false))
			goes_round(g, head, node(g, i), true);
	}
}

bool xor_rings_find(const struct xor_rings *r)
{
	struct going g = {.r = r, .n = r->nobjects < XOR_RINGS_OBJECTS ? r->nobjects : XOR_RINGS_OBJECTS};
	g.words = calloc(g.n + 1, sizeof(*g.words));
	for (size_t i = 0; g.words && i < g.n; i++) {
		uint64_t bytes = r->objects[i].hi - r->objects[i].lo;
		memory_peek_touched(r->memory, r->objects[i].lo, g.words[i],
				    bytes < XOR_RINGS_BYTES ? (size_t)bytes : XOR_RINGS_BYTES);
	}
	for (g.k = 0; g.words && g.n > 1 && g.k < WORDS; g.k++)
		for (size_t i = 0; i < g.n && g.reads < READS_MOST && !memory_late(r->memory); i++)
			find_after(&g, i);
	free(g.words);
	return g.words != NULL;
}
