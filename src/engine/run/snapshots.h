// SPDX-License-Identifier: MIT
//
// snapshots.h - --flight: complete traces while the program runs on, as PATH.1, PATH.2 ...
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;
struct manifest;

// All that is kept, with the tables as they are now. reason: "request" or "finding".
void snapshots_take(struct session *s, const char *reason);
// Takes one if a witness has become certain of something, and it is time.
void snapshots_poll(struct session *s);
// Switches that have been written at the end, or will not have been.
uint64_t snapshots_written(const struct session *s);
// Into the manifest: what was kept of so many switches.
void snapshots_say(const struct session *s, struct manifest *m, uint64_t kept, uint64_t all);
