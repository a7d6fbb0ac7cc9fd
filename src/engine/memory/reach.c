// SPDX-License-Identifier: MIT
//
// P6a: does a word in registers, live stacks, writable memory or kernel-held references
// point into the coroutine's memory? All that belongs to a suspect is one object
// (objects.c). A word in a heap block counts only if that block is referenced itself:
// src/search makes objects of such blocks and searches again until it finds no more. All
// other words are roots. A suspect is unreachable only if no root references it. One that is
// about to be proven so is looked for once more, in disguise (second_pass.c).
#include "engine/memory/reach.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/rules.h"
#include "ctp/seq.h"
#include "engine/inspect/boundary.h"
#include "engine/stored/apart_text.h"
#include "engine/memory/cancelled.h"
#include "engine/memory/hidden_holder.h"
#include "engine/memory/scan_exclude.h"
#include "search/heap/malloc_free.h"
#include "engine/inspect/hold.h"
#include "engine/stored/keys.h"
#include "engine/stored/made_files.h"
#include "engine/memory/objects.h"
#include "engine/memory/opaque.h"
#include "engine/memory/pieces.h"
#include "engine/stored/queues.h"
#include "engine/memory/second_pass.h"
#include "engine/memory/word_names.h"
#include "search/disguise/handle_forms.h"
#include "search/opaque/opaque_words.h"
#include "search/mark/scan.h"
#include "search/search.h"

enum { WORDS_NAMED = 6 };
#define LATE "memory was not searched in time"
#define OPAQUE "words that look like keys or encrypted data may lead to it"
#define FORKED "a process that it forked lives, and may send back a pointer that it was given"

struct reach {
	struct inspection *l;
	struct search s; // nodes: suspects
	struct search_piece *pieces;
	struct span_list dead; // what is not searched
	struct disguised disguised;
	struct word_names names;
	char **reported;               // by group: the first word that references it
	bool rested;                   // nobody had run when only words in disguise were left to look for
	bool *second;                  // by suspect: nothing but words in disguise led to it
	struct hidden_holder *holders; // by suspect
	struct opaque opaque;          // of all to whom nothing leads
	uint64_t opaque_apart;         // words that look so, elsewhere than in memory
};

static void root_group(struct reach *r, uint32_t group, const char *text)
{
	struct inspection *l = r->l;
	r->s.g.reached[group] = true;
	for (size_t i = 0; i < l->n; i++)
		if (graph_group(&r->s.g, (uint32_t)i) == group) {
			inspect_open(l, l->who[i]->s.id, "%s leads to it", text);
			if (l->who[i]->a[PROOF_P6A].holds != HOLDS_FALSE)
				inspect_say(&l->who[i]->a[PROOF_P6A], HOLDS_FALSE,
					    "%s leads to coroutine %llu", text,
					    (unsigned long long)l->who[i]->s.id);
		}
}

static void root(struct reach *r, uint64_t address, const char *text)
{
	uint32_t owners[GRAPH_OWNERS];
	unsigned n = graph_owners(&r->s.g, address, owners);
	for (unsigned i = 0; i < n; i++)
		root_group(r, owners[i], text);
}

// Of one word that is apart from all others: in disguise, all bits of it.
static uint64_t undisguised(struct reach *r, uint64_t word, enum disguise *form)
{
	for (unsigned f = DISGUISE_NONE + 1; f < DISGUISE_WORDS; f++) {
		bool tagged;
		uint32_t owners[GRAPH_OWNERS];
		uint64_t address = disguise_address(f, word, &tagged);
		if (!address || tagged || address <= UINT32_MAX || !graph_owners(&r->s.g, address, owners))
			continue;
		*form = f;
		return address;
	}
	return 0;
}

