// SPDX-License-Identifier: MIT
//
// When to inspect, and what is written. Reading a set's registrations holds its lock in the
// target, so a live inspection needs a reason: an incident about sets, two coroutines that wait
// for queues whose other ends are in the program too, a thread that joins another, or coroutines
// that seem to wait for each other's locks. It is made when the tables have not changed and no
// thread ran for 30 ms, and costs a twentieth of a CPU at most. Where main itself waits for coroutines,
// one coroutine for a queue, or some are parked and nothing outside is watched, it is made when nothing has
// moved for a second. A program that ticks comes to no such rest: there, who seem to wait for each other's
// locks for a second are a reason, each circle once. The final inspection needs a reason, too. A later
// inspection knows all that an earlier one did, so the file is written anew.
#include "engine/sets/sets.h"

#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "ctp/rules.h"
#include "ctp/there.h"
#include "engine/inspect/inspect.h"
#include "engine/sets/set_circles.h"
#include "engine/sets/set_filled.h"
#include "engine/sets/set_line.h"
#include "engine/sets/set_parked.h"
#include "engine/sets/set_queues.h"
#include "engine/sets/set_shared.h"
#include "engine/sets/set_threads.h"
#include "engine/witness/flight.h"
#include "engine/witness/kernel.h"
#include "engine/witness/quiescent.h"

#define MS 1000000ULL
enum {
	CHECK_MS = 30,
	SHORT_MS = 2,
	AWAKE_MS = 100,
	TRIES = 10,
	LIVE_MS = 2000,
	FINAL_MS = 300,
	AGAIN_MS = 1000,
	CIRCLES_MS = 50,
	REST_MS = 1000
};

struct sets {
	const struct ctp_region *r;
	pid_t pid;
	FILE *out;
	struct set_threads threads;
	struct set_outside_seen outside;
	struct set_filled *filled;             // NULL: it is not looked at
	uint64_t outside_ns;                   // when to look at these again
	struct proc_tasks last;                // threads at the last check
	uint64_t check_ns, inspect_ns;         // not before
	uint64_t moved;                        // of the tables, at the last check
	uint64_t looked;                       // the same at the last look
	uint64_t looked_ns;                    // when that was
	uint64_t rested;                       // the same when nothing had moved for so long after it
	uint32_t incidents;                    // looked at
	struct set_circles_seen circles, told; // a second ago; of which all has been written
	uint64_t circles_ns;                   // to be asked for again
	bool written;                          // a look, and the program had not begun to end
};

struct sets *sets_new(const struct ctp_region *r, pid_t pid, FILE *out)
{
	struct sets *s = calloc(1, sizeof(*s));
	if (!s)
		return NULL;
	s->r = r;
	s->pid = pid;
	s->out = out;
	s->filled = set_filled_new(r, pid);
	return s;
}

void sets_free(struct sets *s)
{
	if (!s)
		return;
	proc_tasks_deinit(&s->last);
	set_threads_deinit(&s->threads);
	set_outside_deinit(&s->outside);
	set_filled_free(s->filled);
	free(s);
}

// ------------------------------------------------------------------ stale rows

// Is the row's number closed now, or another file's? Not where that cannot be told.
static bool is_stale(const struct inspection *l, const struct registration *reg)
{
	char link[64];
	if (!proc_fd_link(l->pid, reg->tfd, link, sizeof(link)))
		return true;
	return registrations_is_open_as(l->pid, reg, reg->tfd) == 0;
}

static const struct registration *same_registration(const struct registrations *rows,
						    const struct registration *reg)
{
	for (size_t i = 0; i < rows->n; i++) {
		const struct registration *o = &rows->v[i];
		if (o->epfd == reg->epfd && o->tfd == reg->tfd && o->ino == reg->ino &&
		    o->data == reg->data && o->nth == reg->nth)
			return o;
	}
	return NULL;
}

// The number's present file has a row in the same set.
static bool has_twin(const struct inspection *l, const struct registration *reg)
{
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *o = &l->registrations.v[i];
		if (o != reg && o->epfd == reg->epfd && o->tfd == reg->tfd &&
		    registrations_is_open_as(l->pid, o, o->tfd) == 1)
			return true;
	}
	return false;
}

static uint32_t gen_of(const struct ctp_region *r, int fd)
{
	struct ctp_fd f;
	return fd >= 0 && inspect_fd(r, (uint64_t)fd, &f) ? f.gen : 0;
}

