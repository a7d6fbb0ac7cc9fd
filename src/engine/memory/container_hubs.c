// SPDX-License-Identifier: MIT
//
// A lock of the program's own is often an owner's handle beside a std::vector, std::deque or std::list of
// those who wait. Such a container keeps handles in the heap, where no frame leads to. Its address may be in
// no frame either: where it is static, the code has it. So the words of static storage, and those around what
// frames point to, are looked at: a handle, and near it a container of which the elements are handles. What
// the three look like is the library's ABI. All hubs of a circle must be alike: the container at one distance
// from the owner, and of one shape. Invariant: a container that is empty queues nobody, whatever its memory
// still has.
#include "engine/memory/container_hubs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

enum {
	NEAR = 8, // words between an owner and its queue
	BEFORE = 2 * NEAR,
	WINDOW = 4 * NEAR,
	ELEMENTS = 16,
	NODE_WORDS = 3,
	DEQUE_BYTES = 512, // of each part of a std::deque
	KNOWN = 1 << 12,
	EDGES_MOST = 1 << 14,
	STEPS_MOST = 1 << 16,
	WINDOWS_MOST = 1 << 15,
};

enum shape { SHAPE_VECTOR, SHAPE_DEQUE, SHAPE_LIST, SHAPES };

struct edge {
	uint64_t hub;
	uint32_t from, to;
	int8_t distance;
	uint8_t shape;
};

struct finding {
	const struct hubs *h;
	struct edge *v; // sorted by from
	size_t n, room;
	struct known {
		uint64_t word;
		uint32_t member;
	} * known; // by word: whose handle it is
	bool *taken;
	uint64_t steps;
	bool failed;
};

struct words {
	uint64_t at;
	const uint64_t *v;
	size_t n;
};

static uint32_t whose(struct finding *f, uint64_t word)
{
	struct known *k = &f->known[(word >> 3) * 0x9e3779b97f4a7c15ULL >> 52];
	if (!hubs_is_address(word) || hubs_on_stack(f->h, word) != HUBS_NOBODY)
		return HUBS_NOBODY;
	if (k->word != word)
		*k = (struct known){word, hubs_whose(f->h, word)};
	return k->member;
}

static size_t peek(const struct finding *f, uint64_t at, uint64_t *to, size_t n)
{
	return f->h->q->peek(f->h->q->ctx, at, to, n * sizeof(*to)) / sizeof(*to);
}

static bool is_data(const struct finding *f, uint64_t at)
{
	return hubs_is_address(at) && hubs_on_stack(f->h, at) == HUBS_NOBODY &&
	       f->h->q->is_data(f->h->q->ctx, at);
}

// ------------------------------------------------------------- containers

// Each has the elements in a block of their own, one after the other.
static size_t elements(const struct finding *f, uint64_t from, uint64_t end, uint64_t *to)
{
	size_t n = (end - from) / sizeof(*to);
	return is_data(f, from) ? peek(f, from, to, n < ELEMENTS ? n : ELEMENTS) : 0;
}

// { first, end, end of the block }
static size_t vector(const struct finding *f, const struct words *w, size_t i, uint64_t *to)
{
	const uint64_t *v = w->v + i;
	if (w->n - i < 3 || v[1] <= v[0] || v[2] < v[1] || v[2] - v[0] > 1 << 20 || v[1] % 8 || v[2] % 8)
		return 0;
	return elements(f, v[0], v[1], to);
}

// { first, its part's begin and end, that part's place in the map, last, ... }, of which the map comes first
static size_t deque(const struct finding *f, const struct words *w, size_t i, uint64_t *to)
{
	const uint64_t *v = w->v + i;
	if (w->n - i < 8 || v[2] - v[1] != DEQUE_BYTES || v[0] - v[1] >= DEQUE_BYTES ||
	    v[6] - v[5] != DEQUE_BYTES || v[4] - v[5] >= DEQUE_BYTES || v[0] == v[4] || v[4] % 8)
		return 0;
	return elements(f, v[0], v[1] == v[5] ? v[4] : v[2], to);
}

