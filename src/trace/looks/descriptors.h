// SPDX-License-Identifier: MIT
//
// descriptors.h - the kernel's names of descriptors that coroutines wait for (spec/trace.md,
// "descriptors.jsonl").
#pragma once

#include <stddef.h>
#include <stdint.h>

struct descriptor {
	int64_t fd;
	uint32_t gen;
	char *name;
};

struct descriptors {
	struct descriptor *v; // in order of their numbers
	size_t n, room;
	uint64_t bad_lines;
};

// 0 or -errno; no file: 0.
int descriptors_read(struct descriptors *d, int folder, const char *name);
void descriptors_deinit(struct descriptors *d);
// "127.0.0.1:8080 <- 127.0.0.1:51122", "/run/x.sock"; NULL: not known, or a mere number.
const char *descriptors_name(const struct descriptors *d, int64_t fd, uint32_t gen);
