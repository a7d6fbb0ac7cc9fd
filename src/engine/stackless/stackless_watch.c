// SPDX-License-Identifier: MIT
//
// When to inspect. A live inspection reads epoll sets and memory, so it needs a reason: a descriptor was
// closed whose registration had data; or threads have run since the last one, which is looked at ever more
// rarely, though every two seconds if that costs a hundredth of a CPU. It is made when no thread ran for 30
// ms, and costs a twentieth of a CPU at most. Of a program that ticks the pauses are hunted for (hunt.c). One
// that was cut short tells at least whose frames are as they were; and if no thread has run, then all is as
// it was. The final inspection is always made, if the program has such coroutines.
#include "engine/stackless/stackless_watch.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/memory/reach.h"
#include "engine/stackless/awaiting_ways.h"
#include "engine/stackless/destroyed.h"
#include "engine/stackless/found_waits.h"
#include "engine/stackless/hunt.h"
#include "engine/stackless/lasting.h"
#include "engine/stackless/long_waits.h"
#include "engine/stackless/stackless_lines.h"
#include "engine/witness/quiescent.h"

#define MS 1000000ULL
enum {
	NOTE_MS = 5,
	CHECK_MS = 30,
	STAYS_MS = 200,
	LIVE_MS = 2000,
	AGAIN_MS = 200,
	REST_MS = 250,
	REST_MOST_MS = 8000,
	REST_BUSY_MS = 1000,
	REST_CHEAP_MS = 2000,
	SHARE = 100, // of the time, for looks that nothing but running threads is the reason for
	TRIES = 12,
	WAIT_US = 2000
};

struct stackless_watch {
	const struct ctp_region *r;
	pid_t pid;
	FILE *out;
	const struct keys *keys;
	struct functions functions;
	struct closes closes;
	struct found_waits kinds;
	struct lasting lasting; // of the last look that could tell
	struct long_waits waits;
	struct proc_tasks last;   // threads at the last check
	struct proc_tasks looked; // at the last look; empty: one ran meanwhile
	uint64_t moved;           // of the tables, when the closes were read
	uint64_t note_ns, check_ns;
	uint64_t rest_ns, rest_step_ns; // a look without a close: not before; and how long until the next one
	uint64_t still_ns;              // whether a thread has run since: not before
	uint64_t asked_ns, asked_step_ns; // the same of the question whether it has such functions
	struct hunt hunt;
	bool due;            // a close was not looked at
	bool again;          // the last look could not tell all
	bool cut;            // because a thread ran, for all that is known
	bool found;          // a look has told whether there are any
	bool written;        // the file tells of some
	bool decided;        // by a look that could tell what leads where
	bool half;           // by one that did not look for all words in disguise
	bool told;           // and what leads where,
	uint64_t told_moved; // as of then
};

struct stackless_watch *stackless_watch_new(const struct ctp_region *r, pid_t pid, FILE *out,
					    const struct keys *keys)
{
	struct stackless_watch *w = out ? calloc(1, sizeof(*w)) : NULL;
	if (w)
		*w = (struct stackless_watch){.r = r, .pid = pid, .out = out, .keys = keys};
	return w;
}

void stackless_watch_free(struct stackless_watch *w)
{
	if (!w)
		return;
	functions_deinit(&w->functions);
	closes_deinit(&w->closes);
	found_waits_deinit(&w->kinds);
	lasting_deinit(&w->lasting);
	long_waits_deinit(&w->waits);
	proc_tasks_deinit(&w->last);
	proc_tasks_deinit(&w->looked);
	free(w);
}

bool stackless_watch_any(struct stackless_watch *w)
{
	struct proc_maps maps;
	if (!w)
		return false;
	if (!w->functions.pairs.n && !proc_maps_read(w->pid, &maps)) {
		functions_refresh(&w->functions, w->pid, maps.v, maps.n);
		proc_maps_deinit(&maps);
	}
	return w->functions.pairs.n;
}

struct looking {
	struct awaiting a;
	struct found_waits *kinds;
	bool answered;
};

static bool find(struct inspection *l)
{
	struct looking *k = l->others->ctx;
	return awaiting_find(&k->a, l);
}

static void prepare(struct inspection *l, struct graph *g, struct span_list *unused)
{
	struct looking *k = l->others->ctx;
	awaiting_ways_prepare(&k->a, l, g, unused);
}

