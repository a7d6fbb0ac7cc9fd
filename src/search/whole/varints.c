// SPDX-License-Identifier: MIT
//
// An address has seven such bytes where it is one: from 36 to 49 bits, with the sign. Few places of memory
// have six bytes with their upper bits set before one without. The same holds of one that was shifted right
// by up to four bits. What was taken from all of them first is small: they lie that much before what they
// mean.
#include "search/whole/varints.h"

#include <stdbool.h>
#include <string.h>

#include "base/search.h"

enum { WORD = 8, BITS = 7, BYTES = 7, BYTES_MOST = 10, ROW_MOST = 64, ADDRESS = 47, SHIFT_MOST = 4 };
enum { BASE_MOST = 1 << 20, ROUND = 4096 };

// How the numbers of a row are meant.
struct row {
	unsigned shift;
	bool sign;
};

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

// What lies at the address, or so much behind it as a base may be: each of them may be meant.
static bool try_address(const struct varints *v, uint64_t at, uint64_t address)
{
	size_t first = FIRST_NOT(v->ntargets, k, v->targets[k].hi <= address), i = first;
	for (; address % WORD == 0 && i < v->ntargets && v->targets[i].lo <= address + BASE_MOST; i++)
		v->hit(v->ctx, at, v->targets[i].lo > address ? v->targets[i].lo : address);
	return i > first;
}

// The numbers that follow b are distances, each from where the one before has led.
static void follow(const struct varints *v, const unsigned char *b, size_t n, uint64_t at, uint64_t address,
		   struct row row)
{
	uint64_t value;
	for (size_t i = 0, k, count = 0; count < ROW_MOST && (k = decode(b + i, n - i, &value));
	     i += k, count++) {
		address += with_sign(value, row.sign) << row.shift;
		if (address >> ADDRESS)
			return;
		if (value)
			try_address(v, at + i, address);
	}
}

// Does it lead to something, from a base that programs like?
static bool is_something(const struct varints *v, uint64_t address)
{
	static const uint64_t bases[] = {0, ROUND, 1 << 16, BASE_MOST};
	for (size_t i = 0; i < sizeof(bases) / sizeof(*bases); i++)
		if (memory_map(v->memory, address + bases[i]))
			return true;
	return false;
}

static void try_place(const struct varints *v, const unsigned char *b, size_t n, uint64_t at)
{
	uint64_t value;
	size_t k = decode(b, n, &value);
	for (unsigned i = 0; k && i < 2 * (SHIFT_MOST + 1); i++) {
		struct row row = {i / 2, i % 2};
		uint64_t address = with_sign(value, row.sign);
		if (address >> (ADDRESS - row.shift))
			continue;
		address <<= row.shift;
		bool same = row.sign && row.shift && !(value & 1); // as without a sign, shifted by one less
		if ((!same && try_address(v, at, address)) || is_something(v, address))
			follow(v, b + k, n - k, at + k, address, row);
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
