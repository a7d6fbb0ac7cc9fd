// SPDX-License-Identifier: MIT
//
// xor_words.h - finds words of 64 bits that are an address combined with a secret of the program by exclusive
// or, where the secret is a word of its memory, too.
//
// The upper 16 bits of an address are zero, so the word and its key agree in theirs, and are no addresses.
// Other words agree so as well: decoys tell how many chance explains.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/disguise/handles.h"
#include "search/search.h"

enum { XOR_WORDS_MAP = 1 << 10, XOR_WORDS_MIDDLES = 16 };

struct xor_hit {
	uint64_t at, address, key; // where the key lies; 0: glibc's pointer guard
	uint16_t upper;            // of both
	uint8_t kind;              // 0: an object begins at the address; 1: it lies in one
};

struct xor_words {
	const struct search *search;
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	const uint64_t *begins; // of objects in them; sorted
	size_t nbegins;
	bool (*lost)(void *ctx, uint64_t at); // does it lie in what is looked for?
	void *ctx;
	unsigned step;        // bytes from one word to the next: 8; or 1, then only begins are looked for
	struct xor_hit *hits; // once they are settled: those that are not there by chance
	size_t nhits;
	bool failed; // out of memory
	// what follows is xor_words.c's
	struct xor_key {
		uint64_t value, at;
	} * keys; // by value
	size_t nkeys, room;
	struct xor_bucket *buckets;          // by the upper 16 bits
	uint64_t uppers[XOR_WORDS_MAP];      // bit map of those that some key has,
	uint64_t middle[XOR_WORDS_MAP];      // and of bits 32 to 47 of targets
	uint16_t middles[XOR_WORDS_MIDDLES]; // the same
	size_t nmiddles;                     // more than there is room for: no word is passed over
	uint8_t *taken;                      // by bucket: how many keys were taken
	uint64_t *tops;                      // bit map of the upper halves of keys
	uint64_t tries;
};

// Finds the keys. False if out of memory.
bool xor_words_ready(struct xor_words *x);
// Bytes that lie at `at`. Every step is looked at; MEMORY_WALK_BEHIND more bytes may be read behind them.
void xor_words_find(struct xor_words *x, const unsigned char *bytes, size_t n, uint64_t at);
void xor_words_settle(struct xor_words *x);
void xor_words_deinit(struct xor_words *x);

// The ends of a list whose links are the addresses of both neighbours, xored, lie in static storage: the
// one's link is the other's address and that of the first object, the other's that of the last object and of
// the one.
enum { XOR_LINKS = 512 };
struct xor_links {
	const struct memory *memory;
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	struct {
		uint64_t at, word;
	} v[XOR_LINKS]; // that may be such
	size_t n;       // above XOR_LINKS: too many
};
void xor_links_find(struct xor_links *x, const unsigned char *bytes, size_t n, uint64_t at);
// Once all of memory was looked at.
void xor_links_settle(const struct xor_links *x);
