// SPDX-License-Identifier: MIT
//
// disguised.h - the second pass of the search: does a word in disguise (disguise.h) reference what no plain
// word does?
//
// It is for owners that the first pass has shown to be unreachable, and costs one more walk over memory; a
// second one, if the program is seen to keep distances from a base.
#pragma once

#include "search/disguise/handle_forms.h"
#include "search/search.h"

struct disguised_begin {
	struct handle_address address; // where an object of the owner begins, as the program would name it
	uint32_t node;
};

struct disguised_hit {
	uint64_t at, address;
	uint32_t form; // enum disguise, or more: a distance
	uint64_t key;  // of DISGUISE_XOR: where the other word lies; 0: it is glibc's pointer guard
};

struct disguised {
	struct search *s; // its graph has been spread
	const struct disguised_begin *begins;
	size_t nbegins;
	const struct handle_address
		*living; // where coroutines begin that can be reached: they show which forms are in use
	size_t nliving;
	unsigned
		table_least; // so many of them must a block lead to, for a base outside it to be searched for
	// results: the graph has been spread anew
	struct disguised_hit *hits; // those that count, by place
	size_t nhits;
	uint64_t bytes;
	char why[160]; // if it failed
	// what follows is disguised.c's
	size_t room;
	bool failed;
};

// 0; -EAGAIN (time), -EIO (a hole): `why`; -ENOMEM.
int disguised_run(struct disguised *d);
void disguised_deinit(struct disguised *d);
// The first hit that is the word at this place; NULL: there is none.
const struct disguised_hit *disguised_hit_at(const struct disguised *d, uint64_t at);
// In which form the word at this place references something: DISGUISE_NONE if it does so as it is.
enum disguise disguised_at(const struct disguised *d, uint64_t at);
