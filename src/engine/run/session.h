// SPDX-License-Identifier: MIT
//
// session.h - one run: the processes that are traced, and the trace that all
// of them go to.
#pragma once

#include "base/clock.h"
#include "engine/run/descent.h"
#include "engine/run/ids.h"
#include "engine/run/options.h"
#include "engine/record/output.h"
#include "engine/run/process.h"
#include "engine/run/snapshots.h"
#include "engine/coverage/module_scan.h"
#include "engine/record/v1.h"

struct session {
	const struct options *options;
	struct clock_pairs clock;
	struct identity identity;
	struct shm first; // the first image's region: asked for others, and version 1's
	struct process **processes; // [0]: the one that ctp-run started, to the end; then children, while they live
	size_t n_processes, room;
	unsigned begun;             // processes so far
	struct ids ids;
	struct harvest_sums ended;  // of children
	unsigned escaped;           // children that went on without libctp.so
	uint64_t forks, forked;     // children made by fork, and those of them that were traced: of regions now gone
	uint64_t last_ns;           // since when no process lives that is known; 0: one does
	uint64_t asked_ns;          // when the present answer was given
	const char *region_path;    // of the first region, if it is a file; else NULL
	const char *library;        // path of libctp.so; NULL: it is not ours to know
	struct descent_run descent; // with --follow-forks
	unsigned images;            // program images after the first of each process
	uint64_t table_bytes;       // what their tables take on the disk
	bool spent;                 // there were too many of them
	unsigned let_go;            // children that went on: no signal goes to them
	struct output output;
	struct writer *writer;
	struct v1 *v1;
	struct witness_clock witness_clock;
	struct manifest manifest;
	struct switchers switchers; // of all processes
	uint64_t clock_again_ns, clock_step_ns;
	bool no_tables;  // there was no time for those of a snapshot
	struct snapshots snapshots; // --flight
	bool incomplete; // tables of one that has ended could not be written
};

// Makes the region (or, serving, takes fd). 0 or -errno; -EEXIST as shm_init.
int session_region(struct session *s, const struct options *o, bool libasan);
int session_region_adopt(struct session *s, const struct options *o, int fd);
// Makes the trace of `pid`, whose program is `exe` (NULL: that which it is already). What can fail on a full
// disk fails here, while the program can still be kept from starting. As output_init.
int session_open(struct session *s, const char *output, pid_t pid, char **command, const char *exe);
// Takes the trace away again: the program did not start.
void session_undo(struct session *s);
// The program runs: makes the rest.
void session_started(struct session *s);
// One turn of the loop. True if the program was busy.
bool session_turn(struct session *s);
// May a long sleep be risked? Not where somebody's end can only be seen by looking, or version-1 probes overwrite what
// is not read in time.
bool session_may_idle(const struct session *s);
bool session_exits(const struct session *s); // exit has begun in a process that lives
// What is done now and then: lets go of the regions' pages (what was looked at in passing is not to stay with us), and
// of the trace that was replaced.
void session_forget(struct session *s);
// A look at all that live, before SIGTERM is sent to them.
void session_snapshot(struct session *s, const char *reason);
// SIGTERM has been sent to p.
void session_told(struct session *s, struct process *p, uint64_t ns);
// Answers the wishes for a last look. close: write the trace's end, too.
void session_final(struct session *s, bool close);
// Does any process live that is traced, or may yet ask to be?
bool session_lives(struct session *s);
static inline struct process *session_first(const struct session *s)
{
	return s->processes[0];
}
// Writes everything there is, with the tables. May be called again.
void session_write(struct session *s);
// The first process is gone.
void session_ended(struct session *s, const char *how, int code);
// What all processes add up to.
struct harvest_sums session_sum(const struct session *s);
// How many children were made by fork and not traced.
uint64_t session_untraced(const struct session *s);
void session_deinit(struct session *s);

// --flight: history before this (ticks) is not to be written.
uint64_t session_since(const struct session *s);

// For process.c and follow.c. What every region of this run says from its start.
void session_describe(const struct session *s, struct shm *shm, uint32_t more_options);
// Room for a process more, which is still empty. NULL: no memory.
struct process *session_process(struct session *s);
void session_drop(struct session *s, size_t i); // forgets a process
// A region is done with; the children that it tells of are counted.
void session_count(struct session *s, const struct ctp_region *r);
// The disk is full (r says so), and a piece of history has made room: try again.
bool session_make_room(struct session *s, int r);
void session_note_error(struct session *s, int r);
