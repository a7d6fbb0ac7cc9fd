// SPDX-License-Identifier: MIT
//
// memory.h - the memory that is searched: that of a process, or what a core file holds of one.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/maps.h"
#include "search/memory/span.h"

struct corefile;

struct memory {
	const struct maps_line *maps; // by address; the caller's, who may replace them
	size_t nmaps;
	uint64_t deadline_ns;         // CLOCK_MONOTONIC: what takes long ends then, and says so
	bool (*cancelled)(void *ctx); // the same, whenever it says so; NULL: never
	void *ctx;
	// what follows is memory.c's
	const struct corefile *core; // NULL: a process
	pid_t pid;
	int page_map;    // of /proc/PID/pagemap; -1: the kernel does not show it
	int64_t began_s; // when the process did
};

// Without mappings and deadline, which are the caller's to fill in.
void memory_of_process(struct memory *m, pid_t pid);
void memory_of_core(struct memory *m, const struct corefile *core);
void memory_close(struct memory *m); // one that was never opened, but zeroed, too

bool memory_late(const struct memory *m);
// The mapping that holds `addr`, or NULL.
const struct maps_line *memory_map(const struct memory *m, uint64_t addr);

// The file of this mapping, to be read, if it was changed since the process began (to the second): what is
// in it may come from the process, whether or not it has looked at those pages. -1: it was not. Below -1: it
// was, and cannot be opened.
int memory_open_changed(const struct memory *m, const struct maps_line *map);
// The file of a mapping, if it is memory alone (tmpfs: memfd, shared memory), in which the reading of a page
// that nobody ever wrote makes one. -1: it is not, or may not be opened.
int memory_open_sparse(const struct memory *m, const struct maps_line *map);

// Bytes read from `addr` on: less than asked at the first hole. `force`: also where the program itself
// may not read (PROT_NONE).
size_t memory_peek(const struct memory *m, uint64_t addr, void *to, size_t bytes, bool force);
// The same of a process that is named by its pid alone.
size_t memory_peek_process(pid_t pid, uint64_t addr, void *to, size_t bytes, bool force);

// As memory_peek, in a private mapping of no file: what was never touched reads as zeros, and stays
// untouched. Where the kernel does not show which pages those are, all are read.
size_t memory_peek_touched(const struct memory *m, uint64_t addr, void *to, size_t bytes);

// From where on there may be a page that was touched. A damaged core may say that a mapping has terabytes.
uint64_t memory_next(const struct memory *m, uint64_t addr);
// The entries of n pages from page number `first` on, as in proc_pid_pagemap(5); of a core, whether the file
// holds the page. How many were told; 0: none can be.
size_t memory_page_entries(const struct memory *m, uint64_t first, uint64_t *entries, size_t n);
#define MEMORY_PRESENT (1ULL << 63)
#define MEMORY_SWAPPED (1ULL << 62)
#define MEMORY_FILE (1ULL << 61) // of a file, or shared

// Pages that were touched, as spans.
enum { MEMORY_PAGES = 64 };
struct memory_pages {
	struct span v[MEMORY_PAGES]; // in order, with something between
	size_t n;
	uint64_t end; // so far they are told
};
// Those of the pages [lo, hi), from lo on: further where they are not all told. `own`: no page of a file, nor
// a shared one. False: the kernel does not tell.
bool memory_touched(const struct memory *m, struct memory_pages *p, uint64_t lo, uint64_t hi, bool own);
