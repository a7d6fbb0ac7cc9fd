// SPDX-License-Identifier: MIT
//
// P6a: does any word in registers, live stacks, writable memory or the
// kernel's hands lead to the coroutine? What belongs to a suspect is one object
// (objects.c). A word in a block of the heap leads to it only if something leads
// to that block: so the blocks in which such words were found become objects too,
// and memory is searched again, until no more are found. All other words are
// roots. A suspect is called unreachable only if no root leads to it at all.
#include "engine/memory/reach.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/inspect/boundary.h"
#include "engine/memory/scan_exclude.h"
#include "engine/memory/stack_ends.h"
#include "engine/memory/malloc_free.h"
#include "engine/memory/graph.h"
#include "engine/memory/malloc_heap.h"
#include "engine/inspect/hold.h"
#include "engine/target/names.h"
#include "engine/memory/keys.h"
#include "engine/memory/objects.h"
#include "engine/memory/queues.h"
#include "engine/memory/scan.h"

enum { WORDS_NAMED = 6, ROUNDS = 6, BLOCKS_MOST = 1 << 16, WORDS_MOST = 1 << 18 };

struct reach {
	struct look *l;
	struct graph g;           // nodes: suspects, then blocks
	struct span_list blocks;  // of the heap, which hold words that lead to a suspect
	struct span_list freed;   // memory that the allocator has back: no word in it counts
	struct span_list idle;    // headers of chunks behind such blocks that are not in use
	struct words doubtful;    // that lead to such a header: the allocator's own, perhaps; or to an end
	struct ends ends;         // of suspects' mappings
	struct owners owners;     // of stacks, to name what lies on one
	char **told;              // by group: the first word that leads to it
};

// A block of the heap, from lo to its last word, which lies in the next one's header.
// Addresses just before it (tables that count from one) and just behind it (ends, and
// what is counted down from them) lead to it as well.
static void block_parts(struct reach *r, struct span block, uint32_t node, struct graph_part *p, size_t *n)
{
	uint64_t header = block.lo - 16, next = block.hi - 8;
	p[(*n)++] = (struct graph_part){block, node, false};
	p[(*n)++] = (struct graph_part){{block.lo - 8, 0}, node, true};
	p[(*n)++] = (struct graph_part){{block.hi, 0}, node, true};
	if (!malloc_heap_is_idle(r->l->pid, header))
		p[(*n)++] = (struct graph_part){{header, 0}, node, true};
	if (malloc_heap_is_idle(r->l->pid, next))
		span_add(&r->idle, next, next + 1);
}

static bool init(struct reach *r)
{
	const struct look *l = r->l;
	enum { MOST = 5 };
	struct graph_part *p = calloc(MOST * (2 * l->n + r->blocks.n) + 1, sizeof(*p));
	size_t n = 0;
	if (!p)
		return false;
	r->idle.n = 0;
	for (size_t i = 0; i < l->n; i++)
		for (unsigned k = 0; k < suspect_objects(l->who[i]); k++) {
			if (l->who[i]->heap[k])
				block_parts(r, l->who[i]->mine[k], (uint32_t)i, p, &n);
			else {
				p[n++] = (struct graph_part){l->who[i]->mine[k], (uint32_t)i, false};
				p[n++] = (struct graph_part){{l->who[i]->mine[k].hi, 0}, (uint32_t)i, true};
			}
		}
	for (size_t i = 0; i < r->blocks.n; i++)
		block_parts(r, r->blocks.v[i], (uint32_t)(l->n + i), p, &n);
	r->idle.n = scan_tidy(r->idle.v, r->idle.n);
	r->doubtful.n = 0;
	int e = graph_init(&r->g, l->n + r->blocks.n, p, n);
	free(p);
	return !e;
}

// The allocator points to headers of chunks that are not in use: from its lists'
// heads (libc's data, the start of a thread arena) and from other such chunks.
static bool list_head(const struct reach *r, uint64_t at)
{
	enum { ARENA_BYTES = 64 << 20, ARENA_STATE = 4096 };
	const struct maps_line *m = proc_maps_find(&r->l->maps, at);
	if (m && (strstr(m->path, "/libc.so") || strstr(m->path, "/libc-")))
		return true;
	return m && !m->ino && at % ARENA_BYTES < ARENA_STATE && at - at % ARENA_BYTES == m->lo;
}

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	struct reach *r = ctx;
	if (scan_find(r->freed.v, r->freed.n, at) < r->freed.n || stack_ends_explain(&r->ends, at, address))
		return;
	if (stack_ends_may_explain(&r->ends, address))
		words_add(&r->doubtful, at, address);
	else if (scan_find(r->idle.v, r->idle.n, address) == r->idle.n)
		graph_word(&r->g, at, address);
	else if (!list_head(r, at))
		words_add(&r->doubtful, at, address);
}