// { next, previous, how many }, and nodes { next, previous, handle }
static size_t list(const struct finding *f, const struct words *w, size_t i, uint64_t *to)
{
	const uint64_t *v = w->v + i;
	uint64_t before = w->at + i * sizeof(*v), at = v[0], node[NODE_WORDS], head = before;
	size_t n = 0;
	while (w->n - i >= 3 && v[2] && v[2] < 1 << 16 && n < ELEMENTS && at != head && is_data(f, at) &&
	       peek(f, at, node, NODE_WORDS) == NODE_WORDS && node[1] == before) {
		to[n++] = node[2];
		before = at;
		at = node[0];
	}
	return at == head || n == ELEMENTS ? n : 0;
}

static size_t queue(const struct finding *f, enum shape s, const struct words *w, size_t i, uint64_t *to)
{
	static size_t (*const read[SHAPES])(const struct finding *, const struct words *, size_t,
					    uint64_t *) = {vector, deque, list};
	return is_data(f, w->v[i]) ? read[s](f, w, i, to) : 0;
}

// ------------------------------------------------------------- hubs

static bool on_its_stack(const struct hubs_member *m)
{
	return m->slot >= m->stack.lo && m->slot <= m->stack.hi;
}

// Handles are of one kind: as far from each one's context, where that is not on its stack.
static bool same_kind(const struct finding *f, uint64_t a, uint32_t of, uint64_t b, uint32_t to)
{
	const struct hubs_query *q = f->h->q;
	const struct hubs_member *x = &q->v[of], *y = &q->v[to];
	if (on_its_stack(x) || on_its_stack(y))
		return !q->is_handle || (q->is_handle(q->ctx, a, x) && q->is_handle(q->ctx, b, y));
	return a - x->slot == b - y->slot;
}

static void add(struct finding *f, struct edge e)
{
	if (f->n == EDGES_MOST)
		return;
	if (f->n == f->room) {
		size_t room = f->room ? 2 * f->room : 64;
		struct edge *more = realloc(f->v, room * sizeof(*more));
		f->failed |= !more;
		if (!more)
			return;
		f->v = more;
		f->room = room;
	}
	f->v[f->n++] = e;
}

// The container at word k, if the owner is at word i: an edge for each who waits.
static void add_queue(struct finding *f, const struct words *w, size_t i, size_t k, uint32_t owner)
{
	uint64_t handles[ELEMENTS];
	for (unsigned s = 0; s < SHAPES; s++) {
		size_t n = queue(f, (enum shape)s, w, k, handles), own = 0;
		for (size_t j = 0; j < n; j++) {
			uint32_t m = whose(f, handles[j]);
			own += m != HUBS_NOBODY && same_kind(f, w->v[i], owner, handles[j], m);
		}
		for (size_t j = 0; own && own == n && j < n; j++)
			if (whose(f, handles[j]) != owner)
				add(f, (struct edge){w->at + i * sizeof(*w->v), whose(f, handles[j]), owner,
						     (int8_t)((int)k - (int)i), (uint8_t)s});
	}
}

static void look_at(struct finding *f, const struct words *w, size_t from, size_t end)
{
	for (size_t i = from; i < end && i < w->n && !f->h->q->late(f->h->q->ctx); i++) {
		uint32_t owner = whose(f, w->v[i]);
		size_t k = i < NEAR ? 0 : i - NEAR, to = w->n - i <= NEAR ? w->n : i + NEAR + 1;
		for (; owner != HUBS_NOBODY && k < to; k++)
			if (k != i)
				add_queue(f, w, i, k, owner);
	}
}

static void areas(struct finding *f, const struct span *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t words = (v[i].hi - v[i].lo) / sizeof(uint64_t);
		uint64_t *buf = malloc(words * sizeof(*buf) + 1);
		f->failed |= !buf;
		if (!buf)
			return;
		struct words w = {v[i].lo, buf, peek(f, v[i].lo, buf, words)};
		look_at(f, &w, 0, w.n);
		free(buf);
	}
}

