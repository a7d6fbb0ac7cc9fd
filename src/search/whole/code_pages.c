// SPDX-License-Identifier: MIT
//
// An operand may lie at any byte. Only where an object begins counts: the code is little, and what it means
// to do with a number is not known.
#include "search/whole/code_pages.h"

#include <string.h>

#include "base/search.h"

enum { HALF = 4, WORD = 8, LOW = 4, LOW_BITS = 16, NEAR = 16, ADDRESS = 47, PREFIX = 2 };
enum { REX_W = 0x48, REX_WB = 0x49, MOV = 0xb8, REGISTERS = 8, APART_MOST = 32 };
#define FOUR_GIB (1ULL << 32)

static uint64_t low_of(uint64_t address)
{
	return address >> LOW & ((1u << LOW_BITS) - 1);
}

void code_pages_ready(struct code_pages *c)
{
	for (size_t i = 0; i < c->nbegins; i++)
		c->low[low_of(c->begins[i]) >> 6] |= 1ULL << (low_of(c->begins[i]) & 63);
}

static bool may_be(const struct code_pages *c, uint64_t address)
{
	return c->low[low_of(address) >> 6] >> (low_of(address) & 63) & 1;
}

static bool is_begin(const struct code_pages *c, uint64_t address)
{
	size_t i = FIRST_NOT(c->nbegins, k, c->begins[k] < address);
	return may_be(c, address) && address >= FOUR_GIB && i < c->nbegins && c->begins[i] == address;
}

static uint32_t half_at(const unsigned char *b)
{
	uint32_t half;
	memcpy(&half, b, sizeof(half));
	return half;
}

static uint64_t word_at(const unsigned char *b)
{
	uint64_t word;
	memcpy(&word, b, sizeof(word));
	return word;
}

// The lower half of one is at b[i]: the upper one is near, but for the word itself, which others see.
static void try_halves(const struct code_pages *c, const unsigned char *b, size_t n, size_t i, uint64_t at)
{
	size_t from = i > NEAR + HALF ? i - NEAR - HALF : 0, to = i + HALF + NEAR < n ? i + HALF + NEAR : n;
	for (size_t k = from; k + HALF <= to; k++)
		if ((k + HALF <= i || k > i + HALF) &&
		    is_begin(c, (uint64_t)half_at(b + k) << 32 | half_at(b + i)))
			c->hit(c->ctx, at + i, (uint64_t)half_at(b + k) << 32 | half_at(b + i));
}

static bool is_move(const unsigned char *b)
{
	return (b[0] == REX_W || b[0] == REX_WB) && (unsigned)b[1] - MOV < REGISTERS;
}

static void try_address(const struct code_pages *c, uint64_t address, uint64_t at)
{
	if (is_begin(c, address))
		c->hit(c->ctx, at, address);
}

// A number of 64 bits, alone and with the next one.
static void try_numbers(const struct code_pages *c, const unsigned char *b, size_t n, size_t i, uint64_t at)
{
	uint64_t one = word_at(b + i + PREFIX);
	try_address(c, ~one, at + i + PREFIX);
	try_address(c, -one, at + i + PREFIX);
	for (size_t k = i + PREFIX + WORD; k < i + APART_MOST && k + PREFIX + WORD <= n; k++)
		if (is_move(b + k)) {
			uint64_t other = word_at(b + k + PREFIX);
			try_address(c, one ^ other, at + i + PREFIX);
			try_address(c, one + other, at + i + PREFIX);
			try_address(c, one - other, at + i + PREFIX);
			try_address(c, other - one, at + i + PREFIX);
		}
}

// May it be executed, and is it no part of a file that has a name?
static bool is_made(struct code_pages *c, uint64_t at)
{
	if (at >= c->map.lo && at < c->map.hi)
		return c->map.made;
	const struct maps_line *m = memory_map(c->memory, at);
	c->map.lo = m ? m->lo : at;
	c->map.hi = m ? m->hi : at + 1;
	c->map.made = m && m->perms[2] == 'x' && (*m->path != '/' || !strncmp(m->path, "/memfd:", 7));
	return c->map.made;
}

void code_pages_find(struct code_pages *c, const unsigned char *b, size_t n, uint64_t at)
{
	if (!c->nbegins || !is_made(c, at))
		return;
	for (size_t i = 0; i + HALF <= n; i++) {
		uint32_t half = half_at(b + i);
		uint64_t to = at + i + HALF + (uint64_t)(int64_t)(int32_t)half;
		if (may_be(c, half))
			try_halves(c, b, n, i, at);
		try_address(c, to, at + i);
		if (i + PREFIX + WORD <= n && is_move(b + i))
			try_numbers(c, b, n, i, at);
	}
}
