// SPDX-License-Identifier: MIT
//
// manifest.h - ctp/trace.json: what ran, when, and how it ended.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"
#include "engine/coverage/module_scan.h"
#include "engine/record/identity.h"

struct manifest_image {
	unsigned index, process; // process 0 is the one that ctp-run started
	pid_t pid, parent;
	char exe[512];
	uint64_t attached_ns;
	bool guest;
	// as those of the manifest, of its own process
	uint64_t snapshot_ns;
	const char *snapshot_reason;
	uint64_t term_forwarded_ns;
};

#define MANIFEST_COVERAGE 8

struct manifest {
	bool complete;
	char **command;   // argv; NULL: unknown
	bool record_args; // all of it is written, not argv[0] alone
	pid_t pid;
	const struct identity *identity;
	const struct clock_pairs *clock;
	unsigned part;        // of a snapshot of --flight: its number; 0: the trace itself
	uint64_t snapshot_ns; // 0: none yet
	const char *snapshot_reason;
	uint64_t ended_ns; // 0: not yet
	const char *ended_how;
	int ended_code;
	struct manifest_image *images;
	unsigned n_images;
	uint64_t term_forwarded_ns; // 0: none
	uint64_t dropped_packets, dropped_records, v1_lost, v1_unplaced;
	uint64_t pauses, paused_ns, paused_records; // while recording was stopped; 0: it never was
	bool compressed;                            // --compress
	uint64_t flight_bytes;                      // 0: no --flight
	uint64_t flight_kept, flight_not_kept;      // switches
	char coverage[MANIFEST_COVERAGE][512];
	unsigned n_coverage;
	const struct module_scan *modules; // their lines follow the others
};

// Writes ctp/trace.json under dir, by way of a second file. 0 or -errno.
int manifest_write(const struct manifest *m, int dir);
