// SPDX-License-Identifier: MIT
//
// A thread's control block begins with its state, and holds its context further on. Between them is the link
// { next, previous } by which it is in the ring of those who wait for a mutex. The mutex itself is
// { owner, next, previous }, the one node of that ring that lies in no thread's block. The library lets the
// state of a thread that nobody joins be "running" when it ends, and keeps its block for the next thread: one
// that is suspended, and runs by that word, has ended, as has one that is to be joined, a zombie.
#include "engine/memory/st_mutexes.h"

enum {
	RUNNING = 0,
	LOCK_WAIT = 3,
	ZOMBIE = 6,
	LINK_WORDS = 16, // of a block that may hold the link
	RING_MOST = 256
};

struct mutex {
	const struct hubs *h;
	uint64_t distance, link; // from a block to its context; to its link
	uint64_t node;           // in the mutex; 0: none yet
	struct hub_holder *held;
};

static bool read_words(const struct hubs *h, uint64_t at, uint64_t *words, size_t n)
{
	return hubs_is_address(at) &&
	       h->q->peek(h->q->ctx, at, words, n * sizeof(*words)) / sizeof(*words) == n;
}

// Its state; -1: it cannot be read.
static int state_of(const struct hubs *h, uint64_t block)
{
	uint64_t word;
	return read_words(h, block, &word, 1) ? (int)(uint32_t)word : -1;
}

// Who has its block there; HUBS_NOBODY.
static uint32_t whose_block(const struct mutex *x, uint64_t block)
{
	uint32_t m = hubs_whose(x->h, block);
	return m != HUBS_NOBODY && x->h->q->v[m].slot - block == x->distance ? m : HUBS_NOBODY;
}

// A thread that waits, or the mutex, which is one.
static bool take_node(struct mutex *x, uint64_t node)
{
	uint32_t m = whose_block(x, node - x->link);
	if (m == HUBS_NOBODY) {
		bool first = !x->node;
		x->node = node;
		return first;
	}
	if (state_of(x->h, node - x->link) != LOCK_WAIT)
		return false;
	if (x->held->n < HUB_HOLDERS_WAITERS)
		x->held->waiters[x->held->n++] = m;
	return true;
}

// Does a ring of waiters and one mutex go through this node?
static bool is_ring(struct mutex *x, uint64_t first)
{
	uint64_t at = first, link[2], next[2];
	x->node = 0;
	x->held->n = 0;
	for (unsigned steps = 0; steps < RING_MOST; steps++) {
		if (!read_words(x->h, at, link, 2) || !read_words(x->h, link[0], next, 2) || next[1] != at ||
		    !take_node(x, at))
			return false;
		at = link[0];
		if (at == first)
			return x->node != 0;
	}
	return false;
}

// Has its owner ended?
static bool is_left(struct mutex *x)
{
	const struct hubs_query *q = x->h->q;
	uint64_t owner;
	bool lives = false;
	if (!read_words(x->h, x->node - sizeof(owner), &owner, 1) || !hubs_is_address(owner))
		return false;
	uint64_t id = q->who ? q->who(q->ctx, owner + x->distance, false, &lives) : 0;
	uint32_t m = whose_block(x, owner);
	int state = state_of(x->h, owner);
	bool kept = m != HUBS_NOBODY && q->v[m].id == id && (state == RUNNING || state == ZOMBIE);
	x->held->hub = x->node - sizeof(owner);
	x->held->ended = id;
	x->held->kept = lives && kept ? m : HUBS_NOBODY;
	return id && (!lives || kept);
}

static bool waits_at(const struct hubs *h, const struct hubs_member *m, uint64_t block,
		     struct hub_holder *out)
{
	struct mutex x = {.h = h, .distance = m->slot - block, .held = out};
	for (unsigned i = 1; i < LINK_WORDS; i++) {
		x.link = i * sizeof(uint64_t);
		if (x.link < x.distance && is_ring(&x, block + x.link) && is_left(&x))
			return true;
	}
	return false;
}

// Its frames have its block's address.
static bool find_mutex(const struct hubs *h, const struct hubs_member *m, struct hub_holder *out)
{
	for (unsigned i = 0; i < m->n; i++) {
		uint64_t at = m->words[i];
		if (at < m->slot && m->slot - at < HUBS_CONTROL_BYTES && hubs_is_address(at) &&
		    state_of(h, at) == LOCK_WAIT && waits_at(h, m, at, out))
			return true;
	}
	return false;
}

static bool is_known(const struct hub_holder *v, size_t n, uint64_t hub)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].hub == hub)
			return true;
	return false;
}

size_t st_mutexes_find(const struct hubs *h, struct hub_holder *out, size_t most)
{
	size_t n = 0;
	for (size_t i = 0; i < h->q->n && n < most && !h->q->late(h->q->ctx); i++)
		if (find_mutex(h, &h->q->v[i], &out[n]) && !is_known(out, n, out[n].hub))
			n++;
	return n;
}