static bool in_areas(const struct span *v, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++)
		if (at >= v[i].lo && at < v[i].hi)
			return true;
	return false;
}

// What lies before the window may not be there at all: then it begins with it.
static void windows(struct finding *f, const struct span *v, size_t n)
{
	uint64_t last = 0, buf[BEFORE + WINDOW];
	size_t all = 0;
	for (size_t i = 0; i < f->h->nplaces && all < WINDOWS_MOST && !f->h->q->late(f->h->q->ctx); i++) {
		uint64_t at = f->h->places[i].at, from = at - BEFORE * sizeof(*buf);
		if (at == last || in_areas(v, n, at) || !is_data(f, at))
			continue;
		last = at;
		all++;
		from = is_data(f, from) ? from : at;
		struct words w = {from, buf, peek(f, from, buf, BEFORE + WINDOW)};
		size_t here = (at - from) / sizeof(*buf);
		look_at(f, &w, here < NEAR ? 0 : here - NEAR, here + NEAR);
	}
}

// ------------------------------------------------------------- circles

static int by_from(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;
	return x->from != y->from ? (x->from < y->from ? -1 : 1) : x->hub < y->hub ? -1 : x->hub > y->hub;
}

static bool on_path(const struct edge **p, size_t n, const struct edge *e)
{
	for (size_t i = 0; i < n; i++)
		if (p[i]->from == e->to || p[i]->hub == e->hub)
			return true;
	return false;
}

// Goes on from a member; each circle is walked from its lowest one. How long it is; 0: there is none.
static size_t walk(struct finding *f, const struct edge **p, size_t n, uint32_t at)
{
	uint32_t first = n ? p[0]->from : at;
	for (size_t i = FIRST_NOT(f->n, k, f->v[k].from < at); i < f->n && f->v[i].from == at; i++) {
		const struct edge *e = &f->v[i];
		if (++f->steps > STEPS_MOST || f->taken[e->to] || e->to < first ||
		    (n && (e->distance != p[0]->distance || e->shape != p[0]->shape)))
			continue;
		p[n] = e;
		if (e->to == first) {
			if (n && e->hub != p[0]->hub)
				return n + 1;
		} else if (n + 1 < CYCLE_HUBS_LONGEST && !on_path(p, n, e)) {
			size_t all = walk(f, p, n + 1, e->to);
			if (all)
				return all;
		}
	}
	return 0;
}

static size_t circles(struct finding *f, struct cycle_hubs_circle *out, size_t most)
{
	size_t n = 0;
	for (uint32_t m = 0; m < f->h->q->n && n < most; m++) {
		const struct edge *p[CYCLE_HUBS_LONGEST];
		f->steps = 0;
		size_t all = f->taken[m] ? 0 : walk(f, p, 0, m);
		if (!all)
			continue;
		out[n] = (struct cycle_hubs_circle){.n = all, .firm = true, .container = true};
		for (size_t i = 0; i < all; i++) {
			f->taken[p[i]->from] = true;
			out[n].at[i].member = p[i]->from;
			out[n].at[i].hub = p[i]->hub;
		}
		n++;
	}
	return n;
}

int container_hubs_find(const struct hubs *h, const struct span *v, size_t n, struct cycle_hubs_circle *out,
			size_t most)
{
	struct finding f = {.h = h,
			    .known = calloc(KNOWN, sizeof(*f.known)),
			    .taken = calloc(h->q->n + 1, sizeof(*f.taken))};
	size_t found = 0;
	f.failed = !f.known || !f.taken;
	if (!f.failed && h->q->n > 1) {
		areas(&f, v, n);
		windows(&f, v, n);
	}
	if (!f.failed && f.n) {
		qsort(f.v, f.n, sizeof(*f.v), by_from);
		found = circles(&f, out, most);
	}
	free(f.v);
	free(f.known);
	free(f.taken);
	return f.failed ? -ENOMEM : (int)found;
}
