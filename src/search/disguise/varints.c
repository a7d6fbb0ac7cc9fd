// SPDX-License-Identifier: MIT
//
// An address has seven such bytes where it is one: from 36 to 49 bits, with the sign. Few places of memory
// have six bytes with their upper bits set before one without.
#include "search/disguise/varints.h"

#include <stdbool.h>
#include <string.h>

#include "search/mark/scan.h"

enum { WORD = 8, BITS = 7, BYTES = 7, BYTES_MOST = 10, ROW_MOST = 64, ADDRESS = 47 };

// Of the number at b: how many bytes; 0: it ends nowhere.
static size_t decode(const unsigned char *b, size_t n, uint64_t *value)
{
	*value = 0;
	for (size_t i = 0; i < n && i < BYTES_MOST; i++) {
		*value |= (uint64_t)(b[i] & 0x7f) << BITS * i;
		if (!(b[i] & 0x80))
			return i + 1;
	}
	return 0;
}

static uint64_t with_sign(uint64_t value, bool sign)
{
	return sign ? value >> 1 ^ -(value & 1) : value;
}

static bool is_target(const struct varints *v, uint64_t address)
{
	return address % WORD == 0 && scan_find(v->targets, v->ntargets, address) < v->ntargets;
}

// The numbers that follow b are distances, each from where the one before has led.
static void follow(const struct varints *v, const unsigned char *b, size_t n, uint64_t at, uint64_t address,
		   bool sign)
{
	uint64_t value;
	for (size_t i = 0, k, count = 0; count < ROW_MOST && (k = decode(b + i, n - i, &value));
	     i += k, count++) {
		address += with_sign(value, sign);
		if (address >> ADDRESS)
			return;
		if (is_target(v, address))
			v->hit(v->ctx, at + i, address);
	}
}

static void try_place(const struct varints *v, const unsigned char *b, size_t n, uint64_t at)
{
	uint64_t value;
	size_t k = decode(b, n, &value);
	for (unsigned sign = 0; k && sign < 2; sign++) {
		uint64_t address = with_sign(value, sign);
		if (address >> ADDRESS)
			continue;
		if (is_target(v, address))
			v->hit(v->ctx, at, address);
		if (memory_map(v->memory, address))
			follow(v, b + k, n - k, at + k, address, sign);
	}
}

void varints_find(const struct varints *v, const unsigned char *b, size_t n, uint64_t at)
{
	const uint64_t upper = 0x80808080808080, but_last = 0x808080808080;
	for (size_t i = 0; v->ntargets && i + BYTES <= n; i++) {
		uint64_t word;
		memcpy(&word, b + i, WORD);
		if ((word & upper) == but_last)
			try_place(v, b + i, n - i, at + i);
	}
}