static void answer(struct inspection *l, struct graph *g)
{
	struct looking *k = l->others->ctx;
	awaiting_ways_answer(&k->a, l, g);
	found_waits_note(k->kinds, &k->a, l, g);
	k->answered = true;
}

// What leads where could not be told. True: what an earlier look told stays, as far as nothing has changed.
static bool stays(struct stackless_watch *w, const char *why)
{
	bool all = lasting_check(&w->lasting, w->out, w->r, w->pid, proc_now_ns() + STAYS_MS * MS);
	if (!all || !w->told || ctp_region_moves(w->r) != w->told_moved)
		lasting_doubt(&w->lasting, w->out, why);
	return w->lasting.n;
}

// Is there one that only P6b can prove lost? To ask for that takes a look at all other processes.
static bool asks_for_quiet(const struct awaiting *a)
{
	for (size_t i = 0; i < a->list.n; i++)
		if (a->v[i].answer == AWAITING_LOST && a->v[i].how != KNOWN_FOUND)
			return true;
	return false;
}

// False: a thread ran meanwhile; more could be told another time.
static bool inspect(struct stackless_watch *w, struct inspection *l)
{
	struct looking k = {{.functions = &w->functions, .closes = &w->closes}, &w->kinds, false};
	struct awaiting *a = &k.a;
	const struct inspect_others others = {find, prepare, answer, &k};
	uint64_t ns = proc_now_ns();
	bool told = true;
	l->keys = w->keys;
	l->others = &others;
	if (inspect_begin(l)) {
		if (l->final)
			stays(w, "the process could not be inspected");
		return true;
	}
	reach_judge(l);
	if (!a->found && !signals_late(l->deadline_ns))
		awaiting_find(a, l); // it could not be held: what there is can be said
	w->found |= a->found;
	if (a->found && !k.answered)
		found_waits_look(&w->kinds, a, l);
	if (a->found &&
	    (a->list.n || w->written || destroyed_any(w->r))) { // that all have ended is told, too
		if (asks_for_quiet(a))
			quiescent_judge(l);
		bool half = reach_half(l);
		told = !l->n || (l->who[0]->a[PROOF_P6A].holds != HOLDS_OPEN && !half);
		uint64_t moved = ctp_region_moves(w->r);
		bool stay = !told && stays(w, half ? l->way : l->who[0]->a[PROOF_P6A].text);
		bool less = !told && !half && !l->final &&
			    w->decided; // than an earlier one, which is as of its time
		// What that one told, when it had more time, is so still.
		less |= half && !w->half && w->decided && !found_waits_news(&w->kinds, a);
		if ((half && w->half) || (!stay && !less)) {
			w->half = half;
			w->decided |= told || half;
			lasting_note(&w->lasting, a, w->r, w->pid, l->deadline_ns);
			stackless_lines_write(w->out, a, l, &w->waits, ns);
			lasting_control(&w->lasting, w->out);
		} else {
			long_waits_note(&w->waits, a);
			long_waits_write(&w->waits, w->out, ns, LONG_AGAIN);
		}
		w->written = true;
		w->told = told || (w->told && moved == w->told_moved);
		w->told_moved = moved;
	} else if (!a->found && l->final)
		stays(w, *a->why ? a->why : "memory was not searched");
	inspect_deinit(l);
	free(l->who);
	awaiting_deinit(a);
	return told;
}

// Of a CPU: a busy machine, which makes an inspection long, is no reason for fewer of them.
static uint64_t used_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000 * MS + (uint64_t)t.tv_nsec;
}

static bool is_idle(struct stackless_watch *w)
{
	struct proc_tasks now = {0};
	if (proc_tasks_read(w->pid, false, &now))
		return false;
	bool idle = w->last.n && proc_tasks_still(&w->last, &now);
	proc_tasks_deinit(&w->last);
	w->last = now;
	return idle;
}

static bool rests(struct stackless_watch *w, uint64_t now)
{
	uint64_t used = used_ns();
	bool still = is_idle(w);
	if (!w->hunt.end_ns)
		w->check_ns = now + CHECK_MS * MS;
	return hunt_rests(&w->hunt, still, w->cut, used_ns() - used, now);
}

// Of a program that has none so far it is asked ever more rarely: it may load a library that has.
static bool may_have_any(struct stackless_watch *w, uint64_t now)
{
	if (w->functions.pairs.n)
		return true;
	if (now < w->asked_ns)
		return false;
	w->asked_step_ns = w->asked_step_ns ? w->asked_step_ns * 2 : REST_MS * MS;
	w->asked_step_ns = w->asked_step_ns < REST_MOST_MS * MS ? w->asked_step_ns : REST_MOST_MS * MS;
	w->asked_ns = now + w->asked_step_ns;
	return stackless_watch_any(w);
}