static void write_stale(FILE *out, const struct inspection *l, const struct registration *reg)
{
	struct ctp_fd f;
	if (!inspect_fd(l->r, (uint64_t)(uint32_t)reg->tfd, &f) || !f.closed_gen)
		return; // closed before anybody watched
	json_t *o = json_pack("{s:i, s:s, s:i, s:I, s:i, s:I, s:I, s:I, s:b}", "v", 1, "what", "stale",
			      "epfd", reg->epfd, "epgen", (json_int_t)gen_of(l->r, reg->epfd), "fd", reg->tfd,
			      "gen", (json_int_t)f.closed_gen, "events", (json_int_t)reg->events, "data",
			      (json_int_t)reg->data, "twin", has_twin(l, reg));
	set_line(out, o);
}

// A close under way between our two questions makes a live row look dead: it is gone in the second reading.
static void stale_registrations(FILE *out, struct inspection *l)
{
	struct registrations again = {0};
	bool read = false;
	for (size_t i = 0; l->registrations.complete && i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (signals_late(l->deadline_ns) || !is_stale(l, reg))
			continue;
		if (!read && registrations_read(l->pid, 0, l->deadline_ns, &again))
			return;
		read = true;
		if (same_registration(&again, reg))
			write_stale(out, l, reg);
	}
	registrations_deinit(&again);
}

// ------------------------------------------------------------------ one look

static json_t *answer(const struct suspect *all, enum proof p)
{
	const struct inspect_answer *a = &all->a[p];
	json_t *holds = a->holds == HOLDS_OPEN ? json_null() : json_boolean(a->holds == HOLDS_TRUE),
	       *text = json_string(a->text);
	return json_pack("{s:s, s:o, s:o}", "id", proof_word(p), "holds", holds, "text",
			 text ? text : json_string("?"));
}

// Would the program sleep for good, but for handlers of signals that end it, or that it raises itself?
static bool sleeps_until_its_end(const struct inspection *l, const struct suspect *all)
{
	static const int signals[] = {SIGTERM, SIGINT, SIGQUIT, SIGHUP,  SIGSEGV, SIGBUS,
				      SIGFPE,  SIGILL, SIGABRT, SIGTRAP, SIGPIPE};
	uint64_t handled = quiescent_handled(l->pid, l->r->ext);
	struct proc_tasks now = {0};
	int ways = 0;
	for (size_t i = 0; i < l->nopen; i++)
		ways += !l->open[i].id;
	if (all->a[PROOF_P6B].holds != HOLDS_FALSE || ways != __builtin_popcountll(handled) || !l->idle)
		return false;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		handled &= ~(1ULL << (signals[i] - 1));
	bool still = !handled && !proc_tasks_read(l->pid, true, &now) && proc_tasks_still(&l->tasks, &now);
	proc_tasks_deinit(&now);
	return still;
}

// What is so of the program as a whole.
static void write_whole(FILE *out, const struct inspection *l, const struct suspect *all, uint64_t ns)
{
	json_t *evidence = json_array();
	json_array_append_new(evidence, answer(all, PROOF_P0));
	json_array_append_new(evidence, answer(all, PROOF_P5));
	json_array_append_new(evidence, answer(all, PROOF_P6B));
	set_line(out,
		 json_pack("{s:i, s:s, s:I, s:s, s:b, s:b, s:b, s:o}", "v", 1, "what", "look", "ns",
			   (json_int_t)ns, "look", l->final ? "final" : "live", "complete",
			   l->registrations.complete, "handlers", quiescent_handled(l->pid, l->r->ext) != 0,
			   "sleeps", sleeps_until_its_end(l, all), "evidence", evidence));
}

// False: a thread was awake or stopped just then, of which more could be told, or its rest ended meanwhile.
// Queues before rows: a copy of a descriptor, however short, keeps its row; and rest is judged last, for all
// of it.
static bool take(struct sets *s, struct inspection *l)
{
	bool told = true;
	struct suspect all = {.rule = RULE_CYCLE, .cand = UINT32_MAX, .wait = -1, .turns0 = UINT64_MAX};
	struct suspect *who = &all;
	uint64_t ns = proc_now_ns();
	all.c.fd = -1;
	all.c.was.reg_epfd = -1;
	all.c.epoch = UINT64_MAX; // only who sleeps now has slept
	l->who = &who;
	l->n = 1;
	if (inspect_begin(l))
		return true;
	rewind(s->out);
	if (!ftruncate(fileno(s->out), 0)) {
		set_queues(s->out, l, &s->outside);
		set_circles(s->out, l);
		set_filled_write(s->out, s->filled, ns);
		set_main_waiting(s->out, l);
		told = set_threads(s->out, l, &s->threads);
		stale_registrations(s->out, l);
		if (inspect_has_kin(l->r))
			set_shared(s->out, l);
		kernel_judge(l);
		flight_judge(l);
		quiescent_judge(l);
		if (all.a[PROOF_P6B].holds == HOLDS_TRUE)
			set_parked_resting(s->out, l);
		write_whole(s->out, l, &all, ns);
		told &= !l->idle || (!l->disturbed && all.a[PROOF_P6B].holds != HOLDS_OPEN);
	}
	fflush(s->out);
	inspect_deinit(l);
	return told;
}

