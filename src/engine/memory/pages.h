// SPDX-License-Identifier: MIT
//
// pages.h - reading the program's memory without giving it pages: to read one
// that was never touched, even from outside, makes it.
#pragma once

#include "engine/target/proc.h"

struct pages {
	pid_t pid;
	int map; // its pagemap; -1: the kernel does not show it
};

void pages_open(struct pages *p, pid_t pid);
void pages_close(struct pages *p);

// As proc_peek, in a private mapping of no file: what was never touched reads as zeros, and stays
// untouched. Where the kernel does not show which pages those are, all are read.
size_t pages_peek(const struct pages *p, uint64_t addr, void *to, size_t bytes);
