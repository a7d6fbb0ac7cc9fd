// SPDX-License-Identifier: MIT
//
// functions.h - the C++20 coroutines that a process may have, by the symbols of what it has mapped.
#pragma once

#include "frames/program.h"

struct functions {
	struct pairs pairs;
	size_t objects; // mappings of code when they were read
	uint64_t read_ns;
};

// Reads them anew where objects were mapped since.
void functions_refresh(struct functions *f, pid_t pid, const struct maps_line *maps, size_t n);
void functions_deinit(struct functions *f);