// Of the words that lead to a chunk not in use, those in other such chunks are the
// allocator's. Of those that lead to an end, some are explained by the block they lie in.
static bool settle_doubtful(struct reach *r)
{
	enum { LINKS = 32 };
	struct words *w = &r->doubtful;
	struct malloc_heap_query *q = calloc(w->n + 1, sizeof(*q));
	if (!q || w->failed) {
		free(q);
		return false;
	}
	words_sort(w);
	for (size_t i = 0; i < w->n; i++)
		q[i].addr = w->v[i].at;
	malloc_heap_resolve(r->l->pid, &r->l->maps, q, w->n, r->l->deadline_ns); // the answers are in order
	bool late = false;
	for (size_t i = 0; !late && i < w->n; i++) {
		uint64_t at = w->v[i].at, address = w->v[i].address;
		bool header = scan_find(r->idle.v, r->idle.n, address) < r->idle.n;
		bool link = header && q[i].found && at - q[i].block.lo < LINKS && malloc_heap_is_idle(r->l->pid, q[i].block.lo - 16);
		if (!link && !(q[i].found && stack_ends_explain_in(&r->ends, r->l->pid, q[i].block, address)))
			graph_word(&r->g, at, address);
		late = i % 1024 == 1023 && look_late(r->l);
	}
	free(q);
	return !late;
}

static void root_group(struct reach *r, uint32_t group, const char *text)
{
	struct look *l = r->l;
	r->g.reached[group] = true;
	for (size_t i = 0; i < l->n; i++)
		if (graph_group(&r->g, (uint32_t)i) == group) {
			look_open(l, l->who[i]->s.id, "%s leads to it", text);
			if (l->who[i]->a[PROOF_P6A].holds != 0)
				look_say(&l->who[i]->a[PROOF_P6A], 0, "%s leads to coroutine %llu", text,
					 (unsigned long long)l->who[i]->s.id);
		}
}

static void root(struct reach *r, uint64_t address, const char *text)
{
	uint32_t owners[GRAPH_OWNERS];
	unsigned n = graph_owners(&r->g, address, owners);
	for (unsigned i = 0; i < n; i++)
		root_group(r, owners[i], text);
}

static void __attribute__((format(printf, 3, 4))) root_word(struct reach *r, uint64_t word, const char *format, ...)
{
	uint32_t owners[GRAPH_OWNERS];
	// As it is; with a tag below it; a half of it.
	const uint64_t values[] = {word & SCAN_ADDRESS_MASK, word >> 8 & SCAN_ADDRESS_MASK, word >> 16 & SCAN_ADDRESS_MASK,
				   word & UINT32_MAX, word >> 32};
	uint64_t address = 0;
	for (size_t i = 0; !address && i < sizeof(values) / sizeof(*values); i++)
		if (graph_owners(&r->g, values[i], owners))
			address = values[i];
	if (!address)
		return;
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	root(r, address, text);
}

// Bytes that lie elsewhere than in memory.
struct apart {
	struct reach *r;
	const char *where;
};

static void on_apart(void *ctx, uint64_t at, uint64_t address)
{
	const struct apart *a = ctx;
	(void)at;
	root(a->r, address, a->where);
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
	if (t->slot >= 0 && (t->hooked || look_in_hook(&r->l->threads[t->slot], t)))
		for (int i = 0; i < CTP_REGS; i++)
			root_word(r, r->l->threads[t->slot].wait_regs[i], "saved register %s of thread %d", REG_NAMES[i], t->tid);
	bool own = t->got_regs && !t->hooked;
	for (size_t i = 0; own && i < sizeof(t->regs) / sizeof(*t->regs); i++)
		root_word(r, t->regs[i], "a register of thread %d", t->tid);
	char where[48];
	snprintf(where, sizeof(where), "a vector register of thread %d", t->tid);
	if (own && !boundary_vectors_dead(r->l, t))
		root_bytes(r, where, t->vectors, t->vector_bytes);
}

