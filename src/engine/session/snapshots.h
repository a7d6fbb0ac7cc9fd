// SPDX-License-Identifier: MIT
//
// snapshots.h - complete traces while the program runs on: of --flight as PATH.1, PATH.2 ..., and for
// ctp-ctl.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;
struct manifest;

// All that is kept, with the tables as they are now. reason: "request" or "finding".
void snapshots_take(struct session *s, const char *reason);
// What is called again and again while files are copied, as rings fill up meanwhile.
struct snapshots_between {
	void (*call)(void *arg);
	void *arg;
};
// The same to `path`, or if that is "" beside the trace, whichever way it is recorded. An older trace there
// moves to PATH.old. 0 and the path in `said`; -errno or enum output_problem, and why.
int snapshots_request(struct session *s, const char *path, const struct snapshots_between *b, char *said,
		      size_t bytes);
// Takes one if a witness has become certain of something, and it is time.
void snapshots_poll(struct session *s);
// Switches that have been written at the end, or will not have been.
uint64_t snapshots_written(const struct session *s);
// Into the manifest: what was kept of so many switches.
void snapshots_say(const struct session *s, struct manifest *m, uint64_t kept, uint64_t all);
