// SPDX-License-Identifier: MIT
//
// A coroutine is queued at a hub if a word of the hub leads to a node in its frames that holds its own
// handle, or to the node of another who is, from where a link leads to it. Whoever lies on a stack is no
// handle here: both ends of a list of one waiter lead to its node. Or the list goes through the waiters'
// control blocks; then who holds it is not told apart from the first of them. A handle of a coroutine that
// has ended has the same distance to its context, or to its stack's end, as the waiter's to its own.
// Invariant: a hub is no waiter's own control block, from which a link to a node is nothing special; and a
// word that leads to the hub itself, as those of an empty list do, is nobody's handle.
#include "engine/memory/hub_holders.h"

enum { HUBS_MOST = 1 << 15, HANDLES = 4 };

struct queue {
	uint32_t waiters[HUB_HOLDERS_WAITERS];
	uint64_t handles[HUB_HOLDERS_WAITERS][HANDLES]; // words of its node that lead to it; 0: no more
	size_t n;
};

static bool is_queued(const struct queue *q, uint32_t member)
{
	for (size_t i = 0; i < q->n; i++)
		if (q->waiters[i] == member)
			return true;
	return false;
}

// Adds whose node it is, if it has its handle. The next link that leads to another's frames; 0: there is
// none.
static uint64_t add_node(const struct hubs *h, struct queue *q, uint64_t link, uint32_t member)
{
	uint64_t words[HUBS_NODE_WORDS], next = 0, *handles = q->handles[q->n];
	size_t n = hubs_node(h, &h->q->v[member], link, words), has = 0;
	for (size_t i = 0; i < n; i++) {
		uint32_t on = hubs_is_address(words[i]) ? hubs_on_stack(h, words[i]) : HUBS_NOBODY;
		if (on != HUBS_NOBODY && on != member && !is_queued(q, on))
			next = words[i];
		else if (on == HUBS_NOBODY && has < HANDLES && hubs_whose(h, words[i]) == member)
			handles[has++] = words[i];
	}
	if (!has)
		return 0;
	if (has < HANDLES)
		handles[has] = 0;
	q->waiters[q->n++] = member;
	return next;
}

static void find_queue(const struct hubs *h, uint64_t link, struct queue *q)
{
	uint32_t on;
	q->n = 0;
	while (q->n < HUB_HOLDERS_WAITERS && hubs_is_address(link) &&
	       (on = hubs_on_stack(h, link)) != HUBS_NOBODY && !is_queued(q, on))
		link = add_node(h, q, link, on);
}

static bool is_above_stack(uint64_t word, const struct hubs_member *m)
{
	return word - m->stack.hi < HUBS_CONTROL_BYTES;
}

// Does the word lead into the member's control block? That has its context in it; or it lies above its stack,
// as Boost.Fiber's, and the context lies on the stack.
static bool leads_into(const struct hubs *h, uint64_t word, const struct hubs_member *m)
{
	if (m->slot >= m->stack.lo && m->slot < m->stack.hi)
		return is_above_stack(word, m);
	return (word - m->slot < 2 * HUBS_CONTROL_BYTES || m->slot - word < HUBS_CONTROL_BYTES) &&
	       h->q->begin(h->q->ctx, word) == h->q->begin(h->q->ctx, m->slot);
}

static void add_handle(struct queue *q, size_t *n, uint64_t handle)
{
	for (size_t i = 0; i < *n; i++)
		if (q->handles[0][i] == handle)
			return;
	if (*n < HANDLES)
		q->handles[0][(*n)++] = handle;
}

// What may be its handle, where its control block lies above its stack: the block's address is in its frames.
static void take_above(struct queue *q, const struct hubs_member *m)
{
	size_t n = 0;
	for (unsigned i = 0; i < m->n; i++)
		if (hubs_is_address(m->words[i]) && is_above_stack(m->words[i], m))
			add_handle(q, &n, m->words[i]);
	if (n < HANDLES)
		q->handles[0][n] = 0;
}

static void take_beside(const struct hubs *h, struct queue *q, const struct hubs_member *m, uint64_t word)
{
	uint64_t begin = h->q->begin(h->q->ctx, m->slot);
	q->handles[0][0] = m->slot;
	q->handles[0][1] = word <= m->slot ? word : begin;
	q->handles[0][2] = begin;
	q->handles[0][3] = 0;
}

