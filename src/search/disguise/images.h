// SPDX-License-Identifier: MIT
//
// images.h - what an address looks like in forms that are looked for byte by byte: written out in digits of
// any base, and words whose bits are in another order or recoded.
//
// All of an image must be there, so that chance does not count. It is found by a part of four bytes, of which
// one lies where a number of 32 bits may.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/disguise/disguise.h"

enum {
	IMAGES_OF_ALL = 4,    // so many are looked for of any address,
	IMAGES_TARGETS = 256, // the others of so many addresses; of fewer, where much is searched
	IMAGES_TARGETS_LARGE = 8,
	IMAGES_RADIX_LARGE =
		16, // digits of lower bases are alike: too many of a large memory would be looked at
	IMAGES_PARTS = 4,
	IMAGES_REACH = 80, // bytes on either side of a part
	IMAGES_MOST = 72
};

struct image {
	char bytes[IMAGES_MOST];
	uint8_t n;                       // bytes
	uint8_t parts, at[IMAGES_PARTS]; // where each part begins; of four, one for each place modulo four
	uint8_t radix;                   // of its digits; 0: it has none
	uint8_t base;                    // of digits that may not go on around it; 0: others may lie there
	enum disguise form;
};

// How many there are; and how many of them, which come first, are written out.
unsigned images_count(void);
unsigned images_texts(void);
// False: the address has no such image, or it would be too short.
bool image_of(unsigned which, uint64_t address, struct image *to);
// False: too many words are as this part is, so it is not looked for.
bool image_part(const struct image *i, unsigned part, uint32_t *value);
// Is all of it there, around the part that lies at `at`?
bool image_at(const struct image *i, const char *bytes, size_t n, size_t at);
