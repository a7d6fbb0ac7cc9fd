// SPDX-License-Identifier: MIT
//
// Gathers coroutines that are suspended without a known wait, with the registers that they saved and the
// words of their innermost frames, and asks cycle_hubs.h for circles, and hub_holders.h for locks that nobody
// gives back. One counts if all of them are still suspended there when it has been found.
#include "engine/sets/set_circles.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/memory/container_hubs.h"
#include "engine/memory/cycle_hubs.h"
#include "engine/memory/hub_holders.h"
#include "engine/memory/pth_mutexes.h"
#include "engine/memory/st_mutexes.h"
#include "engine/sets/set_places.h"
#include "engine/sets/set_line.h"
#include "engine/sets/set_parked.h"
#include "engine/target/names.h"
#include "search/heap/malloc_heap.h"

enum {
	CIRCLES_MOST = 64,
	HOLDERS_MOST = 64,
	QUEUES_MOST = 64,
	HANDLE_WORDS = 8,
	STATIC_PARTS = 64,
	STATIC_MOST = 1 << 20
};

struct gathered {
	const struct ctp_region *r;
	const struct inspection *l; // NULL: a quick question
	const struct proc_maps *maps;
	pid_t pid;
	uint64_t deadline_ns;
	struct hubs_member *v;
	struct ctp_state *states;
	size_t n;
	struct set_places places;
};

// ------------------------------------------------------------- who is parked

static void add_member(struct gathered *g, const struct ctp_state *c)
{
	struct hubs_member *m = &g->v[g->n];
	uint64_t sp = c->regs[CTP_REG_SP], room = (HUBS_WORDS - CTP_REGS) * sizeof(uint64_t);
	*m = (struct hubs_member){.id = c->id,
				  .slot = c->slot,
				  .stack = {c->lo, c->hi},
				  .sp = sp,
				  .pc = c->regs[CTP_REG_PC],
				  .n = CTP_REGS};
	memcpy(m->words, c->regs, sizeof(c->regs));
	size_t bytes = c->hi - sp < room ? c->hi - sp : room;
	m->n += (unsigned)(proc_peek(g->pid, sp, m->words + CTP_REGS, bytes, false) / sizeof(uint64_t));
	g->states[g->n++] = *c;
}

static bool gather(struct gathered *g)
{
	struct ctp_walk w = ctp_walk_states(g->r);
	size_t room = 0;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n && g->n < SET_PARKED_MOST;
	     i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state c;
		if (!set_parked(g->r, i, &c) || set_parked_registered(g->l, &c))
			continue;
		if (g->n == room) {
			room = room ? 2 * room : 64;
			struct hubs_member *v = realloc(g->v, room * sizeof(*v));
			g->v = v ? v : g->v;
			struct ctp_state *s = v ? realloc(g->states, room * sizeof(*s)) : NULL;
			g->states = s ? s : g->states;
			if (!s)
				return false;
		}
		add_member(g, &c);
		if (signals_late(g->deadline_ns))
			return false;
	}
	return g->n > 0;
}

// ------------------------------------------------------------- what is asked of memory

// The tables and libctp.so's own data hold handles of all coroutines, and are nobody's lock.
static bool is_data(void *ctx, uint64_t at)
{
	const struct gathered *g = ctx;
	const struct maps_line *m = proc_maps_find(g->maps, at);
	const struct ctp_ext *e = g->r->ext;
	return m && !strncmp(m->perms, "rw-", 3) && at - e->region_base >= g->r->bytes &&
	       !(at >= e->self_base && at < e->self_end);
}

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	const struct gathered *g = ctx;
	return proc_peek(g->pid, at, to, bytes, false);
}

static bool late(void *ctx)
{
	return signals_late(((const struct gathered *)ctx)->deadline_ns);
}