// ------------------------------------------------------------------ when

// Changes whenever threads move, coroutines are made, or an incident is posted.
static uint64_t movement(const struct ctp_region *r)
{
	return ctp_region_moves(r) + ctp_load64(&r->ext->next_id) + r->ext->incidents[RULE_STALE] +
	       r->ext->incidents[RULE_FORKED];
}

static uint32_t incidents(const struct ctp_region *r)
{
	return (uint32_t)r->ext->incidents[RULE_STALE] << 16 | r->ext->incidents[RULE_FORKED];
}

// Have the threads slept since the last check, with the tables as they were? Checks again.
static bool idle_since(struct sets *s, uint64_t moved)
{
	struct proc_tasks tasks = {0};
	bool same = moved == s->moved && !proc_tasks_read(s->pid, false, &tasks);
	bool idle = same && s->last.n && proc_tasks_still(&s->last, &tasks);
	proc_tasks_deinit(&s->last);
	s->last = tasks;
	s->moved = moved;
	return idle;
}

// What began at `now` costs a twentieth of a CPU at most.
static void pause_after(struct sets *s, uint64_t now)
{
	uint64_t cost = proc_now_ns() - now;
	s->inspect_ns = now + (20 * cost > AGAIN_MS * MS ? 20 * cost : AGAIN_MS * MS);
}

static bool is_ending(const struct ctp_region *r)
{
	return ctp_told_to_end(r->ext);
}

static void look(struct sets *s, uint64_t now)
{
	struct inspection l = {.r = s->r, .pid = s->pid, .idle = true, .deadline_ns = now + LIVE_MS * MS};
	take(s, &l);
	s->written = !is_ending(s->r);
}

// The program has slept since the last look, for long: is there another reason, which is none at each short
// rest? Whom it waits for is looked at again, each time after twice as long: only so it is known to sleep.
static void rest(struct sets *s, uint64_t now)
{
	bool again = s->rested == s->looked && s->outside.n && now >= s->outside_ns;
	if ((s->rested == s->looked && !again) || now - s->looked_ns < REST_MS * MS)
		return;
	s->rested = s->looked;
	s->outside_ns = now + (now - s->looked_ns);
	if (idle_since(s, s->looked) &&
	    (set_main_waits(s->r, s->pid) || set_queues_any(s->r, 1) || set_parked_may_rest(s->r))) {
		look(s, now);
		pause_after(s, now);
	}
}

static bool is_among(const struct set_circles_seen *all, uint64_t circle)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i] == circle)
			return true;
	return false;
}

// Where there is no rest: who waits in a circle does so for good, whether or not others go on.
static void circles_beside(struct sets *s, uint64_t now)
{
	struct set_circles_seen seen, stay = {.n = 0};
	bool fresh = false;
	if (now < s->circles_ns || now - s->looked_ns < 2 * REST_MS * MS || is_ending(s->r))
		return;
	set_circles_see(s->r, s->pid, now + CIRCLES_MS * MS, &seen);
	for (size_t i = 0; i < seen.n; i++)
		if (is_among(&s->circles, seen.v[i])) {
			stay.v[stay.n++] = seen.v[i];
			fresh |= !is_among(&s->told, seen.v[i]);
		}
	if (fresh) {
		struct inspection l = {.r = s->r, .pid = s->pid, .deadline_ns = now + LIVE_MS * MS};
		take(s, &l);
		s->written = !is_ending(s->r);
		s->told = stay;
	}
	s->circles = seen;
	uint64_t cost = proc_now_ns() - now;
	s->circles_ns = now + (20 * cost > REST_MS * MS ? 20 * cost : REST_MS * MS);
}

