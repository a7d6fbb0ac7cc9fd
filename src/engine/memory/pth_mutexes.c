// SPDX-License-Identifier: MIT
//
// A thread's control block holds its context. Before that, a word leads to the ring of events that the thread
// waits for; behind it, another to the ring of mutexes that the thread has. An event is { next, previous,
// status and type, goal, mutex }, where a ring of one leads to itself: with a second event, such as a time
// limit, the thread does not wait for the mutex alone. A mutex is { next, previous, state, owner, count };
// the first two link it with the others of its owner. A thread waits for one mutex, which one thread has: who
// waits for whom is a function, and a circle is where it comes back.
#include "engine/memory/pth_mutexes.h"

#include <errno.h>
#include <stdlib.h>

enum {
	EVENT_WORDS = 6,
	EVENT_FIRST = 4, // the word of an event from which on the mutex may stand
	MUTEX_WORDS = 5,
	HELD = 3, // state: initialized and locked
	BEFORE_WORDS = 64,
	BEHIND_WORDS = 256,
	RING_MOST = 64
};

struct wait {
	uint64_t mutex;
	uint64_t distance; // from the handle of who has it to that one's context
	uint32_t on;       // HUBS_NOBODY: for nobody that is known
	uint32_t walk;
};

static size_t peek(const struct hubs *h, uint64_t at, uint64_t *words, size_t n)
{
	return h->q->peek(h->q->ctx, at, words, n * sizeof(*words)) / sizeof(*words);
}

// Is the mutex one of those that this thread has?
static bool has(const struct hubs *h, const struct hubs_member *m, uint64_t mutex)
{
	uint64_t words[BEHIND_WORDS], node = mutex, next;
	size_t n = peek(h, m->slot, words, BEHIND_WORDS);
	for (unsigned steps = 0; steps < RING_MOST; steps++) {
		for (size_t i = 0; i < n; i++)
			if (words[i] == node)
				return true;
		if (peek(h, node, &next, 1) != 1 || !hubs_is_address(next) || next == mutex)
			return false;
		node = next;
	}
	return false;
}

// Does somebody else have the mutex for which this event waits?
static bool waits_by(const struct hubs *h, uint32_t member, uint64_t event, struct wait *w)
{
	uint64_t e[EVENT_WORDS], mutex[MUTEX_WORDS];
	size_t n = peek(h, event, e, EVENT_WORDS);
	if (n <= EVENT_FIRST || e[0] != event || e[1] != event)
		return false;
	for (size_t i = EVENT_FIRST; i < n; i++) {
		if (!hubs_is_address(e[i]) || !h->q->is_data(h->q->ctx, e[i]) ||
		    peek(h, e[i], mutex, MUTEX_WORDS) != MUTEX_WORDS || (uint32_t)mutex[2] != HELD ||
		    !mutex[4] || !hubs_is_address(mutex[3]))
			continue;
		uint32_t on = hubs_whose(h, mutex[3]);
		if (on == HUBS_NOBODY || on == member || !has(h, &h->q->v[on], e[i]))
			continue;
		*w = (struct wait){e[i], h->q->v[on].slot - mutex[3], on, 0};
		return true;
	}
	return false;
}

static void find_wait(const struct hubs *h, uint32_t member, struct wait *w)
{
	uint64_t words[BEFORE_WORDS];
	size_t n = peek(h, h->q->v[member].slot - sizeof(words), words, BEFORE_WORDS);
	*w = (struct wait){.on = HUBS_NOBODY};
	for (size_t i = 0; i < n; i++)
		if (hubs_is_address(words[i]) && waits_by(h, member, words[i], w))
			return;
}

// The circle that begins at this member. A handle has the same distance to the context of each.
static bool circle(const struct wait *w, uint32_t at, struct cycle_hubs_circle *c)
{
	uint32_t i = at;
	*c = (struct cycle_hubs_circle){.firm = true};
	do {
		if (c->n == CYCLE_HUBS_LONGEST || w[i].distance != w[at].distance)
			return false;
		c->at[c->n].member = i;
		c->at[c->n++].hub = w[i].mutex;
		i = w[i].on;
	} while (i != at);
	return true;
}

int pth_mutexes_find(const struct hubs *h, struct cycle_hubs_circle *out, size_t most)
{
	struct wait *w = calloc(h->q->n + 1, sizeof(*w));
	int n = 0;
	if (!w)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->q->n; i++) {
		w[i].on = HUBS_NOBODY;
		if (!h->q->late(h->q->ctx))
			find_wait(h, i, &w[i]);
	}
	for (uint32_t i = 0; i < h->q->n && (size_t)n < most; i++) {
		uint32_t at = i;
		while (at != HUBS_NOBODY && !w[at].walk) {
			w[at].walk = i + 1;
			at = w[at].on;
		}
		n += at != HUBS_NOBODY && w[at].walk == i + 1 && circle(w, at, &out[n]);
	}
	free(w);
	return n;
}
