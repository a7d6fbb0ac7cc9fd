// SPDX-License-Identifier: MIT
//
// P6a: does any word in registers, live stacks, writable memory or the
// kernel's hands lead to the coroutine? Suspects whose memory overlaps form
// one group, reachable as a whole. A word inside a group's own memory does
// not count for it; a word in another group counts if that group is itself
// reachable: a fixpoint over edges. All else is a root, so a group is called
// unreachable only if nothing at all outside such groups points into it.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/dead.h"
#include "engine/hold.h"
#include "engine/look.h"
#include "engine/names.h"
#include "engine/queues.h"
#include "engine/scan.h"

enum { ROOTS_NAMED = 6 };

struct part {
	struct span at;
	size_t who; // index in look.who
};

struct edge {
	uint32_t from, to;
};

struct graph {
	struct look *l;
	uint32_t *group;      // of each suspect: union-find
	struct span *targets; // sorted, disjoint
	uint32_t *owner;      // group of each target
	size_t ntargets;
	struct edge *edges;
	size_t nedges, room;
	bool *reached;        // by group
	uint64_t (*roots)[ROOTS_NAMED]; // addresses of words, by group
	uint32_t *nroots;
	bool failed;          // out of memory
};

static uint32_t group_of(struct graph *g, uint32_t i)
{
	while (g->group[i] != i)
		i = g->group[i] = g->group[g->group[i]];
	return i;
}

static int by_lo(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	return x->at.lo < y->at.lo ? -1 : x->at.lo > y->at.lo;
}

static bool graph_init(struct graph *g, struct look *l)
{
	size_t n = l->n, parts = 0;
	*g = (struct graph){.l = l, .group = calloc(n, sizeof(uint32_t)), .targets = calloc(2 * n, sizeof(struct span)),
			    .owner = calloc(2 * n, sizeof(uint32_t)), .reached = calloc(n, sizeof(bool)),
			    .roots = calloc(n, sizeof(*g->roots)), .nroots = calloc(n, sizeof(uint32_t))};
	struct part *p = calloc(2 * n, sizeof(*p));
	if (!p || !g->group || !g->targets || !g->owner || !g->reached || !g->roots || !g->nroots) {
		free(p);
		return false;
	}
	for (size_t i = 0; i < n; i++) {
		g->group[i] = (uint32_t)i;
		for (unsigned k = 0; k < l->who[i]->nmine; k++)
			if (l->who[i]->mine[k].hi > l->who[i]->mine[k].lo)
				p[parts++] = (struct part){l->who[i]->mine[k], i};
	}
	qsort(p, parts, sizeof(*p), by_lo);
	for (size_t i = 0; i < parts; i++) {
		struct span *last = g->ntargets ? &g->targets[g->ntargets - 1] : NULL;
		if (last && p[i].at.lo < last->hi) {
			if (p[i].at.hi > last->hi)
				last->hi = p[i].at.hi;
			g->group[group_of(g, (uint32_t)p[i].who)] = group_of(g, g->owner[g->ntargets - 1]);
		} else {
			g->owner[g->ntargets] = (uint32_t)p[i].who;
			g->targets[g->ntargets++] = p[i].at;
		}
	}
	for (size_t i = 0; i < g->ntargets; i++)
		g->owner[i] = group_of(g, g->owner[i]);
	free(p);
	return true;
}

static void graph_deinit(struct graph *g)
{
	free(g->group);
	free(g->targets);
	free(g->owner);
	free(g->edges);
	free(g->reached);
	free(g->roots);
	free(g->nroots);
}

static void add_edge(struct graph *g, uint32_t from, uint32_t to)
{
	if (g->nedges && g->edges[g->nedges - 1].from == from && g->edges[g->nedges - 1].to == to)
		return;
	if (g->nedges == g->room) {
		size_t room = g->room ? g->room * 2 : 256;
		struct edge *more = room <= (1u << 24) ? realloc(g->edges, room * sizeof(*more)) : NULL;
		if (!more) {
			g->failed = true;
			return;
		}
		g->edges = more;
		g->room = room;
	}
	g->edges[g->nedges++] = (struct edge){from, to};
}

