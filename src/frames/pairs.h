// SPDX-License-Identifier: MIT
//
// pairs.h - the coroutines that C++ compilers made of a program's functions. A suspended one's frame begins
// with the addresses of two functions: what resumes it, and what destroys it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pair_maker { PAIR_GCC, PAIR_CLANG };

struct pair_code { // [at, at + bytes): code in which the function's state may be stored
	uint64_t at, bytes;
};
enum { PAIR_CODES = 4 };

struct pair {
	uint64_t resume, destroy, destroy_bytes;
	const char *symbol; // "_Z9read_bytei", the function's; shared by all pairs of the function; NULL: not
			    // known
	enum pair_maker maker;
	bool by_code;                       // no symbol says so, but the code does
	bool elided;                        // of a frame that lies in its caller's
	struct pair_code codes[PAIR_CODES]; // the resume function, the ramp, the cold part
	unsigned ncodes;
	uint32_t module; // as given to pairs_add
};

struct pairs {
	struct pair *v; // by destroy, then resume
	size_t n, room;
	// what follows is pairs.c's
	char **symbols;
	size_t nsymbols, symbols_room;
};

// An object file that the program has mapped: its bytes from `offset` on at `start`.
struct pairs_module {
	int fd;
	const char *path; // beside it and below /usr/lib/debug its debug file is looked for; NULL: nowhere
	uint64_t start, offset;
	uint32_t number;
	bool by_code; // without a symbol table, its code is asked
};

// Adds the pairs that its symbol table, or its debug file's, tells, or its code. 0; *named: there was such a
// table. -ENOEXEC: no ELF file of 64 bits; -ENOMEM.
int pairs_add(struct pairs *p, const struct pairs_module *m, bool *named);
// To be called once all were added; lookups work from here on.
void pairs_sort(struct pairs *p);
void pairs_deinit(struct pairs *p);

// The first pair of these two words, and in *same how many there are: the linker folds functions that have
// the same code. resume 0: of a frame at its last suspension. NULL: none.
const struct pair *pairs_find(const struct pairs *p, uint64_t resume, uint64_t destroy, size_t *same);
