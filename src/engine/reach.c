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
#include <sys/syscall.h>
#include <time.h>

#include "ctp/seq.h"
#include "engine/dead.h"
#include "engine/heap.h"
#include "engine/look.h"
#include "engine/names.h"
#include "engine/regs.h"
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
	g->reached[g->owner[t]] = true;
	for (size_t i = 0; i < g->l->n; i++)
		if (group_of(g, (uint32_t)i) == g->owner[t]) {
			look_open(g->l, g->l->who[i]->s.id, "%s leads to it", text);
			if (g->l->who[i]->a[LOOK_P6A].holds != 0)
				look_say(&g->l->who[i]->a[LOOK_P6A], 0, "%s leads to coroutine %llu", text,
					 (unsigned long long)g->l->who[i]->s.id);
		}
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
		look_say(a, 1, "memory: nothing leads to coroutine %llu (%.1f MB searched)", (unsigned long long)s->s.id,
			 (double)g->l->scanned_bytes / 1e6);
	if (g->reached[k])
		look_open(g->l, s->s.id, "another waiter that can be reached leads to it");
}

// -------------------------------------------------------------------- threads

// May it be interrupted without the program seeing it?
static bool stoppable(const struct proc_task *t)
{
	return t->state == 'S' && (t->nr == SYS_futex || t->nr == SYS_nanosleep || t->nr == SYS_clock_nanosleep ||
				   t->nr == SYS_wait4 || t->nr == SYS_waitid);
}

static void say_mine(struct look *l, const char *text)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->who[i]->nmine)
			look_say(&l->who[i]->a[LOOK_P6A], -1, "%s", text);
}

// Being stopped and let go costs a thread two context switches: one into the stop, one back to sleep.
enum { STOP_SWITCHES = 2 };

// Is `b` where `a` was, without having run the program's code in between?
static bool same_sleep(const struct look *l, const struct proc_task *a, const struct proc_task *b)
{
	if (a->tid != b->tid)
		return false;
	if (proc_task_dead(a) || !a->got_regs)
		return b->state == a->state && b->switches == a->switches && b->run_ns == a->run_ns &&
		       (proc_task_dead(a) || a->hooked);
	if (l->may_stop)
		return b->state == 't';
	return b->state == 'S' && a->sp == b->sp && a->pc == b->pc && b->switches == a->switches + STOP_SWITCHES &&
	       (a->nr == b->nr || b->nr == SYS_restart_syscall);
}

// Registers of the threads that sleep elsewhere than in our hooks; afterwards
// all must sleep as before (or be held, if they may be).
static bool take_registers(struct look *l, struct proc_tasks *base)
{
	char why[LOOK_TEXT];
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct proc_task *t = &l->tasks.v[i];
		bool left = t->hooked && (!l->may_stop || l->rested); // at its end a loop that ticks is held too
		if (left || proc_task_dead(t))
			continue;
		snprintf(why, sizeof(why), "thread %d %s: its registers cannot be read", t->tid,
			 t->state == 'S' ? "sleeps where it must not be stopped" : "runs");
		bool ours = l->may_stop || stoppable(t);
		if (!ours || !regs_take(t, l->may_stop, l->may_stop ? l->deadline_ns : proc_now_ns() + 20000000)) {
			say_mine(l, why);
			return false;
		}
	}
	for (int tries = 0; tries < 20; tries++) {
		bool same = !proc_tasks_read(l->pid, true, base) && base->n == l->tasks.n;
		for (size_t i = 0; same && i < base->n; i++)
			same = same_sleep(l, &l->tasks.v[i], &base->v[i]);
		if (same)
			return true;
		proc_tasks_deinit(base);
		nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
	}
	say_mine(l, "a thread ran while memory was about to be searched");
	return false;
}

// Threads that had to be stopped may have run since the look began.
static bool refresh(struct look *l, const struct proc_tasks *base)
{
	for (size_t i = 0; i < l->tasks.n; i++) {
		struct proc_task *t = &l->tasks.v[i];
		const struct proc_task *b = &base->v[i];
		if (!t->got_regs)
			continue;
		t->state = b->state;
		t->nr = b->nr;
		t->sp = b->sp;
		t->pc = b->pc;
		memcpy(t->args, b->args, sizeof(t->args));
	}
	return !l->may_stop || !look_again(l);
}

// Did nobody run since `base`? Threads that we hold cannot have.
static bool rested(const struct look *l, const struct proc_tasks *base)
{
	struct proc_tasks now = {0};
	bool same = !proc_tasks_read(l->pid, true, &now) && now.n == base->n;
	for (size_t i = 0; same && i < now.n; i++) {
		const struct proc_task *a = &base->v[i], *b = &now.v[i];
		same = a->tid == b->tid && a->switches == b->switches && a->run_ns == b->run_ns && a->state == b->state &&
		       (a->state == 'S' || a->state == 't' || proc_task_dead(a)) && b->nr != PROC_ON_CPU;
	}
	proc_tasks_deinit(&now);
	return same;
}

static bool signals_pending(const struct look *l)
{
	char *text;
	if (proc_slurp(l->pid, "status", &text, NULL))
		return true;
	bool any = proc_field(text, "\nSigPnd:", 16) || proc_field(text, "\nShdPnd:", 16);
	free(text);
	return any;
}

static void search(struct look *l, struct graph *g, const struct proc_tasks *base)
{
	struct span_list dead = {0};
	dead_find(l, &dead);
	struct scan s = {.pid = l->pid, .targets = g->targets, .ntargets = g->ntargets, .skip = dead.v,
			 .nskip = scan_tidy(dead.v, dead.n), .deadline_ns = l->deadline_ns, .hit = on_hit, .ctx = g};
	int e = scan_run(&s, &l->maps);
	l->scanned_bytes = s.bytes;
	for (size_t i = 0; !e && i < l->tasks.n; i++)
		registers(g, &l->tasks.v[i]);
	if (!e)
		kernel_hands(g);
	bool still = rested(l, base);
	free(dead.v);
	if (e)
		say_mine(l, *s.why ? s.why : "memory could not be searched");
	else if (!still)
		say_mine(l, "a thread ran while memory was being searched");
	else if (g->failed || !l->rows.complete)
		say_mine(l, "memory was searched, but not all that the kernel holds");
	else if (signals_pending(l))
		say_mine(l, "a signal is pending: its value may lead to it");
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
	say_mine(l, "memory was not searched");
	if (take_registers(l, &base)) {
		if (!refresh(l, &base) || !graph_init(&g, l))
			say_mine(l, "memory could not be searched");
		else
			search(l, &g, &base);
	}
	for (size_t i = 0; l->may_stop && i < l->tasks.n; i++)
		if (l->tasks.v[i].got_regs)
			regs_release(&l->tasks.v[i]);
	proc_tasks_deinit(&base);
	graph_deinit(&g);
}
