// SPDX-License-Identifier: MIT
//
// tracks.h - the history as slices on tracks: who ran on each thread, and the state of each
// coroutine. Formats of viewers write slices as they come: memory grows with coroutines, not
// with events.
#pragma once

#include "analyze/history/tracks_names.h"
#include "analyze/report/finding.h"

enum tracks_what {
	TRACKS_NOTHING,
	TRACKS_RUNS,    // on a thread's track: `coroutine`, or, if that is NULL, the thread's own stack
	TRACKS_SLEEPS,  // on a thread's track, within a RUNS: it waits for events
	TRACKS_UNKNOWN, // on a thread's track: records of it were lost
	// on a coroutine's track
	TRACKS_CREATED,
	TRACKS_RUNNING,
	TRACKS_SUSPENDED,
	TRACKS_READY,
	TRACKS_LOST, // records of it were lost
};
static inline bool tracks_is_threads(enum tracks_what w)
{
	return w < TRACKS_CREATED;
}

enum tracks_end {
	TRACKS_ENDED,
	TRACKS_CUT,   // as far as is known; then records were lost
	TRACKS_STILL, // not ended when the trace did
};

// Times of a track do not fall; ns are of CLOCK_MONOTONIC.
struct tracks_thread {
	uint64_t tid, pid;
	uint32_t row;     // dense, from 0
	bool stations;    // as version-1 probes tell of it
	uint64_t native;  // id of its own stack; 0: not known
	uint64_t last_ns; // of what it did last
	// what its open RUNS is, if `runs`
	bool runs;
	uint64_t id, since_ns, flow;
	uint32_t runner; // row of the coroutine; UINT32_MAX: the thread's own stack
};

struct tracks_coroutine {
	uint64_t id, pid; // id 0: the row is free
	const struct image *image;
	const char *called; // its function; "" if that is not known
	uint64_t n;         // its changes so far
	enum tracks_what state;
	uint64_t since_ns, last_ns; // of the state; of the last that is known of it
	uint64_t flow;              // that leads to its next run; 0
	const struct tracks_site *site;
	bool shown; // the format's: its track was described
};

struct tracks_slice {
	enum tracks_what what;
	enum tracks_end how;                // when it ends
	const struct tracks_thread *thread; // by whose record; NULL: by the end of all
	struct tracks_coroutine *coroutine; // on whose track, or who runs; NULL: nobody's
	uint64_t id;                        // who runs
	uint64_t since_ns, ns;              // ns: when it ends
	uint64_t flow;                      // that ends where it begins; 0. Numbers of flows rise
	const struct tracks_site *site;     // where it left, or is suspended
	int32_t fd;                         // for which it was suspended; -1
	uint32_t gen;
};

enum tracks_mark_kind {
	TRACKS_CREATES,
	TRACKS_WAKES, // on the thread's track: whom
	TRACKS_DONE,  // on the coroutine's
	TRACKS_SIGNAL,
	TRACKS_EXIT,  // on the thread's
	TRACKS_EVENT, // of the program's own: on the track of who signalled it
};

struct tracks_mark {
	enum tracks_mark_kind kind;
	const struct tracks_thread *thread;
	struct tracks_coroutine *coroutine; // or NULL
	const char *text;                   // what it says
	const struct program_event *event;  // TRACKS_EVENT
	uint64_t ns;
	uint64_t flow; // that begins here; 0
	int32_t fd;
	uint32_t gen;
};

// A finding's part in what happened: the last wait of its coroutine, or the other one's deed.
struct tracks_finding {
	const struct finding *finding;
	const struct verdict_case *c;
	const char *role;                   // "waiting", "closed by"
	uint64_t id, pid;                   // whose
	struct tracks_coroutine *coroutine; // whose, if it had not ended
	const struct tracks_thread *thread; // of whose own stack it is; else NULL
	bool first;                         // of those that the finding has
	uint64_t ns;
	const struct tracks_site *site;
};

struct tracks_sink {
	void (*begins)(void *arg, const struct tracks_slice *s);
	void (*ends)(void *arg, const struct tracks_slice *s);
	void (*mark)(void *arg, const struct tracks_mark *m);
	void (*finding)(void *arg, const struct tracks_finding *f);
};

struct tracks {
	const struct report *report;
	const struct tracks_sink *sink;
	void *arg;
	struct tracks_names names;
	struct tracks_thread **threads;
	size_t nthreads, threads_capacity;
	struct tracks_coroutine *coroutines; // rows
	size_t ncoroutines, coroutines_capacity;
	uint32_t *unused; // rows that are free
	size_t nunused, unused_capacity;
	uint64_t switches, flows, last_ns; // so far
};

// Goes through all that happened, and tells the sink. 0 or -errno, as transitions_walk.
int tracks_walk(struct tracks *t, const struct report *r, const struct tracks_sink *sink, void *arg);
void tracks_deinit(struct tracks *t);
// Of tracks_walk, at its end: the parts of the findings. 0 or -ENOMEM.
int tracks_tell_findings(struct tracks *t);

#define TRACKS_NAME 1100 // bytes that suffice for what follows
// What a slice is called; buf holds it.
const char *tracks_name(const struct tracks_slice *s, char *buf, size_t bytes);
const char *tracks_who(const struct tracks_coroutine *c, char *buf, size_t bytes); // "conn_reader 41"
const char *tracks_finding_name(const struct tracks_finding *f, char *buf, size_t bytes);
// What a thread is called, its number left out: by its own name, if that is not its process's.
const char *tracks_thread_name(const struct world *w, const struct tracks_thread *th, char *buf,
			       size_t bytes);
// The command that ran as this process; buf holds it.
const char *tracks_process(const struct world *w, uint64_t pid, char *buf, size_t bytes);
