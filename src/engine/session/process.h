// SPDX-License-Identifier: MIT
//
// process.h - one traced process: its region (another one after each exec), what takes events
// out of it, and the witness that inspects it.
#pragma once

#include "engine/session/descent.h"
#include "engine/session/findings.h"
#include "engine/record/harvest.h"
#include "engine/record/image_files.h"
#include "engine/record/manifest.h"
#include "engine/record/output.h"
#include "engine/record/recorder.h"
#include "engine/start/options.h"
#include "engine/start/shm.h"
#include "engine/scripts/scripts.h"
#include "engine/sets/sets.h"
#include "engine/slices/slices.h"
#include "engine/stackless/stackless_watch.h"
#include "engine/target/open_stacks.h"
#include "engine/uprobes/uprobes.h"
#include "engine/coverage/module_scan.h"
#include "engine/witness/witness.h"

struct process {
	struct recorder *recorder; // where all processes of the run are recorded
	const struct options *options;
	unsigned index; // in the trace; 0: the one that ctp-run started
	unsigned execs;
	pid_t pid, parent;
	int pidfd;                  // -1: the kernel gives none (then it is the first one)
	enum descent descent;       // how sure it is that this process is of this run
	struct descent_image image; // what its present image is known by
	uint64_t forks,
		forked; // children made by fork, and those of them that were traced: of earlier images
	int ids;        // block of ids (ids.h)
	const struct ctp_region *region; // the present one
	struct shm own;                  // the same, unless it is the session's first
	uint64_t first_id;               // ids given out before this image
	struct harvest *harvest;
	struct witness *witness;
	uint64_t control;         // witness_control() of the image that forked this one; 0
	struct findings findings; // of the present image
	unsigned found;           // findings of images that have ended
	struct sets *sets;
	struct scripts *scripts; // NULL: none are written down
	struct slices *slices;
	struct open_stacks open_stacks; // of the present image, as of its last inspection
	struct stackless_watch *stackless;
	bool had_stackless; // C++20 coroutines were found; of one that has ended
	struct image_files files;
	struct module_scan_watch watch;
	const struct event_list *events;
	struct uprobes *uprobes;     // NULL: none are recorded
	uint64_t placed;             // time of the last event of theirs
	uint32_t events_seen;        // rows of the program's own events
	struct manifest_image about; // the present image
	int listed;      // where `about` goes to in the manifest; -1: nothing worth it has happened yet
	uint64_t exe_ns; // when its program was last looked at
	uint64_t moved, moved_ns; // its threads; when that last changed
	char exe[4096];           // what the process was when last looked at
	bool final_done, ended;
	bool gone; // it had ended when it was discovered, and has no pidfd
};

// The process `pid` begins in *region, which is the session's first, or in
// p->own if region is NULL. p->recorder, p->options and p->events are set. 0 or -errno.
int process_init(struct process *p, unsigned index, pid_t pid, const struct ctp_region *region);
void process_deinit(struct process *p);
// Adds to *made the children that all its images made by fork, to *traced those that were traced.
void process_count_forks(const struct process *p, uint64_t *made, uint64_t *traced);
// What its program is: `exe`, or if that is NULL, what the kernel says.
void process_note_exe(struct process *p, const char *exe);
// It runs, and need not wait for the rest: the witness, and files for what it sees. 0 or -errno.
int process_started(struct process *p);
// The process has called exec, and its new region is `fresh`, which it takes over. 0 or -errno.
int process_next(struct process *p, struct shm *fresh);
// Takes all that its rings hold.
void process_empty(struct process *p);
// One turn of the loop; `alone`: no other process needs ctp-run. True if it was busy.
bool process_turn(struct process *p, uint64_t now, bool alone);
// --flight: its tables and what is kept of its history, into another trace; `switches` is raised by those
// that went there. 0 or -errno.
int process_copy(struct process *p, const struct output *to, struct writer *w, uint64_t since,
		 uint64_t *switches);
// Writes everything there is, with the tables. May be called again. True: the tables are on the disk.
bool process_write(struct process *p);
// It is gone.
void process_ended(struct process *p);
// How many findings its witness knows.
unsigned process_found(const struct process *p);
// Has it ended? The kernel tells.
bool process_gone(const struct process *p);
// libctp.so was in its image, and no more when it ended. `became`: what it was then, if known.
bool process_escaped(const struct process *p, const char **became);

// For process_inspect.h, too:
// Moves the files of the image's directory there, if they are still in memory.
void process_store_files(struct process *p);
// Writes the tables into `sub` of that directory. False: they are not on the disk, or were not by late_ns.
bool process_dump(struct process *p, const char *sub, uint64_t late_ns);
// Lists the image in the manifest once something has happened that the trace must tell.
void process_note_activity(struct process *p);
void process_look_at_scripts(struct process *p, uint64_t now, bool last, uint64_t until);
// After SIGTERM or --timeout the exit that follows is no look of its own.
bool process_just_inspected(const struct process *p);
