// SPDX-License-Identifier: MIT
//
// manifest.h - ctp/trace.json: which programs ran, when, by which clock, and how they ended.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct manifest_image {
	unsigned index;
	unsigned process; // 0 is the one that ctp-run started
	uint64_t pid;     // 0 = not said
	uint64_t attached_ns;
	char *exe; // NULL = not said
	// of its own process, if that is not the first: those of the manifest are the first one's
	uint64_t snapshot_ns;
	char *snapshot_reason;
	uint64_t term_forwarded_ns;
};

struct manifest {
	uint32_t layout;                       // of the region; 0 = not said
	uint32_t compressed;                   // in which way packets are packed (codec/pack.h); 0 = in none
	char *uuid, *host, *boot_id, *started; // of the run (spec/trace.md); NULL = not said
	char *labels;      // a JSON object of strings, by whoever filed the trace; NULL = none
	unsigned part;     // of the run's snapshots; 0 = the trace itself
	uint64_t wall_ns0; // CLOCK_REALTIME at ns0; 0 = not said
	char *tool;        // that wrote it, "ctp-run x.y"; NULL = not said
	char *command;     // its words with blanks between; NULL = not said
	char **argv;       // the words; the first alone unless --record-args was given
	size_t nargv;
	bool complete;
	bool ticks_are_ns; // no two pairs to convert with, or clock.kind is "monotonic"
	uint64_t ticks0, ns0, ticks1, ns1;
	uint64_t snapshot_ns;       // 0 = none
	char *snapshot_reason;      // NULL = none
	uint64_t term_forwarded_ns; // 0 = not sent on
	int ended_signal;           // that the first process died by; 0 = by none; -1 = not known
	uint64_t dropped_packets, dropped_records, v1_lost, v1_unplaced;
	uint64_t paused_records; // that came while recording was stopped
	bool flight;             // only the newest history was kept
	struct manifest_image *images;
	size_t nimages;
	char **coverage;
	size_t ncoverage;
	char **unseen; // what switches past the hooks
	size_t nunseen;
};

typedef struct json_t json_t;

// Reads trace.json in the folder `ctp`. 0; -ENOENT: no such file; -EPROTO: not the manifest of a ctp trace;
// why file_open refuses it.
int manifest_read(struct manifest *m, int folder);
// The same as JSON; NULL: *why.
json_t *manifest_load(int folder, int *why);
void manifest_deinit(struct manifest *m);
// Ticks to CLOCK_MONOTONIC ns; 0 stays 0 ("never").
uint64_t manifest_ns(const struct manifest *m, uint64_t ticks);
