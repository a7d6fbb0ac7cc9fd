// SPDX-License-Identifier: MIT
//
// metrics.h - ctp-run --metrics: an HTTP server within the engine's loop, for Prometheus.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/clock.h"
#include "engine/record/harvest.h"
#include "engine/witness/witness.h"

struct metrics;

struct metrics_process {
	const struct ctp_region *region;
	const struct witness *witness; // or NULL
};

// What is so at a turn.
struct metrics_now {
	const struct metrics_process *processes;
	size_t n;
	struct harvest_sums sums; // of all processes, also those that have ended
};

// NULL, or why this ctp has none: a package.
const char *metrics_lacks(void);
// Is it [ADDR:]PORT or unix:PATH?
bool metrics_is_address(const char *where);
// Binds it, before the program starts. flight: no history is read. 0, or -errno and why.
int metrics_open(struct metrics **out, const char *where, const struct clock_pairs *clock, bool flight,
		 char *why, size_t bytes);
void metrics_close(struct metrics *m);
// The program has started: from here on requests are answered. 0 or -errno.
int metrics_serve(struct metrics *m);
const char *metrics_url(const struct metrics *m);
// What harvests are to show (harvest.seen, with metrics_seen_arg); NULL: nothing.
void (*metrics_seen(const struct metrics *m))(void *arg, const struct writer_batch *b);
void *metrics_seen_arg(const struct metrics *m);
// At every turn: one system call when nobody asks.
void metrics_turn(struct metrics *m, const struct metrics_now *now);