static void on_hit(void *ctx, uint64_t at, size_t target)
{
	struct graph *g = ctx;
	uint32_t to = g->owner[target];
	size_t in = scan_find(g->targets, g->ntargets, at);
	if (in < g->ntargets) {
		if (g->owner[in] != to)
			add_edge(g, g->owner[in], to);
		return;
	}
	g->reached[to] = true;
	if (g->nroots[to] < ROOTS_NAMED)
		g->roots[to][g->nroots[to]] = at;
	g->nroots[to]++;
}

static void root(struct graph *g, size_t t, const char *text)
{
	g->reached[g->owner[t]] = true;
	for (size_t i = 0; i < g->l->n; i++)
		if (group_of(g, (uint32_t)i) == g->owner[t]) {
			look_open(g->l, g->l->who[i]->s.id, "%s leads to it", text);
			if (g->l->who[i]->a[LOOK_P6A].holds != 0)
				look_say(&g->l->who[i]->a[LOOK_P6A], 0, "%s leads to coroutine %llu", text,
					 (unsigned long long)g->l->who[i]->s.id);
		}
}

static void __attribute__((format(printf, 3, 4))) root_word(struct graph *g, uint64_t word, const char *format, ...)
{
	size_t t = scan_find(g->targets, g->ntargets, word & SCAN_ADDRESS_MASK);
	if (t == g->ntargets)
		return;
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	root(g, t, text);
}

// Bytes that lie elsewhere than in memory.
struct apart {
	struct graph *g;
	const char *where;
};

static void on_apart(void *ctx, uint64_t at, size_t target)
{
	const struct apart *a = ctx;
	(void)at;
	root(a->g, target, a->where);
}

static void root_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct graph *g = ctx;
	struct apart a = {g, where};
	struct scan s = {.targets = g->targets, .ntargets = g->ntargets, .hit = on_apart, .ctx = &a};
	scan_bytes(&s, bytes, n, 0);
}

// ---------------------------------------------------------------------- roots

static const char *const REG_NAMES[CTP_REGS] = {"pc", "sp", "fp", "s0", "s1", "s2", "s3", "s4"};

static void registers(struct graph *g, const struct proc_task *t)
{
	if (t->sp)
		root_word(g, t->sp, "the stack pointer of thread %d", t->tid);
	if (t->slot >= 0 && t->hooked)
		for (int i = 0; i < CTP_REGS; i++)
			root_word(g, g->l->threads[t->slot].wait_regs[i], "saved register %s of thread %d", REG_NAMES[i], t->tid);
	for (size_t i = 0; t->got_regs && i < sizeof(t->regs) / sizeof(*t->regs); i++)
		root_word(g, t->regs[i], "a register of thread %d", t->tid);
	char where[48];
	snprintf(where, sizeof(where), "a vector register of thread %d", t->tid);
	if (t->got_regs)
		root_bytes(g, where, t->vectors, t->vector_bytes);
}

// What the kernel holds for the program: data of registrations, and of timers.
static void kernel_hands(struct graph *g)
{
	const struct look *l = g->l;
	for (size_t i = 0; i < l->rows.n; i++)
		root_word(g, l->rows.v[i].data, "the registration of fd %d in epoll fd %d", l->rows.v[i].tfd, l->rows.v[i].epfd);
	char *text;
	if (proc_slurp(l->pid, "timers", &text, NULL))
		return;
	for (char *at = text; (at = strstr(at, "signal: ")); at++) {
		char *slash = strchr(at, '/');
		if (slash)
			root_word(g, strtoull(slash + 1, NULL, 16), "the value of a POSIX timer");
	}
	free(text);
}

static void name_root(const struct look *l, uint64_t at, char *text, size_t bytes)
{
	char symbol[160];
	const struct proc_map *m = proc_maps_find(&l->maps, at);
	uint32_t n = ctp_load32(&l->r->header->allocated_count);
	for (uint32_t i = 0; i < n && i < l->r->stations_max; i++) {
		const struct ctp_state *s = &l->r->stations[i].state;
		if (at >= s->lo && at < s->hi && s->owner == CTP_OWNER_GUEST && s->lo) {
			snprintf(text, bytes, "the word at 0x%llx on the stack of coroutine %llu", (unsigned long long)at,
				 (unsigned long long)s->id);
			return;
		}
	}
	for (size_t i = 0; m && i < l->tasks.n; i++)
		if (l->tasks.v[i].sp >= m->lo && l->tasks.v[i].sp < m->hi && at >= l->tasks.v[i].sp - 128) {
			snprintf(text, bytes, "the word at 0x%llx on the stack of thread %d (live)", (unsigned long long)at,
				 l->tasks.v[i].tid);
			return;
		}
	if (m && names_static(l->pid, &l->maps, at, symbol, sizeof(symbol)))
		snprintf(text, bytes, "the word at %s", symbol);
	else
		snprintf(text, bytes, "the word at 0x%llx (%s)", (unsigned long long)at,
			 !m || !*m->path ? "memory" : !strcmp(m->path, "[heap]") ? "heap" : m->path);
}

