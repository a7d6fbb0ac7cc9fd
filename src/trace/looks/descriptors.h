// SPDX-License-Identifier: MIT
//
// descriptors.h - the kernel's names of descriptors that coroutines wait for, and what of them was unread at
// the end (spec/trace.md, "descriptors.jsonl").
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct descriptor {
	int64_t fd;
	uint32_t gen;
	char *name;        // NULL: none, or a mere number
	bool asked, ready; // was the kernel asked? Is there something to read, or the end of it?
	int64_t unread;    // bytes
	bool disarmed;     // a timerfd that several set has no expiry set, and none to be read
	uint64_t ns;       // when that was
	uint64_t ready_ns; // and since when it was ready each time; 0: it is not, or that is not known
};

struct descriptors {
	struct descriptor *v; // in order of their numbers
	size_t n, room;
	uint64_t bad_lines;
};

// 0 or -errno; no file: 0.
int descriptors_read(struct descriptors *d, int folder, const char *name);
void descriptors_deinit(struct descriptors *d);
// NULL: no line says more than a number.
const struct descriptor *descriptors_find(const struct descriptors *d, int64_t fd, uint32_t gen);
// "127.0.0.1:8080 <- 127.0.0.1:51122", "/run/x.sock"; NULL: not known, or a mere number.
const char *descriptors_name(const struct descriptors *d, int64_t fd, uint32_t gen);
