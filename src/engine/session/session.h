// SPDX-License-Identifier: MIT
//
// session.h - one run: the processes that are traced, and the recorder that all
// of them write to. What is done with them at every turn is in turn.h.
#pragma once

#include "engine/metrics/metrics.h"
#include "engine/record/harvest.h"
#include "engine/record/recorder.h"
#include "engine/record/v1.h"
#include "engine/session/descent.h"
#include "engine/start/ids.h"
#include "engine/start/options.h"
#include "engine/session/process.h"
#include "engine/start/shm.h"
#include "engine/start/spares.h"

// --flight: the snapshots taken so far (snapshots.h).
struct session_snapshots {
	unsigned n;
	unsigned found;         // of those, for a finding
	uint64_t certain;       // what the witnesses were certain of at the last one
	uint64_t not_before_ns; // the next one for a finding
	uint64_t ended;         // switches that were written of children that are gone
};

// ctp-ctl stop and start, --paused (pause.h): when the writer was given nothing.
struct session_pauses {
	uint64_t times, total_ns; // that have ended
	uint64_t from_ns, to_ns;  // the last; to_ns 0: it lasts
};

struct control;

struct session {
	const struct options *options;
	bool serving;    // in waiters_serve
	bool standalone; // the program started ctp-run, and finds its trace complete when it ends
	struct recorder recorder;
	struct shm first; // the first image's region: asked for others, and version 1's
	struct process *
		*processes; // [0]: the one that ctp-run started, to the end; then children, while they live
	size_t n_processes, room;
	unsigned begun;           // processes so far
	unsigned descriptors_max; // that ctp-run may have open
	unsigned backlog;         // children that ended, or began, since the ended ones were last written
	unsigned regions;         // raised whenever a process gets a region, or is forgotten
	struct ids ids;
	struct spare spares[CTP_SPARES]; // with --follow-forks
	struct harvest_sums ended;       // of children
	unsigned found;                  // findings of children
	unsigned escaped;                // children that went on without libctp.so
	uint64_t forks,
		forked;    // children made by fork, and those of them that were traced: of regions now gone
	uint64_t last_ns;  // since when no process lives that is known; 0: one does
	uint64_t asked_ns; // when the present answer was given
	const char *region_path;    // of the first region, if it is a file; else NULL
	const char *library;        // path of libctp.so; NULL: it is not ours to know
	struct descent_run descent; // with --follow-forks
	unsigned images;            // program images after the first of each process
	bool spent;                 // there were too many of them
	unsigned detached;          // children that went on: no signal goes to them
	struct v1 *v1;
	struct metrics *metrics; // --metrics; else NULL
	uint64_t clock_again_ns,
		clock_step_ns; // when the clock's rate is measured next, and how long after that
	struct session_snapshots snapshots;
	struct session_pauses pauses;
	const struct event_list *events; // which of the program's own: --events, or `chosen`
	struct event_list chosen;        // by ctp-ctl (choose.h)
	struct uprobes *uprobes;         // NULL: --events names none
	uint64_t uprobes_lost;           // of lists before the present one
	struct control *control;         // ctp-ctl's socket; NULL: it could not be made
	bool incomplete;                 // tables of one that has ended could not be written
	bool late;                       // at the last turn, of any process (harvest.h)
};

// Makes the region (or, serving, takes fd). 0 or -errno; -EEXIST as shm_init.
int session_region(struct session *s, const struct options *o, bool libasan);
int session_region_adopt(struct session *s, const struct options *o, int fd);
// Makes the trace of `pid`, whose program is `exe` (NULL: that which it is already). What can fail on a full
// disk fails here, while the program can still be kept from starting. As output_init.
int session_open(struct session *s, const char *output, pid_t pid, char **command, const char *exe);
// Takes the trace away again: the program did not start.
void session_undo(struct session *s);
// Begins to record the USDT probes that --events names: of a program (path) before it starts, of a process
// that runs.
void session_uprobes(struct session *s, const char *path);
// The list is another one.
void session_uprobes_again(struct session *s);
uint64_t session_uprobes_lost(const struct session *s);
// The program runs: makes the rest.
void session_started(struct session *s);
// May a long sleep be risked? Not where somebody's end can only be seen by looking, or version-1 probes
// overwrite what is not read in time.
bool session_may_idle(const struct session *s);
bool session_exits(const struct session *s); // exit has begun in a process that lives
// What is done now and then: lets go of the regions' pages (what was looked at in passing is not to stay with
// us), and of the trace that was replaced.
void session_forget(struct session *s);
// SIGTERM has been sent to p.
void session_sigterm_sent(struct session *s, struct process *p, uint64_t ns);
// Does any process live that is traced, or may yet ask to be?
bool session_lives(struct session *s);
static inline struct process *session_first(const struct session *s)
{
	return s->processes[0];
}
// What all processes add up to.
struct harvest_sums session_sum(const struct session *s);
// Has any of the processes that are known yet C++20 coroutines?
bool session_stackless(const struct session *s);
// How many findings the witnesses know.
unsigned session_found(const struct session *s);
// How many children were made by fork and not traced.
uint64_t session_untraced(const struct session *s);
void session_deinit(struct session *s);

// What every region of this run says from its start.
void session_describe(const struct session *s, struct shm *shm, uint32_t more_options);
// Makes a region for a process to which so many ids were given before. 0 or -errno.
int session_fresh_region(struct session *s, struct shm *fresh, uint64_t ids);
// With --follow-forks: makes the spare regions that are missing.
void session_offer_spares(struct session *s);
// Room for a process more, which is still empty. NULL: no memory.
struct process *session_process(struct session *s);
void session_drop(struct session *s, struct process *p); // forgets a process
// Are so many children there, or waiting to be written, that no region is to be made for another one?
bool session_full(const struct session *s);
// Process *p is done with; the children that it made are counted.
void session_count(struct session *s, const struct process *p);