// A block of the heap must hold the context, or a word that leads to it or to the stack.
static bool is_handle(void *ctx, uint64_t handle, const struct hubs_member *m)
{
	const struct gathered *g = ctx;
	struct malloc_heap_query q = {.addr = handle};
	uint64_t words[HANDLE_WORDS];
	if (handle >= m->stack.lo && handle < m->stack.hi)
		return true;
	malloc_heap_resolve(&g->l->memory, &q, 1);
	if (!q.found || (m->slot >= q.block.lo && m->slot < q.block.hi))
		return true;
	size_t bytes = q.block.hi + 8 - handle < sizeof(words) ? q.block.hi + 8 - handle : sizeof(words);
	size_t n = proc_peek(g->pid, handle, words, bytes, false) / sizeof(*words);
	for (size_t i = 0; i < n; i++)
		if (words[i] == m->slot || (words[i] >= m->stack.lo && words[i] <= m->stack.hi))
			return true;
	return false;
}

// It has the context in it, or a word that leads to the context on the stack. Of what is no block of the
// heap, only nearness tells.
static bool is_own(void *ctx, uint64_t hub, const struct hubs_member *m)
{
	const struct gathered *g = ctx;
	struct malloc_heap_query q = {.addr = hub};
	uint64_t words[HANDLE_WORDS];
	malloc_heap_resolve(&g->l->memory, &q, 1);
	if (!q.found)
		return m->slot - hub < HUBS_CONTROL_BYTES || hub - m->stack.hi < HUBS_CONTROL_BYTES;
	if (m->slot >= q.block.lo && m->slot < q.block.hi)
		return true;
	size_t n = m->slot >= m->stack.lo && m->slot < m->stack.hi ?
			   proc_peek(g->pid, q.block.lo, words, sizeof(words), false) / sizeof(*words) :
			   0;
	for (size_t i = 0; i < n; i++)
		if (words[i] == m->slot)
			return true;
	return false;
}

static uint64_t extent(void *ctx, uint64_t hub)
{
	const struct gathered *g = ctx;
	struct malloc_heap_query q = {.addr = hub};
	malloc_heap_resolve(&g->l->memory, &q, 1);
	return q.found ? q.block.hi + 8 - hub : UINT64_MAX; // its last word lies in the next one's header
}

// Of a quick question, which is not to read the heap, only what begins with the context is asked for.
static uint64_t begin(void *ctx, uint64_t at)
{
	const struct gathered *g = ctx;
	struct malloc_heap_query q = {.addr = at};
	if (g->l)
		malloc_heap_resolve(&g->l->memory, &q, 1);
	return q.found ? q.block.lo : 0;
}

static uint64_t who(void *ctx, uint64_t at, bool top, bool *lives)
{
	struct gathered *g = ctx;
	return set_places_find(&g->places, g->r, at, top, lives);
}

static struct hubs_query query(struct gathered *g)
{
	return (struct hubs_query){.v = g->v,
				   .n = g->n,
				   .ctx = g,
				   .is_data = is_data,
				   .peek = peek,
				   .is_handle = g->l ? is_handle : NULL,
				   .is_own = g->l ? is_own : NULL,
				   .late = late,
				   .extent = g->l ? extent : NULL,
				   .begin = begin,
				   .who = who};
}

// ------------------------------------------------------------- what is written

// Is it where it was?
static bool stands(const struct gathered *g, uint32_t member)
{
	const struct ctp_state *was = &g->states[member];
	struct ctp_state now;
	return was->station < g->r->stations_max && ctp_state_read(&g->r->states[was->station], &now) &&
	       now.id == was->id && now.changes == was->changes;
}

static bool holds(const struct gathered *g, const struct cycle_hubs_circle *c)
{
	for (size_t i = 0; i < c->n; i++)
		if (!stands(g, c->at[i].member))
			return false;
	return true;
}

static json_t *wait_at(const struct gathered *g, uint32_t member, uint64_t hub)
{
	const struct ctp_state *s = &g->states[member];
	char symbol[160], at[32];
	bool named = names_static(g->pid, g->maps, hub, symbol, sizeof(symbol));
	snprintf(at, sizeof(at), "0x%llx", (unsigned long long)hub);
	json_t *o = json_pack("{s:I, s:I, s:s}", "coroutine", (json_int_t)s->id, "changes",
			      (json_int_t)s->changes, "hub", at);
	json_t *name = named ? json_string(symbol) : NULL;
	if (o && name)
		json_object_set_new(o, "name", name);
	return o;
}

