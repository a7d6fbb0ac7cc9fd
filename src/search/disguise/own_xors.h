// SPDX-License-Identifier: MIT
//
// own_xors.h - finds numbers that are an address combined by exclusive or with where they are kept: with the
// address of the structure that they are a member of, or, as glibc's free lists, with their own, shifted.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

enum { OWN_XORS_SIEVE = 1 << 10, OWN_XORS_CLASSES = 2 };

struct own_xor_hit {
	uint64_t at, address, own; // own: of the structure
	uint8_t class;
};

struct own_xors {
	const struct memory *memory;
	const uint64_t *begins; // of objects that are looked for; sorted
	size_t nbegins;
	const uint64_t *all; // these, and of what may begin in them: found where all bits are compared
	size_t nall;
	bool (*counts)(void *ctx, uint64_t at); // may the program keep it there, and is that no such object?
	void *ctx;
	struct own_xor_hit *hits; // once they are settled: those that are not there by chance
	size_t nhits;
	bool failed; // out of memory
	// what follows is own_xors.c's
	uint64_t *decoys; // sorted
	size_t ndecoys, room;
	uint32_t found[OWN_XORS_CLASSES], of_decoys[OWN_XORS_CLASSES];
	uint64_t sieve[OWN_XORS_SIEVE];
};

// False if out of memory.
bool own_xors_ready(struct own_xors *o);
// Bytes that lie at `at`. Numbers of 32 bits and of 64 are looked at.
void own_xors_find(struct own_xors *o, const unsigned char *bytes, size_t n, uint64_t at);
void own_xors_settle(struct own_xors *o);
void own_xors_deinit(struct own_xors *o);