// -------------------------------------------------------------------- answers

static void spread(struct graph *g)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < g->nedges; i++)
			if (g->reached[g->edges[i].from] && !g->reached[g->edges[i].to])
				more = g->reached[g->edges[i].to] = true;
	}
}

static void answer(struct graph *g, size_t i)
{
	struct suspect *s = g->l->who[i];
	struct look_answer *a = &s->a[LOOK_P6A];
	uint32_t k = group_of(g, (uint32_t)i);
	char text[LOOK_TEXT - 48];
	for (uint32_t n = 0; n < g->nroots[k] && n < ROOTS_NAMED; n++) {
		name_root(g->l, g->roots[k][n], text, sizeof(text));
		look_open(g->l, s->s.id, "%s leads to it", text);
		if (!n)
			look_say(a, 0, "%.150s leads to coroutine %llu", text, (unsigned long long)s->s.id);
	}
	if (g->nroots[k] > ROOTS_NAMED)
		look_open(g->l, s->s.id, "%u more words lead to it", g->nroots[k] - ROOTS_NAMED);
	if (a->holds == 0)
		return;
	if (g->reached[k])
		look_say(a, 0, "another waiter that can be reached leads to coroutine %llu", (unsigned long long)s->s.id);
	else
		look_say(a, 1, "nothing leads to coroutine %llu (%.1f MB searched)", (unsigned long long)s->s.id,
			 (double)g->l->scanned_bytes / 1e6);
	if (g->reached[k])
		look_open(g->l, s->s.id, "another waiter that can be reached leads to it");
}

static void search(struct look *l, struct graph *g, const struct proc_tasks *base)
{
	struct span_list dead = {0};
	dead_find(l, &dead);
	struct scan s = {.pid = l->pid, .targets = g->targets, .ntargets = g->ntargets, .skip = dead.v,
			 .nskip = scan_tidy(dead.v, dead.n), .deadline_ns = l->deadline_ns, .hit = on_hit, .ctx = g,
			 .guard = l->r->ext->pointer_guard, .rotate = l->r->ext->pointer_rotate & 63};
	int e = scan_run(&s, &l->maps);
	l->scanned_bytes = s.bytes;
	for (size_t i = 0; !e && i < l->tasks.n; i++)
		registers(g, &l->tasks.v[i]);
	struct queues q = {.l = l, .bytes = root_bytes, .ctx = g};
	if (!e)
		kernel_hands(g);
	bool queues = !e && queues_read(&q);
	bool still = hold_rested(l, base);
	free(dead.v);
	if (e)
		hold_say(l, *s.why ? s.why : "memory could not be searched");
	else if (!still)
		hold_say(l, "a thread ran while memory was being searched");
	else if (g->failed || !l->rows.complete)
		hold_say(l, "memory was searched, but not all that the kernel holds");
	else if (hold_signals(base))
		hold_say(l, "a signal is pending: its value may lead to it");
	else if (!queues)
		hold_say(l, q.why);
	else if (hold_sharer(l->pid))
		hold_say(l, "another process shares its memory, and its registers are not known");
	else {
		spread(g);
		for (size_t i = 0; i < l->n; i++)
			if (l->who[i]->nmine)
				answer(g, i);
	}
}

void reach_judge(struct look *l)
{
	struct graph g = {0};
	struct proc_tasks base = {0};
	bool any = false;
	for (size_t i = 0; i < l->n; i++)
		any |= l->who[i]->nmine > 0;
	if (!any)
		return; // each has its reason already
	hold_say(l, "memory was not searched");
	if (hold_take(l, &base)) {
		if (!hold_refresh(l, &base) || !graph_init(&g, l))
			hold_say(l, "memory could not be searched");
		else
			search(l, &g, &base);
	}
	hold_release(l);
	proc_tasks_deinit(&base);
	graph_deinit(&g);
}