static void __attribute__((format(printf, 3, 4)))
root_word(struct reach *r, uint64_t word, const char *format, ...)
{
	uint32_t owners[GRAPH_OWNERS];
	// As it is; with a tag below it; a half of it.
	const uint64_t values[] = {word & SPAN_ADDRESS_MASK, word >> 8 & SPAN_ADDRESS_MASK,
				   word >> 16 & SPAN_ADDRESS_MASK, word & UINT32_MAX, word >> 32};
	uint64_t address = 0;
	enum disguise form = DISGUISE_NONE;
	for (size_t i = 0; !address && i < sizeof(values) / sizeof(*values); i++)
		if (graph_owners(&r->s.g, values[i], owners))
			address = values[i];
	if (!address)
		address = undisguised(r, word, &form);
	if (!address)
		return;
	char text[160];
	va_list ap;
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	size_t n = strlen(text);
	if (form != DISGUISE_NONE)
		snprintf(text + n, sizeof(text) - n, ", %s,", disguise_text(form));
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

static void on_number(void *ctx, uint64_t number)
{
	const struct apart *a = ctx;
	root(a->r, number, a->where);
}

static void root_pointers(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct reach *r = ctx;
	struct apart a = {r, where};
	struct scan s = {.targets = r->s.g.targets, .ntargets = r->s.g.ntargets, .hit = on_apart, .ctx = &a};
	scan_bytes(&s, bytes, n, 0);
}

static void root_text(void *ctx, const char *where, const char *text)
{
	struct apart a = {ctx, where};
	apart_text((const unsigned char *)text, strlen(text), on_number, &a);
}

// In the order of a network, at any byte.
static void root_swapped(struct reach *r, const char *where, const unsigned char *bytes, size_t n)
{
	unsigned char *swapped = malloc(n + 1);
	for (size_t i = 0; swapped && i < n; i++)
		swapped[i] = bytes[n - 1 - i];
	if (swapped)
		root_pointers(r, where, swapped, n);
	r->s.g.failed |= !swapped;
	free(swapped);
}

// A number alone, of which the program may have cut off zeros.
static void root_shifted(struct reach *r, const char *where, const unsigned char *bytes)
{
	enum { ZEROS = 12 };
	uint64_t word;
	memcpy(&word, bytes, sizeof(word));
	for (unsigned k = 1; k <= ZEROS; k++)
		if (word << k >> 32 && word << k <= SPAN_ADDRESS_MASK)
			root(r, word << k, where);
}

static void root_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	struct reach *r = ctx;
	struct apart a = {r, where};
	root_pointers(r, where, bytes, n);
	root_swapped(r, where, bytes, n);
	if (n == sizeof(uint64_t))
		root_shifted(r, where, bytes);
	apart_text(bytes, n, on_number, &a);
	r->opaque_apart += opaque_bytes(bytes, n);
}

// ---------------------------------------------------------------------- roots

static const char *const REG_NAMES[CTP_REGS] = {"pc", "sp", "fp", "s0", "s1", "s2", "s3", "s4"};

