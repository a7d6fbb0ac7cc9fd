// SPDX-License-Identifier: MIT
//
// Gathers coroutines that are suspended without a known wait, with the registers that they saved and the
// words of their innermost frames, and asks cycle_hubs.h for circles. A circle counts if all of them are
// still suspended there when it has been found.
#include "engine/sets/set_circles.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/memory/cycle_hubs.h"
#include "engine/sets/set_line.h"
#include "engine/sets/set_parked.h"
#include "engine/target/names.h"
#include "search/heap/malloc_heap.h"

enum { CIRCLES_MOST = 64, HANDLE_WORDS = 8 };

struct gathered {
	const struct ctp_region *r;
	const struct inspection *l; // NULL: a quick question
	const struct proc_maps *maps;
	pid_t pid;
	uint64_t deadline_ns;
	struct cycle_hubs_member *v;
	struct ctp_state *states;
	size_t n;
};

// ------------------------------------------------------------- who is parked

static void add_member(struct gathered *g, const struct ctp_state *c)
{
	struct cycle_hubs_member *m = &g->v[g->n];
	uint64_t sp = c->regs[CTP_REG_SP], room = (CYCLE_HUBS_WORDS - CTP_REGS) * sizeof(uint64_t);
	*m = (struct cycle_hubs_member){.id = c->id,
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
			struct cycle_hubs_member *v = realloc(g->v, room * sizeof(*v));
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
	return g->n > 1;
}

// ------------------------------------------------------------- what is asked of memory

static bool is_data(void *ctx, uint64_t at)
{
	const struct gathered *g = ctx;
	const struct maps_line *m = proc_maps_find(g->maps, at);
	return m && !strncmp(m->perms, "rw-", 3);
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
static bool is_handle(void *ctx, uint64_t handle, const struct cycle_hubs_member *m)
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

static struct cycle_hubs_query query(struct gathered *g)
{
	return (struct cycle_hubs_query){.v = g->v,
					 .n = g->n,
					 .ctx = g,
					 .is_data = is_data,
					 .peek = peek,
					 .is_handle = g->l ? is_handle : NULL,
					 .late = late};
}

// ------------------------------------------------------------- what is written

// Are all of them where they were?
static bool holds(const struct gathered *g, const struct cycle_hubs_circle *c)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct ctp_state *was = &g->states[c->at[i].member];
		struct ctp_state now;
		if (was->station >= g->r->stations_max ||
		    !ctp_state_read(&g->r->states[was->station], &now) || now.id != was->id ||
		    now.changes != was->changes)
			return false;
	}
	return true;
}

static void write_circle(FILE *out, const struct gathered *g, const struct cycle_hubs_circle *c)
{
	json_t *who = json_array();
	for (size_t i = 0; i < c->n; i++) {
		const struct ctp_state *s = &g->states[c->at[i].member];
		char symbol[160], at[32];
		bool named = names_static(g->pid, g->maps, c->at[i].hub, symbol, sizeof(symbol));
		snprintf(at, sizeof(at), "0x%llx", (unsigned long long)c->at[i].hub);
		json_t *o = json_pack("{s:I, s:I, s:s}", "coroutine", (json_int_t)s->id, "changes",
				      (json_int_t)s->changes, "hub", at);
		json_t *name = named ? json_string(symbol) : NULL;
		if (o && name)
			json_object_set_new(o, "name", name);
		json_array_append_new(who, o);
	}
	set_line(out,
		 json_pack("{s:i, s:s, s:b, s:o}", "v", 1, "what", "circle", "firm", c->firm, "waits", who));
}

static void deinit(struct gathered *g)
{
	free(g->v);
	free(g->states);
}

bool set_circles_any(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns)
{
	struct proc_maps maps = {0};
	struct gathered g = {.r = r, .maps = &maps, .pid = pid, .deadline_ns = deadline_ns};
	struct cycle_hubs_circle c;
	struct cycle_hubs_query q;
	bool any = gather(&g) && !proc_maps_read(pid, &maps);
	q = query(&g);
	any = any && cycle_hubs_find(&q, &c, 1) > 0;
	proc_maps_deinit(&maps);
	deinit(&g);
	return any;
}

void set_circles(FILE *out, const struct inspection *l)
{
	struct gathered g = {
		.r = l->r, .l = l, .maps = &l->maps, .pid = l->pid, .deadline_ns = l->deadline_ns};
	struct cycle_hubs_circle *c = calloc(CIRCLES_MOST, sizeof(*c));
	struct cycle_hubs_query q;
	int n = 0;
	if (c && gather(&g)) {
		q = query(&g);
		n = cycle_hubs_find(&q, c, CIRCLES_MOST);
	}
	for (int i = 0; i < n; i++)
		if (holds(&g, &c[i]))
			write_circle(out, &g, &c[i]);
	free(c);
	deinit(&g);
}
