// SPDX-License-Identifier: MIT
//
// Whatever place a text begins at, one of four neighbouring groups of four characters is aligned. Those are
// taken that differ most between addresses: the last ones, but for zeros that follow.
#include "search/disguise/spelled.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum spelling { LOWER, UPPER, DECIMAL, BYTES, SPELLINGS };
enum { PART = 4, MOST = 24, BYTES_FROM = 2 };

// An upper case without a letter is the lower one: then the length is 0.
static size_t spell(enum spelling as, uint64_t address, char text[MOST])
{
	static const char *const formats[SPELLINGS] = {"%" PRIx64, "%" PRIX64, "%" PRIu64, "%016" PRIx64};
	char lower[MOST];
	snprintf(text, MOST, formats[as], as == BYTES ? __builtin_bswap64(address) : address);
	snprintf(lower, sizeof(lower), formats[LOWER], address);
	return as == UPPER && !strcmp(text, lower) ? 0 : strlen(text);
}

// Where the first of its parts begins.
static size_t first_part(enum spelling as, size_t n)
{
	return as == BYTES ? BYTES_FROM : n - (2 * PART - 1);
}

size_t spelled_parts(uint64_t address, uint32_t parts[SPELLED_PARTS])
{
	size_t n = 0;
	for (enum spelling as = 0; as < SPELLINGS; as++) {
		char text[MOST];
		size_t length = spell(as, address, text);
		for (size_t k = 0; length >= 2 * PART - 1 && k < PART; k++)
			memcpy(&parts[n++], text + first_part(as, length) + k, PART);
	}
	return n;
}

static bool is_digit(enum spelling as, char c)
{
	return (c >= '0' && c <= '9') ||
	       (as != DECIMAL && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')));
}

// Zeros may precede it.
static bool is_alone(enum spelling as, const char *bytes, size_t n, size_t from, size_t length)
{
	if (from + length < n && is_digit(as, bytes[from + length]))
		return false;
	while (from && bytes[from - 1] == '0')
		from--;
	return !from || !is_digit(as, bytes[from - 1]);
}

bool spelled_at(const char *bytes, size_t n, size_t at, uint64_t address)
{
	for (enum spelling as = 0; as < SPELLINGS; as++) {
		char text[MOST];
		size_t length = spell(as, address, text);
		for (size_t k = 0; length >= 2 * PART - 1 && k < PART; k++) {
			size_t before = first_part(as, length) + k;
			if (before <= at && at - before + length <= n &&
			    !memcmp(bytes + at - before, text, length) &&
			    is_alone(as, bytes, n, at - before, length))
				return true;
		}
	}
	return false;
}
