// SPDX-License-Identifier: MIT
//
// scan.h - finds every word in a process's writable memory that points into
// one of some address ranges.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"
#include "search/memory/span.h"

struct scan {
	const struct memory *memory;
	const struct span *targets; // sorted, disjoint
	size_t ntargets;
	const struct span *skip; // sorted, disjoint: not read
	size_t nskip;
	uint64_t guard;  // how glibc disguises a jmp_buf's addresses
	unsigned rotate; // (ctp_ext.pointer_guard); guard 0: not looked for
	void (*hit)(void *ctx, uint64_t at, uint64_t address); // the word at `at` holds it
	// In place of hit where the word's upper 16 bits are not zero; NULL: hit.
	void (*tagged)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	// results
	uint64_t bytes; // looked at
	char why[160];  // if it failed
};

// 0 when all that can hold a pointer was read; -EAGAIN (time) or -EIO (hole),
// with `why`; -ENOMEM.
int scan_run(struct scan *s);

// Searches bytes that were read elsewhere; hits are told as at `at` and on.
void scan_bytes(struct scan *s, const unsigned char *bytes, size_t n, uint64_t at);

// Index of the span that holds `addr`, or n.
size_t scan_find(const struct span *v, size_t n, uint64_t addr);
