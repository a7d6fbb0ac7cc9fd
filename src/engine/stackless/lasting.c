// SPDX-License-Identifier: MIT
//
// A coroutine that was resumed and suspends again has written to its frame: its state, a local variable. One
// that has ended has given its memory back, which the table of births tells, and mostly the bytes too. One
// that runs just now is on a stack, where no word led to it when it was told of. So no search is needed to
// know whether one was resumed since. If one was to which no word had led, the program keeps its coroutines
// in a form that is not searched for, and that no word leads to the others proves nothing.
#include "engine/stackless/lasting.h"

#include <jansson.h>
#include <stdlib.h>
#include <time.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/search.h"
#include "ctp/births.h"
#include "engine/stackless/frame_digest.h"
#include "search/memory/memory.h"

enum { PIECE = 4096, STACK_MOST = 1 << 20, ASLEEP_MS = 20, ASLEEP_US = 200 };

struct lasting_one {
	uint64_t at, created; // 0: its birth was not seen
	uint64_t digest;
	struct span block;
	bool lost; // no word led to it
	bool gone;
};

static uint64_t born(const struct ctp_region *r, uint64_t at)
{
	struct ctp_birth b;
	return ctp_births_find(r, at, &b) ? b.created : 0;
}

// False: it could not be told.
static bool check_frame(struct lasting_one *one, pid_t pid, uint64_t deadline)
{
	uint64_t digest = one->digest && !signals_late(deadline) ? frame_digest(pid, &one->block) : 0;
	one->gone |= digest && digest != one->digest;
	return digest;
}

static void note_control(struct lasting *l)
{
	for (size_t i = 0; !l->control && i < l->n; i++)
		l->control = l->v[i].gone && l->v[i].lost ? l->v[i].at : 0;
}

void lasting_note(struct lasting *l, const struct awaiting *a, const struct ctp_region *r, pid_t pid,
		  uint64_t deadline)
{
	for (size_t i = 0; !l->control && i < l->n; i++) {
		l->v[i].gone |= born(r, l->v[i].at) != l->v[i].created;
		if (l->v[i].lost && !l->v[i].gone)
			check_frame(&l->v[i], pid, deadline);
	}
	note_control(l);
	l->n = 0;
	l->doubted = false;
	for (size_t i = 0; i < a->list.n; i++) {
		const struct stackless *s = &a->list.v[i];
		if (a->v[i].answer <= AWAITING_REACHED)
			continue;
		if (GROW(l->v, l->n, l->room))
			return;
		l->v[l->n++] = (struct lasting_one){.at = s->at,
						    .created = born(r, s->at),
						    .digest = a->v[i].digest,
						    .block = s->block,
						    .lost = a->v[i].answer == AWAITING_LOST};
	}
}

static void on_stack(struct lasting *l, pid_t pid, uint64_t from, uint64_t to)
{
	uint64_t words[PIECE / 8];
	size_t n;
	to = to - from > STACK_MOST ? from + STACK_MOST : to;
	for (uint64_t at = from & ~7ULL; at < to; at += n * 8) {
		size_t want = to - at < PIECE ? (size_t)(to - at) : PIECE;
		n = memory_peek_process(pid, at, words, want, false) / 8;
		for (size_t i = 0; i < n; i++) {
			size_t k = FIRST_NOT(l->n, j, l->v[j].at <= words[i]);
			if (k && words[i] < l->v[k - 1].block.hi + 8)
				l->v[k - 1].gone |= l->v[k - 1].lost;
		}
		if (!n)
			return;
	}
}

// Does each thread sleep, so that it can be told where its stack is in use?
static bool sleep_all(const struct proc_tasks *tasks)
{
	for (size_t i = 0; i < tasks->n; i++)
		if (!tasks->v[i].sp && !proc_task_dead(&tasks->v[i]))
			return false;
	return true;
}

// Whoever has asked for this look is about to sleep until it has been made: it is waited for.
static bool read_asleep(pid_t pid, struct proc_tasks *tasks, uint64_t deadline)
{
	uint64_t until = proc_now_ns() + ASLEEP_MS * 1000000ULL;
	for (;;) {
		if (proc_tasks_read(pid, true, tasks))
			return false;
		if (sleep_all(tasks))
			return true;
		if (signals_late(deadline < until ? deadline : until))
			return false;
		nanosleep(&(struct timespec){.tv_nsec = ASLEEP_US * 1000}, NULL);
		proc_tasks_deinit(tasks);
	}
}

// False: a thread runs, so it is not known what lies on its stack.
static bool on_stacks(struct lasting *l, pid_t pid, uint64_t deadline)
{
	struct proc_tasks tasks = {0};
	struct proc_maps maps = {0};
	bool all = read_asleep(pid, &tasks, deadline), read = !proc_maps_read(pid, &maps);
	for (size_t i = 0; read && i < tasks.n; i++) {
		const struct maps_line *m = tasks.v[i].sp ? proc_maps_find(&maps, tasks.v[i].sp) : NULL;
		if (m)
			on_stack(l, pid, tasks.v[i].sp, m->hi);
	}
	proc_tasks_deinit(&tasks);
	proc_maps_deinit(&maps);
	return all && read;
}

void lasting_control(const struct lasting *l, FILE *out)
{
	char text[200];
	if (!l->control)
		return;
	snprintf(
		text, sizeof(text),
		"nothing led to the frame at 0x%llx either, which was resumed or destroyed later: the program keeps "
		"coroutines in a form that is not searched for",
		(unsigned long long)l->control);
	json_line(out, json_pack("{s:i, s:s, s:I, s:s}", "v", 1, "what", "control", "id",
				 (json_int_t)l->control, "text", text));
	fflush(out);
}

static void forget_gone(struct lasting *l, FILE *out)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].gone)
			json_line(out, json_pack("{s:i, s:s, s:I}", "v", 1, "what", "withdrawn", "id",
						 (json_int_t)l->v[i].at));
		else
			l->v[kept++] = l->v[i];
	l->n = kept;
	fflush(out);
}

bool lasting_check(struct lasting *l, FILE *out, const struct ctp_region *r, pid_t pid, uint64_t deadline)
{
	if (!l->n)
		return true;
	bool all = !pid || on_stacks(l, pid, deadline);
	for (size_t i = 0; i < l->n; i++) {
		struct lasting_one *one = &l->v[i];
		one->gone |= born(r, one->at) != one->created;
		if (pid && !one->gone)
			all &= check_frame(one, pid, deadline);
	}
	bool known = l->control;
	note_control(l);
	forget_gone(l, out);
	if (!known)
		lasting_control(l, out);
	return all;
}

void lasting_doubt(struct lasting *l, FILE *out, const char *why)
{
	if (l->doubted || !l->n)
		return;
	l->doubted = true;
	json_line(out, json_pack("{s:i, s:s, s:s}", "v", 1, "what", "doubt", "why", why));
	fflush(out);
}

void lasting_deinit(struct lasting *l)
{
	free(l->v);
	*l = (struct lasting){0};
}
