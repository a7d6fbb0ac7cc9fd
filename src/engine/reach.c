// SPDX-License-Identifier: MIT
//
// P6a: does any word in registers, live stacks, writable memory or the
// kernel's hands lead to the coroutine? What belongs to a suspect is one object
// (objects.c). A word in a block of the heap leads to it only if something leads
// to that block: so the blocks in which such words were found become objects too,
// and memory is searched again, until no more are found. All other words are
// roots. A suspect is called unreachable only if no root leads to it at all.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/dead.h"
#include "engine/graph.h"
#include "engine/heap.h"
#include "engine/hold.h"
#include "engine/look.h"
#include "engine/names.h"
#include "engine/queues.h"
#include "engine/scan.h"

enum { WORDS_NAMED = 6, ROUNDS = 6, BLOCKS_MOST = 1 << 16 };

struct reach {
	struct look *l;
	struct graph g;           // nodes: suspects, then blocks
	struct span_list blocks;  // of the heap, which hold words that lead to a suspect
};

// A block of the heap, as what can be pointed to: from its header (tables that count
// from one) to just behind its end. Headers of blocks that are not in use the allocator
// points to, too: those pointers lead nowhere. A block's last word lies in the next one's
// header, and the one before this in ours.
static void block_parts(const struct reach *r, struct span block, uint32_t node, struct graph_part *p, size_t *n)
{
	uint64_t header = block.lo - 16, next = block.hi;
	bool idle = heap_is_idle(r->l->pid, next);
	p[(*n)++] = (struct graph_part){{header + 8, idle ? next : next + 9}, node, false};
	if (idle)
		p[(*n)++] = (struct graph_part){{next + 1, next + 9}, node, false};
	if (!heap_is_idle(r->l->pid, header))
		p[(*n)++] = (struct graph_part){{header, header + 1}, node, true};
}

static bool init(struct reach *r)
{
	const struct look *l = r->l;
	struct graph_part *p = calloc(2 * l->n + 3 * r->blocks.n + 1, sizeof(*p));
	size_t n = 0;
	if (!p)
		return false;
	for (size_t i = 0; i < l->n; i++)
		for (unsigned k = 0; k < l->who[i]->nmine; k++)
			p[n++] = (struct graph_part){l->who[i]->mine[k], (uint32_t)i, false};
	for (size_t i = 0; i < r->blocks.n; i++)
		block_parts(r, r->blocks.v[i], (uint32_t)(l->n + i), p, &n);
	int e = graph_init(&r->g, l->n + r->blocks.n, p, n);
	free(p);
	return !e;
}

static void on_hit(void *ctx, uint64_t at, size_t target)
{
	struct reach *r = ctx;
	graph_word(&r->g, at, target);
}

static void root(struct reach *r, size_t t, const char *text)
{
	struct look *l = r->l;
	r->g.reached[r->g.owner[t]] = true;
	for (size_t i = 0; i < l->n; i++)
		if (graph_group(&r->g, (uint32_t)i) == r->g.owner[t]) {
			look_open(l, l->who[i]->s.id, "%s leads to it", text);
			if (l->who[i]->a[LOOK_P6A].holds != 0)
				look_say(&l->who[i]->a[LOOK_P6A], 0, "%s leads to coroutine %llu", text,
					 (unsigned long long)l->who[i]->s.id);
		}
}

static void __attribute__((format(printf, 3, 4))) root_word(struct reach *r, uint64_t word, const char *format, ...)
{
	size_t t = scan_find(r->g.targets, r->g.ntargets, word & SCAN_ADDRESS_MASK);
	if (t == r->g.ntargets)
		return;
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	root(r, t, text);
}

// Bytes that lie elsewhere than in memory.
struct apart {
	struct reach *r;
	const char *where;
};

static void on_apart(void *ctx, uint64_t at, size_t target)
{
	const struct apart *a = ctx;
	(void)at;
	root(a->r, target, a->where);
}

static void root_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct reach *r = ctx;
	struct apart a = {r, where};
	struct scan s = {.targets = r->g.targets, .ntargets = r->g.ntargets, .hit = on_apart, .ctx = &a};
	scan_bytes(&s, bytes, n, 0);
}

// ---------------------------------------------------------------------- roots

static const char *const REG_NAMES[CTP_REGS] = {"pc", "sp", "fp", "s0", "s1", "s2", "s3", "s4"};

static void registers(struct reach *r, const struct proc_task *t)
{
	if (t->sp)
		root_word(r, t->sp, "the stack pointer of thread %d", t->tid);
	if (t->slot >= 0 && t->hooked)
		for (int i = 0; i < CTP_REGS; i++)
			root_word(r, r->l->threads[t->slot].wait_regs[i], "saved register %s of thread %d", REG_NAMES[i], t->tid);
	for (size_t i = 0; t->got_regs && i < sizeof(t->regs) / sizeof(*t->regs); i++)
		root_word(r, t->regs[i], "a register of thread %d", t->tid);
	char where[48];
	snprintf(where, sizeof(where), "a vector register of thread %d", t->tid);
	if (t->got_regs)
		root_bytes(r, where, t->vectors, t->vector_bytes);
}