// A queue that goes through the control blocks of those who wait: the others stand where the first one does.
static void find_linked(const struct hubs *h, size_t first, size_t end, uint64_t word, struct queue *q)
{
	uint32_t is = HUBS_NOBODY;
	for (size_t i = first; h->q->begin && is == HUBS_NOBODY && i < end; i++)
		is = leads_into(h, word, &h->q->v[h->places[i].member]) ? h->places[i].member : HUBS_NOBODY;
	if (is == HUBS_NOBODY)
		return;
	const struct hubs_member *m = &h->q->v[is];
	q->waiters[q->n++] = is;
	if (m->slot >= m->stack.lo && m->slot < m->stack.hi)
		take_above(q, m);
	else
		take_beside(h, q, m, word);
	for (size_t i = first; i < end && q->n < HUB_HOLDERS_WAITERS; i++)
		if (h->places[i].member != is && h->q->v[h->places[i].member].pc == m->pc)
			q->waiters[q->n++] = h->places[i].member;
}

static bool knows(const struct hubs *h, size_t first, size_t end, uint32_t member)
{
	for (size_t i = first; i < end; i++)
		if (h->places[i].member == member)
			return true;
	return false;
}

// Does the first know the hub, and is that no part of its own control block?
static bool is_queue(const struct hubs *h, size_t first, size_t end, uint64_t hub, const struct queue *q)
{
	return q->n && knows(h, first, end, q->waiters[0]) &&
	       !(h->q->is_own && h->q->is_own(h->q->ctx, hub, &h->q->v[q->waiters[0]]));
}

// Of whom is it such a handle as the first waiter's? 0.
static uint64_t who(const struct hubs *h, uint64_t word, const struct queue *q, bool *lives)
{
	const struct hubs_member *m = &h->q->v[q->waiters[0]];
	uint64_t id = 0;
	if (!h->q->who || !hubs_is_address(word) || hubs_on_stack(h, word) != HUBS_NOBODY)
		return 0;
	for (size_t i = 0; !id && i < HANDLES && q->handles[0][i]; i++) {
		uint64_t before = m->slot - q->handles[0][i], above = q->handles[0][i] - m->stack.hi;
		if (before < HUBS_CONTROL_BYTES)
			id = h->q->who(h->q->ctx, word + before, false, lives);
		if (!id && above < HUBS_CONTROL_BYTES)
			id = h->q->who(h->q->ctx, word - above, true, lives);
	}
	return id;
}

// Is one of these words the handle of another who lives? Then that one is the owner, and what follows another
// lock's.
static bool has_owner(const struct hubs *h, const uint64_t *words, size_t n, const struct queue *q)
{
	for (size_t i = 0; i < n; i++) {
		bool lives = false, own = false;
		uint64_t id = who(h, words[i], q, &lives);
		for (size_t k = 0; id && k < q->n; k++)
			own |= h->q->v[q->waiters[k]].id == id;
		if (id && lives && !own)
			return true;
	}
	return false;
}

static bool is_handle(const struct hubs *h, uint64_t word, const struct queue *q, size_t waiter)
{
	for (size_t i = 0; i < HANDLES && q->handles[waiter][i]; i++)
		if (q->handles[waiter][i] == word)
			return !h->q->is_handle ||
			       h->q->is_handle(h->q->ctx, word, &h->q->v[q->waiters[waiter]]);
	return false;
}

static bool held_by_waiter(const struct hubs *h, uint64_t word, const struct queue *q, struct hub_holder *out)
{
	for (size_t i = 0; i < q->n; i++)
		if (is_handle(h, word, q, i)) {
			out->ended = 0;
			out->waiters[0] = q->waiters[i];
			out->n = 1;
			return true;
		}
	return false;
}

static bool held_by_ended(const struct hubs *h, uint64_t word, const struct queue *q, struct hub_holder *out)
{
	bool lives = false;
	out->ended = who(h, word, q, &lives);
	if (!out->ended || lives)
		return false;
	out->n = q->n;
	for (size_t i = 0; i < q->n; i++)
		out->waiters[i] = q->waiters[i];
	return true;
}

