// SPDX-License-Identifier: MIT
//
// opaque_words.h - words and text that look like none of what programs usually keep: no address, no number,
// no name. Keys, digests and compressed data look so, and so do pointers that were encrypted, multiplied or
// shared out, in whatever way.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/search.h"

// By its bits alone.
bool opaque_word(uint64_t word);
// How many such words n characters may stand for that none of those of opaque_text_has() surrounds; 0: they
// look like a name or a number.
unsigned opaque_text(const unsigned char *text, size_t n);
bool opaque_text_has(unsigned char c);

// How many there are in bytes that lie elsewhere than in memory.
uint64_t opaque_bytes(const unsigned char *bytes, size_t n);

struct opaque_words {
	struct search
		*s; // its graph has been spread: what lies in objects that nothing reaches does not count
	// results
	uint64_t n, first; // how many there are, and where the first one lies
	char why[160];     // if it failed
};

// Those that the program made: no constants of its files, nothing of the C library's, of the loader's and of
// the kernel's. Many in a row are data. 0; -EAGAIN (time), -EIO (a hole): `why`; -ENOMEM.
int opaque_words_count(struct opaque_words *o);
