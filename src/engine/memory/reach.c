// SPDX-License-Identifier: MIT
//
// P6a: does a word in registers, live stacks, writable memory or kernel-held references
// point into the coroutine's memory? All that belongs to a suspect is one object
// (objects.c). A word in a heap block counts only if that block is referenced itself:
// src/search makes objects of such blocks and searches again until it finds no more. All
// other words are roots (those elsewhere than in memory: roots.c). A suspect is unreachable
// only if no root references it. One that is about to be proven so is looked for once more,
// in disguise (second_pass.c).
#include "engine/memory/reach.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inspect/hold.h"
#include "engine/memory/cancelled.h"
#include "engine/memory/objects.h"
#include "engine/memory/pieces.h"
#include "engine/memory/reach_answers.h"
#include "engine/memory/roots.h"
#include "engine/memory/scan_exclude.h"
#include "engine/memory/second_pass.h"
#include "engine/stored/keys.h"
#include "engine/stored/made_files.h"
#include "engine/stored/queues.h"
#include "search/disguise/handle_forms.h"
#include "search/heap/malloc_free.h"
#include "search/search.h"

#define LATE "memory was not searched in time"
#define OPAQUE "words that look like keys or encrypted data may lead to it"
#define MADE_CODE "code that was made at run time may lead to it"
#define FORKED "a process that it forked lives, and may send back a pointer that it was given"

struct reach {
	struct inspection *l;
	struct search s; // nodes: suspects
	struct search_piece *pieces;
	struct span_list dead; // what is not searched
	struct disguised disguised;
	struct roots roots;
	struct reach_answers answers;
	bool rested; // nobody had run when only words in disguise were left to look for
};

// For those who are about to be proven. As settle.
static const char *look_further(struct reach *r)
{
	struct queues q = {.l = r->l, .bytes = roots_pointers, .number = roots_number, .ctx = &r->roots};
	if (!second_pass_run(r->l, &r->s, &r->disguised))
		return r->disguised.why;
	const char *why = r->s.bytes < HANDLE_FORMS_LARGE ?
				  made_files(&q, r->s.skip, r->s.nskip, roots_text, roots_number) :
				  NULL;
	if (why)
		return why;
	if (!graph_spread(&r->s.g))
		return REACH_TOO_LITTLE;
	r->answers.opaque = opaque_find(r->l, &r->s, r->roots.opaque);
	return r->answers.opaque.why;
}

// What leads where, and who stands in a pool; `all`: all roots are known. NULL; or why it cannot be told.
static const char *settle(struct reach *r, bool all, const struct proc_tasks *base)
{
	bool begun = reach_answers_begin(&r->answers);
	if (r->l->others)
		r->l->others->prepare(r->l, &r->s.g, &r->s.freed);
	r->s.freed.n = spans_tidy(r->s.freed.v, r->s.freed.n);
	if (!begun || !graph_spread(&r->s.g))
		return REACH_TOO_LITTLE;
	if (!cancelled_find(r->l, &r->s.g))
		return LATE;
	for (size_t i = 0; i < r->l->n; i++)
		r->answers.second[i] = !r->s.g.reached[graph_group(&r->s.g, (uint32_t)i)];
	bool wanted = all && second_pass_wanted(r->l, &r->s);
	r->rested = hold_rested(r->l, base);
	return wanted ? look_further(r) : NULL;
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
	if (!e)
		roots_registers(&r->roots);
	struct queues q = {.l = l,
			   .bytes = roots_bytes,
			   .number = roots_number,
			   .text = roots_text,
			   .ctx = &r->roots,
			   .may_doubt = l->others != NULL};
	bool held = !e && roots_kernel_held(&r->roots),
	     queues = held && queues_read(&q) && keys_read(&q, l->keys);
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
	else if (!queues) {
		l->stored = true;
		hold_say(l, q.why);
	} else if (hold_sharer(l->pid))
		hold_say(l, "another process shares its memory, and its registers are not known");
	else if (!l->others && inspect_has_kin(l->r) && hold_fork(l->pid))
		hold_say(l, FORKED);
	else if (signals_late(l->deadline_ns))
		hold_say(l, LATE);
	else if (unsettled && !half)
		hold_say(l, unsettled);
	else {
		bool forked = l->others && inspect_has_kin(l->r) && hold_fork(l->pid);
		bool opaque = l->others && r->answers.opaque.words;
		snprintf(l->sent, sizeof(l->sent), "%s", q.doubt);
		const char *doubt = r->answers.opaque.code ? MADE_CODE : opaque ? OPAQUE : NULL;
		l->way = half ? REACH_HALF : *l->sent ? l->sent : forked ? FORKED : l->others ? doubt : NULL;
		reach_answers(&r->answers);
	}
}

static void forget(struct reach *r)
{
	reach_answers_deinit(&r->answers);
	disguised_deinit(&r->disguised);
	search_deinit(&r->s);
	recoded_deinit(&r->roots.recoded);
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
	r.roots = (struct roots){.l = l, .s = &r.s};
	r.answers = (struct reach_answers){
		.l = l, .s = &r.s, .disguised = &r.disguised, .names = {.l = l, .disguised = &r.disguised}};
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
			hold_say(l, l->moves && l->moves != ctp_region_moves(l->r) ?
					    "a thread ran while memory was about to be searched" :
					    "memory could not be searched");
	}
	hold_release(l);
	l->moves = 0;
	proc_tasks_deinit(&base);
	forget(&r);
}