// The first words of what may be a hub. How many.
static size_t read_hub(const struct hubs *h, uint64_t hub, uint64_t words[HUBS_HUB_WORDS])
{
	size_t bytes = HUBS_HUB_WORDS * sizeof(*words);
	if (hubs_on_stack(h, hub) != HUBS_NOBODY || !h->q->is_data(h->q->ctx, hub))
		return 0;
	uint64_t extent = h->q->extent ? h->q->extent(h->q->ctx, hub) : bytes;
	return h->q->peek(h->q->ctx, hub, words, extent < bytes ? extent : bytes) / sizeof(*words);
}

// The hub of the places from `first` to `end`: all who have its address.
static bool is_held(const struct hubs *h, size_t first, size_t end, struct hub_holder *out)
{
	uint64_t words[HUBS_HUB_WORDS];
	struct queue q;
	out->hub = h->places[first].at;
	out->kept = HUBS_NOBODY;
	size_t n = read_hub(h, out->hub, words);
	for (size_t i = 0; i < n; i++) {
		find_queue(h, words[i], &q);
		bool linked = !q.n && hubs_is_address(words[i]);
		if (linked)
			find_linked(h, first, end, words[i], &q);
		if (!is_queue(h, first, end, out->hub, &q))
			continue;
		for (size_t k = 0; k < n; k++)
			if (k != i && words[k] != out->hub && hubs_is_address(words[k]) &&
			    ((!linked && held_by_waiter(h, words[k], &q, out)) ||
			     held_by_ended(h, words[k], &q, out)))
				return !has_owner(h, words, k > i ? k : i, &q);
	}
	return false;
}

// Is it told already, of what begins before? The words of one object are within reach of what lies before it.
static bool again(const struct hub_holder *before, const struct hub_holder *now)
{
	return before->waiters[0] == now->waiters[0] &&
	       now->hub - before->hub < HUBS_HUB_WORDS * sizeof(uint64_t);
}

size_t hub_holders_find(const struct hubs *h, struct hub_holder *out, size_t most)
{
	size_t n = 0, hubs = 0, end;
	struct hub_holder one;
	for (size_t i = 0; i < h->nplaces && n < most && hubs < HUBS_MOST && !h->q->late(h->q->ctx);
	     i = end, hubs++) {
		for (end = i; end < h->nplaces && h->places[end].at == h->places[i].at;)
			end++;
		if (is_held(h, i, end, &one)) {
			n -= n && again(&out[n - 1], &one);
			out[n++] = one;
		}
	}
	return n;
}

// All whose nodes the first words of the hub lead to.
static bool has_queue(const struct hubs *h, size_t first, size_t end, struct hub_queue *out)
{
	uint64_t words[HUBS_HUB_WORDS];
	struct queue q;
	out->hub = h->places[first].at;
	size_t n = read_hub(h, out->hub, words);
	for (size_t i = 0; i < n; i++) {
		find_queue(h, words[i], &q);
		if (!is_queue(h, first, end, out->hub, &q))
			continue;
		out->word = i;
		out->n = q.n;
		for (size_t k = 0; k < q.n; k++)
			out->waiters[k] = q.waiters[k];
		return true;
	}
	return false;
}

static size_t add_queue(struct hub_queue *out, size_t n, const struct hub_queue *one)
{
	size_t i = 0;
	while (i < n && out[i].waiters[0] != one->waiters[0])
		i++;
	if (i == n || one->word < out[i].word)
		out[i] = *one;
	return i == n ? n + 1 : n;
}

size_t hub_queues_find(const struct hubs *h, struct hub_queue *out, size_t most)
{
	size_t n = 0, hubs = 0, end;
	struct hub_queue one;
	for (size_t i = 0; i < h->nplaces && n < most && hubs < HUBS_MOST && !h->q->late(h->q->ctx);
	     i = end, hubs++) {
		for (end = i; end < h->nplaces && h->places[end].at == h->places[i].at;)
			end++;
		if (has_queue(h, i, end, &one))
			n = add_queue(out, n, &one);
	}
	return n;
}