static void registers(struct reach *r, const struct proc_task *t)
{
	if (t->sp)
		root_word(r, t->sp, "the stack pointer of thread %d", t->tid);
	if (t->slot >= 0 && (t->hooked || inspect_in_hook(&r->l->threads[t->slot], t)))
		for (int i = 0; i < CTP_REGS; i++)
			if (!(t->inherited >> i & 1))
				root_word(r, r->l->threads[t->slot].wait_regs[i],
					  "saved register %s of thread %d", REG_NAMES[i], t->tid);
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
static bool kernel_held(struct reach *r)
{
	const struct inspection *l = r->l;
	for (size_t i = 0; i < l->registrations.n; i++)
		if (l->registrations.v[i].events &
		    CTP_REG_EVENTS) // a one-shot that fired brings its data to nobody
			root_word(r, l->registrations.v[i].data, "the registration of fd %d in epoll fd %d",
				  l->registrations.v[i].tfd, l->registrations.v[i].epfd);
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		if (t->slot < 0)
			continue;
		root_word(r, l->threads[t->slot].alt_stack, "the alternate signal stack of thread %d",
			  t->tid);
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

// Code that was made at run time, in a block of the heap: the kernel's table of signal handlers may lead to
// it, and does not show whether it does.
static void executable_blocks(struct reach *r)
{
	const struct span_list *blocks = &r->s.blocks;
	for (size_t i = 0; i < blocks->n; i++) {
		const struct maps_line *m = proc_maps_find(&r->l->maps, blocks->v[i].lo);
		for (; m && m < r->l->maps.v + r->l->maps.n && m->lo < blocks->v[i].hi; m++)
			if (m->perms[2] == 'x')
				r->s.g.reached[graph_group(&r->s.g, (uint32_t)(r->s.nodes + i))] = true;
	}
}

// -------------------------------------------------------------------- answers

// Names the words that lead to a group; the first is kept for all that lie in it.
static void name_words(struct reach *r, uint32_t k, uint64_t id)
{
	struct graph *g = &r->s.g;
	char text[INSPECT_TEXT - 48];
	uint32_t named = 0, more = 0;
	const struct graph_edge *e;
	for (size_t n = 0; (e = graph_edge_to(g, k, n)); n++) {
		if (e->from != GRAPH_OUTSIDE && !g->reached[e->from])
			continue;
		if (named++ >= WORDS_NAMED) {
			more++;
			continue;
		}
		word_names_word(&r->names, e->at, text, sizeof(text));
		inspect_open(r->l, id, "%s leads to it", text);
		if (!r->reported[k])
			r->reported[k] = strdup(text);
	}
	if (more)
		inspect_open(r->l, id, "%u more words lead to it", more);
}

static bool in_block(const struct search *s, uint64_t address)
{
	for (size_t i = 0; i < s->blocks.n; i++)
		if (address >= s->blocks.v[i].lo && address < s->blocks.v[i].hi)
			return true;
	return false;
}

// What leads to it may do so by blocks of the heap: which words in disguise lead to such.
static void name_disguised(struct reach *r, uint64_t id)
{
	enum { TRIES = 64 };
	char text[INSPECT_TEXT - 80];
	unsigned named = 0;
	for (size_t i = 0; i < r->disguised.nhits && i < TRIES && named < WORDS_NAMED; i++) {
		const struct disguised_hit *h = &r->disguised.hits[i];
		if (inspect_late(r->l) || !in_block(&r->s, h->address))
			continue;
		word_names_word(&r->names, h->at, text, sizeof(text));
		inspect_open(r->l, id, "%s leads to a block of the heap, and may lead on to it", text);
		named++;
	}
}

static void say_holder(struct reach *r, const struct hidden_holder *h, struct suspect *s)
{
	unsigned long long id = s->s.id;
	char text[INSPECT_TEXT - 96];
	word_names_word(&r->names, h->word, text, sizeof(text));
	inspect_open(r->l, id,
		     "%s leads to it, by a block of the heap at 0x%llx to which nothing is found to lead",
		     text, (unsigned long long)h->block);
	inspect_say(
		&s->a[PROOF_P6A], HOLDS_FALSE,
		"a block of the heap at 0x%llx leads to coroutine %llu; what leads to the block is not found",
		(unsigned long long)h->block, id);
}

static bool rests_on_search(const struct suspect *s)
{
	return s->rule && s->rule != RULE_PARKED;
}

static void say_opaque(struct reach *r, struct suspect *s)
{
	char text[INSPECT_TEXT - 128] = "what the kernel holds";
	if (r->opaque.first)
		word_names_word(&r->names, r->opaque.first, text, sizeof(text));
	inspect_open(r->l, s->s.id, "%s looks like a key or encrypted data, and may lead to it", text);
	inspect_say(
		&s->a[PROOF_P6A], HOLDS_OPEN,
		"%llu word%s look%s like keys or encrypted data: what leads to coroutine %llu may be kept so",
		(unsigned long long)r->opaque.words, r->opaque.words == 1 ? "" : "s",
		r->opaque.words == 1 ? "s" : "", (unsigned long long)s->s.id);
}

static void answer(struct reach *r, size_t i)
{
	struct suspect *s = r->l->who[i];
	struct inspect_answer *a = &s->a[PROOF_P6A];
	unsigned long long id = s->s.id;
	uint32_t k = graph_group(&r->s.g, (uint32_t)i);
	if (r->reported[k])
		inspect_open(r->l, id, "%s leads to it", r->reported[k]);
	else if (!inspect_late(r->l)) // names only
		name_words(r, k, id);
	if (a->holds == HOLDS_FALSE)
		return;
	if (s->pooled)
		inspect_say(a, HOLDS_FALSE,
			    "all that leads to coroutine %llu looks like a free list of the program's own",
			    id);
	else if (r->reported[k])
		inspect_say(a, HOLDS_FALSE, "%.150s leads to coroutine %llu", r->reported[k], id);
	else if (r->s.g.reached[k])
		inspect_say(a, HOLDS_FALSE, "something leads to coroutine %llu", id);
	else if (r->holders[i].block)
		say_holder(r, &r->holders[i], s);
	else if (r->opaque.words && rests_on_search(s))
		say_opaque(r, s);
	else
		inspect_say(a, HOLDS_TRUE, "no pointer to coroutine %llu found (%.1f MB searched)", id,
			    (double)r->l->scanned_bytes / 1e6);
}

// Of what is no coroutine of the region, others answer; words are named where they ask for it.
static void others_answer(struct reach *r)
{
	r->l->others->answer(r->l, &r->s.g);
	for (size_t i = 0; i < r->l->n && !inspect_late(r->l); i++)
		if (r->l->who[i]->firm)
			name_words(r, graph_group(&r->s.g, (uint32_t)i), r->l->who[i]->s.id);
}

static void answers(struct reach *r)
{
	if (r->l->others) {
		others_answer(r);
		return;
	}
	r->holders = hidden_holders(r->l, &r->s);
	if (!r->holders) {
		hold_say(r->l, "memory was searched, but ctp-run had too little of its own to judge it");
		return;
	}
	for (size_t i = 0; i < r->l->n; i++)
		if (suspect_objects(r->l->who[i])) {
			answer(r, i);
			if (r->second[i] && r->s.g.reached[graph_group(&r->s.g, (uint32_t)i)])
				name_disguised(r, r->l->who[i]->s.id);
		}
}

// For those who are about to be proven. As settle.
static const char *look_further(struct reach *r)
{
	struct queues q = {.l = r->l, .bytes = root_pointers, .ctx = r};
	if (!second_pass_run(r->l, &r->s, &r->disguised))
		return r->disguised.why;
	const char *why = r->s.bytes < HANDLE_FORMS_LARGE ? made_files(&q, r->s.skip, r->s.nskip, root_text) :
							    NULL;
	if (why)
		return why;
	if (!graph_spread(&r->s.g))
		return "memory was searched, but ctp-run had too little of its own to judge it";
	r->opaque = opaque_find(r->l, &r->s, r->opaque_apart);
	return r->opaque.why;
}

// What leads where, and who stands in a pool; `all`: all roots are known. NULL; or why it cannot be told.
static const char *settle(struct reach *r, bool all, const struct proc_tasks *base)
{
	r->reported = calloc(r->s.g.n + 1, sizeof(*r->reported));
	r->second = calloc(r->l->n + 1, sizeof(*r->second));
	if (r->l->others)
		r->l->others->prepare(r->l, &r->s.g);
	if (!r->reported || !r->second || !graph_spread(&r->s.g))
		return "memory was searched, but ctp-run had too little of its own to judge it";
	if (!cancelled_find(r->l, &r->s.g))
		return LATE;
	r->l->pools = true;
	for (size_t i = 0; i < r->l->n; i++)
		r->second[i] = !r->s.g.reached[graph_group(&r->s.g, (uint32_t)i)];
	bool wanted = all && second_pass_wanted(r->l, &r->s);
	r->rested = hold_rested(r->l, base);
	return wanted ? look_further(r) : NULL;
}

// Searches the memory. As search_run.
static int search_memory(struct reach *r)
{
	struct inspection *l = r->l;
	struct memory sooner = l->memory;
	uint64_t now_ns = proc_now_ns();
	size_t n;
	r->pieces = pieces_take(l, &n);
	if (!r->pieces)
		return -ENOMEM;
	scan_exclude_find(l, &r->dead);
	r->s = (struct search){.memory = &l->memory,
			       .pieces = r->pieces,
			       .npieces = n,
			       .nodes = l->n,
			       .skip = r->dead.v,
			       .nskip = spans_tidy(r->dead.v, r->dead.n),
			       .guard = l->r->ext->pointer_guard,
			       .rotate = l->r->ext->pointer_rotate & 63};
	pieces_find_ends(&r->s.ends, l, r->pieces, n);
	sooner.deadline_ns = now_ns + (l->deadline_ns > now_ns ? l->deadline_ns - now_ns : 0) / 4;
	if (now_ns < l->deadline_ns)
		malloc_free_find(&sooner, &r->s.freed);
	int e = search_run(&r->s);
	l->scanned_bytes = r->s.bytes;
	return e;
}

static void search(struct reach *r, const struct proc_tasks *base)
{
	struct inspection *l = r->l;
	int e = search_memory(r);
	for (size_t i = 0; !e && i < l->tasks.n; i++)
		registers(r, &l->tasks.v[i]);
	struct queues q = {.l = l, .bytes = root_bytes, .text = root_text, .ctx = r};
	bool held = !e && kernel_held(r), queues = held && queues_read(&q) && keys_read(&q, l->keys);
	if (!e && !r->s.partial)
		executable_blocks(r);
	bool all = queues && !r->s.partial && l->registrations.complete && !*l->hidden;
	const char *unsettled = !e && !r->s.partial ? settle(r, all, base) : NULL;
	bool still = hold_rested(l, base), signals = hold_signals(base);
	l->pools &= still;
	l->disturbed |= !still || signals;
	bool half = l->others && r->rested && (!still || unsettled); // plain words were all looked at
	if (!still && !half)
		hold_say(l, "a thread ran while memory was being searched");
	else if (e)
		hold_say(l, *r->s.why ? r->s.why : "memory could not be searched");
	else if (r->s.partial || !l->registrations.complete)
		hold_say(l, "memory was searched, but not all that the kernel holds");
	else if (*l->hidden) {
		inspect_open(l, 0, "%.200s", l->hidden);
		hold_say(l, l->hidden);
	} else if (signals)
		hold_say(l, "a signal is pending: its value may lead to it");
	else if (!held)
		hold_say(l, "its POSIX timers cannot be seen: their values may lead to it");
	else if (!queues)
		hold_say(l, q.why);
	else if (hold_sharer(l->pid))
		hold_say(l, "another process shares its memory, and its registers are not known");
	else if (!l->others && inspect_has_kin(l->r) && hold_fork(l->pid))
		hold_say(l, FORKED);
	else if (signals_late(l->deadline_ns))
		hold_say(l, LATE);
	else if (unsettled && !half)
		hold_say(l, unsettled);
	else {
		bool forked = l->others && inspect_has_kin(l->r) && hold_fork(l->pid);
		bool opaque = l->others && r->opaque.words;
		l->way = half ? REACH_HALF : forked ? FORKED : opaque ? OPAQUE : NULL;
		answers(r);
	}
}

static void forget(struct reach *r)
{
	for (size_t k = 0; r->reported && k < r->s.g.n; k++)
		free(r->reported[k]);
	free(r->reported);
	free(r->second);
	free(r->holders);
	disguised_deinit(&r->disguised);
	search_deinit(&r->s);
	word_names_deinit(&r->names);
	free(r->dead.v);
	free(r->pieces);
}

bool reach_half(const struct inspection *l)
{
	return l->way && !strcmp(l->way, REACH_HALF);
}

void reach_judge(struct inspection *l)
{
	struct reach r = {.l = l};
	r.names = (struct word_names){.l = l, .disguised = &r.disguised};
	struct proc_tasks base = {0};
	bool any = l->others != NULL;
	for (size_t i = 0; i < l->n; i++)
		any |= suspect_objects(l->who[i]) > 0;
	if (!any)
		return;                   // each has its reason already
	if (l->registrations.userfault) { // who reads a page waits for a thread that is held here: for ever
		hold_say(l,
			 "memory was not searched: the program serves page faults of its own (userfaultfd)");
		return;
	}
	hold_say(l, "memory was not searched");
	if (hold_take(l, &base)) {
		l->moves = l->final ? 0 : ctp_region_moves(l->r);
		bool fresh = hold_refresh(l, &base);
		if (fresh && l->others)
			fresh = l->others->find(l);
		else if (fresh && l->may_stop)
			objects_find(l); // the mappings were read anew
		if (fresh)
			search(&r, &base);
		else
			hold_say(l, "memory could not be searched");
	}
	hold_release(l);
	l->moves = 0;
	proc_tasks_deinit(&base);
	forget(&r);
}