// What the kernel holds for the program: data of registrations, and of timers.
static void kernel_hands(struct reach *r)
{
	const struct look *l = r->l;
	for (size_t i = 0; i < l->rows.n; i++)
		root_word(r, l->rows.v[i].data, "the registration of fd %d in epoll fd %d", l->rows.v[i].tfd, l->rows.v[i].epfd);
	char *text;
	if (proc_slurp(l->pid, "timers", &text, NULL))
		return;
	for (char *at = text; (at = strstr(at, "signal: ")); at++) {
		char *slash = strchr(at, '/');
		if (slash)
			root_word(r, strtoull(slash + 1, NULL, 16), "the value of a POSIX timer");
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

// --------------------------------------------------------------------- blocks

// Makes objects of the heap blocks that hold words which lead to somebody. True
// if there are new ones: then memory must be searched for what leads to those.
static bool more_blocks(struct reach *r)
{
	struct graph *g = &r->g;
	struct heap_query *q = calloc(2 * g->nedges + 1, sizeof(*q));
	size_t n = 0, had = r->blocks.n;
	for (size_t i = 0; q && i < g->nedges; i++)
		if (g->edges[i].from == GRAPH_OUTSIDE) {
			q[n++].addr = g->edges[i].at;
			q[n++].addr = g->edges[i].at - 8;
		}
	if (n)
		heap_resolve(r->l->pid, &r->l->maps, q, n, r->l->deadline_ns);
	uint64_t last = 0; // the answers are in order
	for (size_t i = 0; i < n && r->blocks.n < BLOCKS_MOST; i++) {
		if (!q[i].found || q[i].block.lo == last || scan_find(g->targets, g->ntargets, q[i].block.lo) < g->ntargets)
			continue;
		last = q[i].block.lo;
		span_add(&r->blocks, last, q[i].block.hi);
	}
	free(q);
	return r->blocks.n > had;
}

// -------------------------------------------------------------------- answers

static void answer(struct reach *r, size_t i)
{
	struct suspect *s = r->l->who[i];
	struct look_answer *a = &s->a[LOOK_P6A];
	struct graph *g = &r->g;
	uint32_t k = graph_group(g, (uint32_t)i), named = 0, more = 0;
	char text[LOOK_TEXT - 48];
	for (size_t n = 0; n < g->nedges; n++) {
		const struct graph_edge *e = &g->edges[n];
		if (e->to != k || (e->from != GRAPH_OUTSIDE && !g->reached[e->from]))
			continue;
		if (named++ >= WORDS_NAMED) {
			more++;
			continue;
		}
		name_root(r->l, e->at, text, sizeof(text));
		look_open(r->l, s->s.id, "%s leads to it", text);
		if (a->holds != 0)
			look_say(a, 0, "%.150s leads to coroutine %llu", text, (unsigned long long)s->s.id);
	}
	if (more)
		look_open(r->l, s->s.id, "%u more words lead to it", more);
	if (a->holds == 0)
		return;
	look_say(a, 1, "nothing leads to coroutine %llu (%.1f MB searched)", (unsigned long long)s->s.id,
		 (double)r->l->scanned_bytes / 1e6);
}

// All of memory, until no more blocks are found that lead to somebody.
static int scan_all(struct reach *r, struct scan *s)
{
	for (int round = 0;; round++) {
		if (!init(r)) {
			snprintf(s->why, sizeof(s->why), "out of memory");
			return -ENOMEM;
		}
		s->targets = r->g.targets;
		s->ntargets = r->g.ntargets;
		int e = scan_run(s, &r->l->maps);
		if (e || r->g.failed || round == ROUNDS || !more_blocks(r))
			return e;
		graph_deinit(&r->g);
	}
}

static void search(struct reach *r, const struct proc_tasks *base)
{
	struct look *l = r->l;
	struct span_list dead = {0};
	dead_find(l, &dead);
	struct scan s = {.pid = l->pid, .skip = dead.v, .nskip = scan_tidy(dead.v, dead.n), .deadline_ns = l->deadline_ns,
			 .hit = on_hit, .ctx = r, .guard = l->r->ext->pointer_guard,
			 .rotate = l->r->ext->pointer_rotate & 63};
	int e = scan_all(r, &s);
	l->scanned_bytes = s.bytes;
	for (size_t i = 0; !e && i < l->tasks.n; i++)
		registers(r, &l->tasks.v[i]);
	struct queues q = {.l = l, .bytes = root_bytes, .ctx = r};
	if (!e)
		kernel_hands(r);
	bool queues = !e && queues_read(&q);
	bool still = hold_rested(l, base);
	free(dead.v);
	if (e)
		hold_say(l, *s.why ? s.why : "memory could not be searched");
	else if (!still)
		hold_say(l, "a thread ran while memory was being searched");
	else if (r->g.failed || r->blocks.failed || !l->rows.complete)
		hold_say(l, "memory was searched, but not all that the kernel holds");
	else if (hold_signals(base))
		hold_say(l, "a signal is pending: its value may lead to it");
	else if (!queues)
		hold_say(l, q.why);
	else if (hold_sharer(l->pid))
		hold_say(l, "another process shares its memory, and its registers are not known");
	else {
		graph_spread(&r->g);
		for (size_t i = 0; i < l->n; i++)
			if (l->who[i]->nmine)
				answer(r, i);
	}
}

void reach_judge(struct look *l)
{
	struct reach r = {.l = l};
	struct proc_tasks base = {0};
	bool any = false;
	for (size_t i = 0; i < l->n; i++)
		any |= l->who[i]->nmine > 0;
	if (!any)
		return; // each has its reason already
	hold_say(l, "memory was not searched");
	if (hold_take(l, &base)) {
		if (!hold_refresh(l, &base))
			hold_say(l, "memory could not be searched");
		else
			search(&r, &base);
	}
	hold_release(l);
	proc_tasks_deinit(&base);
	graph_deinit(&r.g);
	free(r.blocks.v);
}