// A look that changes nothing is made every now and then: how soon, for what it has cost?
static uint64_t rest_most(uint64_t cost)
{
	uint64_t most = SHARE * cost;
	most = most > REST_CHEAP_MS * MS ? most : REST_CHEAP_MS * MS;
	return most < REST_MOST_MS * MS ? most : REST_MOST_MS * MS;
}

// No hook has seen a thread move. If none has run at all, then what the last look has told is so still.
static void look_at_rest(struct stackless_watch *w, uint64_t now)
{
	struct proc_tasks tasks = {0};
	uint64_t used = used_ns();
	if (proc_tasks_read(w->pid, false, &tasks))
		return;
	w->again = !proc_tasks_still(&w->looked, &tasks);
	proc_tasks_deinit(&tasks);
	if (w->again)
		return;
	if (w->written)
		long_waits_write(&w->waits, w->out, now, LONG_STILL);
	w->still_ns = now + rest_most(used_ns() - used);
}

bool stackless_watch_poll(struct stackless_watch *w)
{
	uint64_t now = proc_now_ns(), moved = ctp_region_moves(w->r);
	if (now >= w->note_ns && moved != w->moved) {
		w->due |= closes_note(&w->closes, w->r);
		w->moved = moved;
		w->note_ns = now + NOTE_MS * MS;
	}
	if (!w->due && !w->again && w->looked.n && moved == w->told_moved && now >= w->still_ns)
		look_at_rest(w, now);
	bool later = (moved != w->told_moved || w->again) && now >= w->rest_ns;
	if ((!w->due && !later) || now < w->check_ns || !may_have_any(w, now))
		return false;
	if (!rests(w, now))
		return w->hunt.end_ns;
	uint64_t used = used_ns();
	struct inspection l = {.r = w->r,
			       .pid = w->pid,
			       .scan = true,
			       .idle = true,
			       .deadline_ns = proc_now_ns() + LIVE_MS * MS};
	bool told = inspect(w, &l);
	uint64_t cost = used_ns() - used, most = told ? rest_most(cost) : REST_BUSY_MS * MS;
	w->rest_step_ns = w->due || !w->rest_step_ns ? REST_MS * MS : w->rest_step_ns * 2;
	w->rest_step_ns = w->rest_step_ns < most ? w->rest_step_ns : most;
	w->rest_ns = now + w->rest_step_ns;
	w->still_ns = now + REST_CHEAP_MS * MS;
	w->due &= !told;
	w->again = w->cut = !told;
	w->told_moved = moved;
	w->check_ns = proc_now_ns() + (20 * cost > AGAIN_MS * MS ? 20 * cost : AGAIN_MS * MS);
	proc_tasks_deinit(&w->looked);
	if (told)
		w->looked = w->last;
	else
		proc_tasks_deinit(&w->last);
	w->last = (struct proc_tasks){0};
	return false;
}

void stackless_watch_final(struct stackless_watch *w, bool may_stop, uint64_t deadline)
{
	closes_note(&w->closes, w->r);
	if (!stackless_watch_any(w))
		return;
	for (unsigned i = 0; i < TRIES; i++) {
		struct inspection l = {.r = w->r,
				       .pid = w->pid,
				       .final = true,
				       .may_stop = may_stop,
				       .scan = true,
				       .deadline_ns = deadline};
		if (inspect(w, &l) || signals_late(deadline))
			return;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_US * 1000}, NULL);
	}
}

void stackless_watch_again(struct stackless_watch *w, uint64_t deadline)
{
	if (!lasting_check(&w->lasting, w->out, w->r, w->pid, deadline))
		lasting_doubt(&w->lasting, w->out, "its frame could not be read again at the end");
}

void stackless_watch_ended(struct stackless_watch *w, bool as_seen)
{
	lasting_check(&w->lasting, w->out, w->r, 0, UINT64_MAX);
	if (!as_seen && (!w->told || ctp_region_moves(w->r) != w->told_moved))
		lasting_doubt(&w->lasting, w->out, "it ran on, and ended without one");
	if (w->functions.pairs.n && !w->found)
		stackless_lines_unseen(w->out, w->functions.pairs.n);
}

bool stackless_watch_found(const struct stackless_watch *w)
{
	return w && w->functions.pairs.n;
}
