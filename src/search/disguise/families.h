// SPDX-License-Identifier: MIT
//
// families.h - small numbers that stand in a row and are the distances of several coroutines from one base.
//
// A small number alone tells nothing: all are everywhere. A table in which three and more such numbers stand,
// each the place of another coroutine, is hardly there by chance: how long such rows are by chance is told by
// decoys, the same numbers with something added. Only few coroutines are looked for so, in a memory that is
// not large; of many, chance can be told otherwise (distances.h).
#pragma once

#include "search/disguise/handle_forms.h"

struct families_row { // one number of a row
	uint64_t at, address;
	uint32_t form;
	uint32_t length; // of the row
};

struct families {
	const struct handle_forms *f;
	bool (*counts)(void *ctx, uint64_t at); // may the program keep a number there?
	void *ctx;
	struct handles values; // form: of a family
	struct family *v;
	size_t n;
	struct members *members; // by kind
	struct families_row *rows;
	size_t nrows, room;
	uint32_t by_chance; // length of the longest row of decoys
	uint64_t tries;
	bool failed;
};

// All families; of too many or too few coroutines, none. False if out of memory.
bool families_ready(struct families *s, const struct handle_forms *f);
// Looks for rows in a piece of memory.
void families_find(struct families *s, const unsigned char *b, size_t n, uint64_t at);
// Keeps those numbers of rows that are longer than any by chance, and lead to what is looked for.
void families_settle(struct families *s);
void families_deinit(struct families *s);