static void write_circle(FILE *out, const struct gathered *g, const struct cycle_hubs_circle *c)
{
	json_t *who = json_array();
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(who, wait_at(g, c->at[i].member, c->at[i].hub));
	set_line(out, json_pack("{s:i, s:s, s:b, s:b, s:o}", "v", 1, "what", "circle", "firm", c->firm,
				"container", c->container, "waits", who));
}

// Held by itself, it is a circle of one. mutex: it is known to be one.
static void write_holder(FILE *out, const struct gathered *g, const struct hub_holder *h, bool mutex)
{
	json_t *who = json_array();
	for (size_t i = 0; i < h->n; i++)
		if (stands(g, h->waiters[i]))
			json_array_append_new(who, wait_at(g, h->waiters[i], h->hub));
	if (!json_array_size(who) || (h->kept != HUBS_NOBODY && !stands(g, h->kept)))
		json_decref(who);
	else if (h->ended)
		set_line(out, json_pack("{s:i, s:s, s:I, s:b, s:o}", "v", 1, "what", "held", "by",
					(json_int_t)h->ended, "mutex", mutex, "waits", who));
	else
		set_line(out, json_pack("{s:i, s:s, s:b, s:o}", "v", 1, "what", "circle", "firm", true,
					"waits", who));
}

static void write_queue(FILE *out, const struct gathered *g, const struct hub_queue *q)
{
	json_t *who = json_array();
	for (size_t i = 0; i < q->n; i++)
		if (stands(g, q->waiters[i]))
			json_array_append_new(who, wait_at(g, q->waiters[i], q->hub));
	set_line(out, json_pack("{s:i, s:s, s:o}", "v", 1, "what", "queued", "waits", who));
}

static void deinit(struct gathered *g, struct hubs *h)
{
	hubs_deinit(h);
	set_places_deinit(&g->places);
	free(g->v);
	free(g->states);
}

// Only a program that has GNU Pth, or State Threads, is asked for its mutexes.
static bool has_library(const struct proc_maps *maps, const char *name)
{
	for (size_t i = 0; i < maps->n; i++)
		if (strstr(maps->v[i].path, name))
			return true;
	return false;
}

// The static storage of the program and its libraries: what is written there is private, and of a file, or
// follows that. How many parts.
static size_t static_storage(const struct gathered *g, struct span v[STATIC_PARTS])
{
	const struct proc_maps *maps = g->maps;
	uint64_t room = STATIC_MOST;
	size_t n = 0;
	for (size_t i = 0; i < maps->n && n < STATIC_PARTS && room; i++) {
		const struct maps_line *m = &maps->v[i];
		bool file = m->ino && *m->path == '/', after = i && n && !*m->path && v[n - 1].hi == m->lo;
		if (strcmp(m->perms, "rw-p") || !(file || after) || !is_data((void *)g, m->lo))
			continue;
		uint64_t bytes = m->hi - m->lo < room ? m->hi - m->lo : room;
		room -= bytes;
		v[n++] = (struct span){m->lo, m->lo + bytes};
	}
	return n;
}

static int in_containers(const struct gathered *g, const struct hubs *h, struct cycle_hubs_circle *c,
			 size_t most)
{
	struct span v[STATIC_PARTS];
	return container_hubs_find(h, v, static_storage(g, v), c, most);
}

// Is one of its members in a circle before it?
static bool is_known(const struct cycle_hubs_circle *c, size_t before, const struct cycle_hubs_circle *is)
{
	for (size_t i = 0; i < before; i++)
		for (size_t k = 0; k < c[i].n; k++)
			for (size_t j = 0; j < is->n; j++)
				if (c[i].at[k].member == is->at[j].member)
					return true;
	return false;
}

// Of the library's own mutexes too, and of locks with a container, as many as there is room for.
static size_t find_circles(const struct gathered *g, const struct hubs *h, struct cycle_hubs_circle *c,
			   size_t most)
{
	int n = cycle_hubs_find(h, c, most), own = 0;
	if (n >= 0 && (size_t)n < most && has_library(g->maps, "/libpth.so"))
		own = pth_mutexes_find(h, c + n, most - (size_t)n);
	size_t all = (n > 0 ? (size_t)n : 0) + (own > 0 ? (size_t)own : 0), kept = all;
	int more = all < most ? in_containers(g, h, c + all, most - all) : 0;
	for (int i = 0; i < more; i++)
		if (!is_known(c, all, &c[all + (size_t)i]))
			c[kept++] = c[all + (size_t)i];
	return kept;
}