// What the kernel holds for the program: data of registrations, of timers, and
// threads' settings. False if it cannot be seen.
static bool kernel_hands(struct reach *r)
{
	const struct look *l = r->l;
	for (size_t i = 0; i < l->rows.n; i++)
		if (l->rows.v[i].events & 0x0fffffff) // a one-shot that fired brings its data to nobody
			root_word(r, l->rows.v[i].data, "the registration of fd %d in epoll fd %d", l->rows.v[i].tfd, l->rows.v[i].epfd);
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (t->slot < 0)
			continue;
		root_word(r, l->threads[t->slot].alt_stack, "the alternate signal stack of thread %d", t->tid);
		root_word(r, l->threads[t->slot].base, "a base register of thread %d", t->tid);
	}
	char *text;
	if (proc_slurp(l->pid, "timers", &text, NULL))
		return false;
	for (char *at = text; (at = strstr(at, "signal: ")); at++) {
		char *slash = strchr(at, '/');
		if (slash)
			root_word(r, strtoull(slash + 1, NULL, 16), "the value of a POSIX timer");
	}
	free(text);
	return true;
}

static void name_root(struct reach *r, uint64_t at, char *text, size_t bytes)
{
	const struct look *l = r->l;
	char symbol[160];
	const struct maps_line *m = proc_maps_find(&l->maps, at);
	if (!r->owners.v)
		owners_init(&r->owners, l);
	uint64_t owner = owners_find(&r->owners, at);
	if (owner) {
		snprintf(text, bytes, "the word at 0x%llx on the stack of coroutine %llu", (unsigned long long)at,
			 (unsigned long long)owner);
		return;
	}
	for (size_t i = 0; m && i < l->tasks.n; i++)
		if (l->tasks.v[i].sp >= m->lo && l->tasks.v[i].sp < m->hi && at >= l->tasks.v[i].sp - 128) {
			snprintf(text, bytes, "the word at 0x%llx on the stack of thread %d (live)", (unsigned long long)at,
				 l->tasks.v[i].tid);
			return;
		}
	if (m && !signals_late(l->deadline_ns) && names_static(l->pid, &l->maps, at, symbol, sizeof(symbol)))
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
	size_t n = 0, had = r->blocks.n;
	if (g->nedges > WORDS_MOST || signals_late(r->l->deadline_ns))
		return false; // then such words count as they are
	struct malloc_heap_query *q = calloc(2 * g->nedges + 1, sizeof(*q));
	for (size_t i = 0; q && i < g->nedges; i++)
		if (g->edges[i].from == GRAPH_OUTSIDE) {
			q[n++].addr = g->edges[i].at;
			q[n++].addr = g->edges[i].at - 8;
		}
	if (n)
		malloc_heap_resolve(r->l->pid, &r->l->maps, q, n, r->l->deadline_ns);
	uint64_t last = 0; // the answers are in order
	for (size_t i = 0; i < n && r->blocks.n < BLOCKS_MOST; i++) {
		if (!q[i].found || q[i].block.lo == last || graph_has(g, q[i].block.lo))
			continue;
		last = q[i].block.lo;
		span_add(&r->blocks, last, q[i].block.hi + 8);
	}
	free(q);
	return r->blocks.n > had;
}

// -------------------------------------------------------------------- answers

// Names the words that lead to a group; the first is kept for all that lie in it.
static void name_words(struct reach *r, uint32_t k, uint64_t id)
{
	struct graph *g = &r->g;
	char text[LOOK_TEXT - 48];
	uint32_t named = 0, more = 0;
	const struct graph_edge *e;
	for (size_t n = 0; (e = graph_edge_to(g, k, n)); n++) {
		if (e->from != GRAPH_OUTSIDE && !g->reached[e->from])
			continue;
		if (named++ >= WORDS_NAMED) {
			more++;
			continue;
		}
		name_root(r, e->at, text, sizeof(text));
		look_open(r->l, id, "%s leads to it", text);
		if (!r->told[k])
			r->told[k] = strdup(text);
	}
	if (more)
		look_open(r->l, id, "%u more words lead to it", more);
}

static void answer(struct reach *r, size_t i)
{
	struct suspect *s = r->l->who[i];
	struct look_answer *a = &s->a[PROOF_P6A];
	unsigned long long id = s->s.id;
	uint32_t k = graph_group(&r->g, (uint32_t)i);
	if (r->told[k])
		look_open(r->l, id, "%s leads to it", r->told[k]);
	else if (!look_late(r->l)) // names only
		name_words(r, k, id);
	if (a->holds == 0)
		return;
	if (r->told[k])
		look_say(a, 0, "%.150s leads to coroutine %llu", r->told[k], id);
	else if (r->g.reached[k])
		look_say(a, 0, "something leads to coroutine %llu", id);
	else
		look_say(a, 1, "nothing leads to coroutine %llu (%.1f MB searched)", id, (double)r->l->scanned_bytes / 1e6);
}