// Where a queue has filled, and its reader waits: each of them once.
static void filled_beside(struct sets *s, uint64_t now)
{
	bool fresh = false;
	if (!set_filled_poll(s->filled, now) || now < s->inspect_ns || is_ending(s->r) ||
	    !set_filled_any(s->filled, &fresh) || !fresh)
		return;
	struct inspection l = {.r = s->r, .pid = s->pid, .deadline_ns = now + LIVE_MS * MS};
	take(s, &l);
	pause_after(s, now);
}

void sets_poll(struct sets *s)
{
	uint64_t now = proc_now_ns();
	filled_beside(s, now);
	if (now < s->check_ns || now < s->inspect_ns)
		return;
	uint64_t moved = movement(s->r);
	s->check_ns = now + CHECK_MS * MS;
	if (moved == s->looked) {
		rest(s, now);
		return;
	}
	if (!idle_since(s, moved)) {
		circles_beside(s, now);
		return;
	}
	bool due = incidents(s->r) != s->incidents || set_queues_any(s->r, 2) || set_threads_any(s->r) ||
		   set_circles_any(s->r, s->pid, now + CIRCLES_MS * MS);
	if (due)
		look(s, now);
	s->looked = moved;
	s->looked_ns = now;
	s->rested = due ? moved : moved - 1;
	s->incidents = incidents(s->r);
	pause_after(s, now);
}

// Was a number closed that had a registration, so that the row may live on?
static bool any_closed(const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_fds(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
		if (r->fds[i].closed_owner)
			return true;
	return false;
}

// Does no thread run for so long? *stopped: it was seen stopped by somebody, then or before.
// False at once if that would take until after end_ns.
static bool idle_for(pid_t pid, unsigned ms, uint64_t end_ns, bool *stopped)
{
	struct proc_tasks before = {0}, after = {0};
	uint64_t until_ns = proc_now_ns() + ms * MS; // by the clock: we may be held up ourselves
	if (until_ns > end_ns)
		return false;
	bool still = !proc_tasks_read(pid, false, &before);
	do {
		nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
		*stopped |= proc_stopped(pid);
	} while (proc_now_ns() < until_ns);
	still = still && !proc_tasks_read(pid, false, &after) && proc_tasks_still(&before, &after);
	proc_tasks_deinit(&before);
	proc_tasks_deinit(&after);
	return still;
}

// A program that is stopped and continued again and again rests for shorter times, and has longer to do so.
static bool idle_between(pid_t pid, uint64_t until_ns, bool *stopped)
{
	if (!*stopped && idle_for(pid, CHECK_MS, until_ns, stopped))
		return true;
	while (*stopped && !signals_late(until_ns)) {
		while (proc_stopped(pid) && !signals_late(until_ns))
			nanosleep(&(struct timespec){.tv_nsec = MS / 4}, NULL);
		if (idle_for(pid, SHORT_MS, until_ns, stopped))
			return true;
	}
	return false;
}

void sets_final(struct sets *s, uint64_t end_ns)
{
	uint64_t now = proc_now_ns();
	struct inspection l = {.r = s->r,
			       .pid = s->pid,
			       .final = true,
			       .deadline_ns = now + FINAL_MS * MS < end_ns ? now + FINAL_MS * MS : end_ns};
	unsigned least = ctp_load64(&s->r->ext->exit_begun) ? 2 : 1; // nothing is quiet that exits
	bool waits = set_queues_any(s->r, least) || set_threads_any(s->r) ||
		     set_circles_any(s->r, s->pid, now + CIRCLES_MS * MS) ||
		     (least == 1 && set_parked_may_rest(s->r));
	bool filled = set_filled_any(s->filled, NULL);
	bool rows = incidents(s->r) != s->incidents || any_closed(s->r);
	if (!waits && !filled && !incidents(s->r) && !rows)
		return;
	if (s->written && !rows && is_ending(s->r))
		return; // who waited for whom counts as it was before, and is written
	bool stopped = false;
	l.idle = waits && idle_between(s->pid, l.deadline_ns, &stopped);
	for (int tries = 0; !take(s, &l) && tries < TRIES; tries++) {
		uint64_t awake_ns = now + AWAKE_MS * MS;
		if (signals_late(stopped || l.deadline_ns < awake_ns ? l.deadline_ns : awake_ns))
			break;
		if (waits && (l.idle || stopped))
			l.idle = idle_between(s->pid, l.deadline_ns, &stopped);
		else
			nanosleep(&(struct timespec){.tv_nsec = MS}, NULL);
	}
}