// What State Threads alone have comes last. *mutexes: how many.
static size_t find_held(const struct gathered *g, const struct hubs *h, struct hub_holder *held, size_t most,
			size_t *mutexes)
{
	size_t n = hub_holders_find(h, held, most);
	*mutexes = has_library(g->maps, "/libst.so") ? st_mutexes_find(h, held + n, most - n) : 0;
	return n + *mutexes;
}

static uint64_t number(const struct gathered *g, uint64_t before, uint32_t member, uint64_t hub)
{
	const uint64_t words[] = {g->v[member].id, g->states[member].changes, hub};
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		before = (before ^ words[i]) * 0x100000001b3ULL;
	return before;
}

static void see(const struct gathered *g, const struct hubs *h, struct set_circles_seen *out, size_t most)
{
	static const uint64_t begin = 0xcbf29ce484222325ULL;
	struct cycle_hubs_circle c[SET_CIRCLES_SEEN];
	struct hub_holder held[SET_CIRCLES_SEEN];
	size_t n = find_circles(g, h, c, most), mutexes;
	for (size_t i = 0; i < n; i++) {
		uint64_t is = begin;
		for (size_t k = 0; k < c[i].n; k++)
			is = number(g, is, c[i].at[k].member, c[i].at[k].hub);
		out->v[out->n++] = is;
	}
	n = n < most ? find_held(g, h, held, most - n, &mutexes) : 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t is = begin ^ held[i].ended;
		for (size_t k = 0; k < held[i].n; k++)
			is = number(g, is, held[i].waiters[k], held[i].hub);
		out->v[out->n++] = is;
	}
}

// Of `most`.
static void quick(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns, struct set_circles_seen *out,
		  size_t most)
{
	struct proc_maps maps = {0};
	struct gathered g = {.r = r, .maps = &maps, .pid = pid, .deadline_ns = deadline_ns};
	struct hubs h = {0};
	struct hubs_query q;
	bool any = gather(&g) && !proc_maps_read(pid, &maps);
	out->n = 0;
	q = query(&g);
	if (any && !hubs_init(&h, &q))
		see(&g, &h, out, most);
	proc_maps_deinit(&maps);
	deinit(&g, &h);
}

bool set_circles_any(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns)
{
	struct set_circles_seen seen;
	quick(r, pid, deadline_ns, &seen, 1);
	return seen.n > 0;
}

void set_circles_see(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns,
		     struct set_circles_seen *out)
{
	quick(r, pid, deadline_ns, out, SET_CIRCLES_SEEN);
}

void set_circles(FILE *out, const struct inspection *l)
{
	struct gathered g = {
		.r = l->r, .l = l, .maps = &l->maps, .pid = l->pid, .deadline_ns = l->deadline_ns};
	struct hubs h = {0};
	struct hubs_query q;
	struct cycle_hubs_circle *c = calloc(CIRCLES_MOST, sizeof(*c));
	struct hub_holder *held = calloc(HOLDERS_MOST, sizeof(*held));
	struct hub_queue *queues = calloc(QUEUES_MOST, sizeof(*queues));
	bool any = c && held && queues && gather(&g);
	q = query(&g);
	any = any && !hubs_init(&h, &q);
	size_t n = any ? find_circles(&g, &h, c, CIRCLES_MOST) : 0;
	size_t mutexes = 0, nheld = any ? find_held(&g, &h, held, HOLDERS_MOST, &mutexes) : 0;
	size_t nqueues = any ? hub_queues_find(&h, queues, QUEUES_MOST) : 0;
	for (size_t i = 0; i < n; i++)
		if (holds(&g, &c[i]))
			write_circle(out, &g, &c[i]);
	for (size_t i = 0; i < nheld; i++)
		write_holder(out, &g, &held[i], i + mutexes >= nheld);
	for (size_t i = 0; i < nqueues; i++)
		write_queue(out, &g, &queues[i]);
	free(queues);
	free(c);
	free(held);
	deinit(&g, &h);
}
