// SPDX-License-Identifier: MIT
//
// recorder.h - the trace under way: what all processes of a run write to.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "engine/coverage/module_scan.h"
#include "engine/record/event_classes.h"
#include "engine/record/harvest.h"
#include "engine/record/identity.h"
#include "engine/record/manifest.h"
#include "engine/record/output.h"
#include "engine/record/writer.h"
#include "engine/target/clock.h"
#include "engine/target/open_stacks.h"

struct recorder {
	// Set by the caller before recorder_open.
	uint64_t max_bytes; // of history; 0: no limit
	uint64_t flight_ns; // --flight: how far back history is written; 0: all of it
	bool compress;
	bool record_args;         // --record-args
	struct clock_pairs clock; // with the first pair
	// Called between two tables of a process that has ended, as the disk may be slow, and others wait.
	// NULL: nobody does
	void (*meanwhile)(void *arg);
	void *meanwhile_arg;
	void (*seen)(void *arg, const struct writer_batch *b); // --metrics: harvest.seen of all processes
	void *seen_arg;
	struct identity identity;

	struct witness_clock witness_clock; // the same clock, for what inspects the program
	struct output output;
	struct writer *writer;
	struct event_classes classes; // events of the program's own
	struct manifest manifest;
	struct module_scan modules; // of all processes
	uint64_t table_bytes;       // of tables, written so far
	bool no_tables;             // there was no time for those of a snapshot
	int error;                  // the first that was noted, -errno; 0: none
	bool error_reported;
};

// Creates the trace of `pid` under a hidden name. As output_init; on failure nothing is left but output.path.
int recorder_open(struct recorder *r, const char *pattern, pid_t pid, char **command);
// Writes the metadata and a first manifest, and gives the trace its name. As output_publish.
int recorder_publish(struct recorder *r);
void recorder_deinit(struct recorder *r);

// Measures the rate of the clock anew: it only gets better.
void recorder_clock_again(struct recorder *r);
// --flight: history before this (ticks) is not to be written.
uint64_t recorder_since(const struct recorder *r);

// Adds an image to the manifest. Its index, or -ENOMEM.
int recorder_add_image(struct recorder *r, const struct manifest_image *about);
// Adds a line on what the trace does not hold, once.
void recorder_cover(struct recorder *r, const char *text);
// Writes the tables of the region that *h empties to ctp/image<image>[/sub], with one retry for each piece of
// history that makes room. False if they are not on the disk. Not written in full by late_ns: they are
// removed again. open: as in tables.h. ended: its process has ended.
bool recorder_tables(struct recorder *r, unsigned image, const char *sub, const struct harvest *h,
		     const struct open_stacks *open, uint64_t late_ns, bool ended);
// Writes the metadata and the manifest as they are now.
void recorder_write_manifest(struct recorder *r);

// Is the disk full (e says so), and has a piece of history made room? Then try again.
bool recorder_make_room(struct recorder *r, int e);
// Keeps the first error (e < 0), and reports it.
void recorder_note_error(struct recorder *r, int e);
// Reports the first error, also of the writer, in one line; later ones are only counted.
void recorder_report_error(struct recorder *r);
