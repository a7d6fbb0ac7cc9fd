// SPDX-License-Identifier: MIT
//
// A node of the table is: the next node, the string (its text's address, its length, 16 bytes for a short
// text), the value, the code. The value may have any size.
#include "search/opaque/hash_code.h"

#include <string.h>

enum { WORD = 8, BACK = 512, TEXT_MOST = 4096 };

static uint64_t mixed(uint64_t v)
{
	return v ^ v >> 47;
}

uint64_t hash_code_of(const unsigned char *text, size_t n)
{
	const uint64_t by = 0xc6a4a7935bd1e995;
	uint64_t code = 0xc70f6907 ^ n * by, word;
	for (; n >= WORD; n -= WORD, text += WORD) {
		memcpy(&word, text, WORD);
		code = (code ^ mixed(word * by) * by) * by;
	}
	if (n) {
		word = 0;
		memcpy(&word, text, n); // little-endian: the first byte is the lowest
		code = (code ^ word) * by;
	}
	return mixed(mixed(code) * by);
}

static bool is_of(const struct memory *m, uint64_t word, uint64_t text, uint64_t n)
{
	unsigned char b[TEXT_MOST];
	return n <= sizeof(b) && memory_peek(m, text, b, n, false) == n && hash_code_of(b, n) == word;
}

bool hash_code_is(const struct memory *m, uint64_t word, uint64_t at)
{
	uint64_t before[BACK / WORD];
	size_t n = BACK;
	// What lies before may begin with the mapping.
	while (n && memory_peek(m, at - n, before, n, false) != n)
		n -= WORD;
	for (size_t i = 0; i + 1 < n / WORD; i++)
		if (before[i + 1] && before[i + 1] <= TEXT_MOST && memory_map(m, before[i]) &&
		    is_of(m, word, before[i], before[i + 1]))
			return true;
	return false;
}