static bool answers(struct reach *r)
{
	r->told = calloc(r->g.n + 1, sizeof(*r->told));
	if (!r->told || !graph_spread(&r->g))
		return false;
	for (size_t i = 0; i < r->l->n; i++)
		if (suspect_objects(r->l->who[i]))
			answer(r, i);
	return true;
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
		if (!e && !settle_doubtful(r))
			r->g.failed = true;
		if (e || r->g.failed || round == ROUNDS || !more_blocks(r))
			return e;
		graph_deinit(&r->g);
	}
}

static void search(struct reach *r, const struct proc_tasks *base)
{
	struct look *l = r->l;
	struct span_list dead = {0};
	scan_exclude_find(l, &dead);
	stack_ends_init(&r->ends, l);
	uint64_t now_ns = proc_now_ns();
	if (now_ns < l->deadline_ns)
		malloc_free_find(l->pid, &l->maps, &r->freed, now_ns + (l->deadline_ns - now_ns) / 4);
	struct scan s = {.pid = l->pid, .skip = dead.v, .nskip = scan_tidy(dead.v, dead.n), .deadline_ns = l->deadline_ns,
			 .hit = on_hit, .ctx = r, .live = !l->final, .guard = l->r->ext->pointer_guard,
			 .rotate = l->r->ext->pointer_rotate & 63};
	int e = scan_all(r, &s);
	l->scanned_bytes = s.bytes;
	for (size_t i = 0; !e && i < l->tasks.n; i++)
		registers(r, &l->tasks.v[i]);
	struct queues q = {.l = l, .bytes = root_bytes, .ctx = r};
	bool hands = !e && kernel_hands(r), queues = hands && queues_read(&q) && keys_read(&q, l->keys);
	bool still = hold_rested(l, base), signals = hold_signals(base);
	l->disturbed |= !still || signals;
	free(dead.v);
	if (e)
		hold_say(l, *s.why ? s.why : "memory could not be searched");
	else if (!still)
		hold_say(l, "a thread ran while memory was being searched");
	else if (r->g.failed || r->blocks.failed || !l->rows.complete)
		hold_say(l, "memory was searched, but not all that the kernel holds");
	else if (*l->unseen) {
		look_open(l, 0, "%.200s", l->unseen);
		hold_say(l, l->unseen);
	} else if (signals)
		hold_say(l, "a signal is pending: its value may lead to it");
	else if (!hands)
		hold_say(l, "its POSIX timers cannot be seen: their values may lead to it");
	else if (!queues)
		hold_say(l, q.why);
	else if (hold_sharer(l->pid))
		hold_say(l, "another process shares its memory, and its registers are not known");
	else if (look_has_kin(l->r) && hold_fork(l->pid))
		hold_say(l, "a process that was forked from it lives: what that one was given may come back");
	else if (signals_late(l->deadline_ns))
		hold_say(l, "memory was not searched in time");
	else if (!answers(r))
		hold_say(l, "memory was searched, but there was none to say what leads where");
}

static void forget(struct reach *r)
{
	for (size_t k = 0; r->told && k < r->g.n; k++)
		free(r->told[k]);
	free(r->told);
	graph_deinit(&r->g);
	stack_ends_deinit(&r->ends);
	owners_deinit(&r->owners);
	free(r->doubtful.v);
	free(r->blocks.v);
	free(r->freed.v);
	free(r->idle.v);
}

void reach_judge(struct look *l)
{
	struct reach r = {.l = l};
	struct proc_tasks base = {0};
	bool any = false;
	for (size_t i = 0; i < l->n; i++)
		any |= suspect_objects(l->who[i]) > 0;
	if (!any)
		return; // each has its reason already
	if (l->rows.userfault) { // who reads a page waits for a thread that is held here: for ever
		hold_say(l, "memory was not searched: the program serves page faults of its own (userfaultfd)");
		return;
	}
	hold_say(l, "memory was not searched");
	if (hold_take(l, &base)) {
		bool fresh = hold_refresh(l, &base);
		if (fresh && l->may_stop)
			objects_find(l); // the mappings were read anew
		if (fresh)
			search(&r, &base);
		else
			hold_say(l, "memory could not be searched");
	}
	hold_release(l);
	proc_tasks_deinit(&base);
	forget(&r);
}
