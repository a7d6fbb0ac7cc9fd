// SPDX-License-Identifier: MIT
//
// session.h - one traced process: its regions (one per program image), what
// takes events out of them, and the trace they go to.
#pragma once

#include "engine/clock.h"
#include "engine/harvest.h"
#include "engine/manifest.h"
#include "engine/options.h"
#include "engine/output.h"
#include "engine/shm.h"
#include "engine/v1.h"
#include "engine/witness.h"

struct session {
	const struct options *options;
	struct clock_pairs clock;
	struct shm first, next; // the first image's region; the present one's, if image > 0
	const struct ctp_region *region; // the present one
	unsigned image;
	pid_t pid;
	struct output output;
	struct writer *writer;
	struct harvest *harvest;
	struct v1 *v1;
	struct witness *witness;
	struct witness_clock witness_clock;
	FILE *witness_out, *descriptors;
	struct manifest manifest;
	uint64_t clock_again_ns, clock_step_ns;
	uint64_t exe_again_ns;
	char exe[4096]; // what the process was when last looked at
	bool final_done;
};

// Makes the region (or, serving, takes fd). 0 or -errno; -EEXIST as shm_init.
int session_region(struct session *s, const struct options *o, bool libasan);
int session_region_adopt(struct session *s, const struct options *o, int fd);
// Makes the trace of `pid`. As output_init.
int session_open(struct session *s, const char *output, pid_t pid, char **command);
// Takes the trace away again: the program did not start.
void session_undo(struct session *s);
// The program runs: what is it really?
void session_started(struct session *s, const char *exe);
// One turn of the loop. True if the program was busy.
bool session_turn(struct session *s);
// A look at the living process, before something happens to it.
void session_snapshot(struct session *s, const char *reason);
// SIGTERM has been sent to the process.
void session_told(struct session *s, uint64_t ns);
// Answers the guest's wish for a last look. close: write the trace's end, too.
void session_final(struct session *s, bool close);
// Writes everything there is, with the tables. May be called again.
void session_write(struct session *s);
// The process is gone.
void session_ended(struct session *s, const char *how, int code);
void session_deinit(struct session *s);
