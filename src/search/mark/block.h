// SPDX-License-Identifier: MIT
//
// block.h - a first look at 64 bytes at once, which passes over nearly all of them. The compiler makes vector
// instructions of it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BLOCK_BYTES = 64 };

typedef uint8_t block_bytes __attribute__((vector_size(16)));
typedef uint16_t block_halves __attribute__((vector_size(16)));
typedef uint64_t block_words __attribute__((vector_size(16)));
enum { BLOCK_VECTORS = BLOCK_BYTES / (int)sizeof(block_bytes) };

static inline uint64_t block_any(block_words v)
{
	return v[0] | v[1];
}

static inline uint64_t block_word(const unsigned char *p)
{
	uint64_t w;
	memcpy(&w, p, sizeof(w));
	return w;
}

// Of bytes that are 0 or 255 each, a bit a byte.
static inline uint64_t block_bits(uint64_t bytes)
{
	return (bytes & 0x8040201008040201) * 0x0101010101010101 >> 56;
}

// Where in the block these two bytes follow each other: a bit a place. A byte behind it is read, too.
static inline uint64_t block_pairs(const unsigned char *b, uint8_t first, uint8_t second)
{
	block_bytes at, next, is[BLOCK_VECTORS], any = {0};
	for (int i = 0; i < BLOCK_VECTORS; i++) {
		memcpy(&at, b + i * (int)sizeof(at), sizeof(at));
		memcpy(&next, b + i * (int)sizeof(at) + 1, sizeof(next));
		is[i] = (block_bytes)(at == first) & (block_bytes)(next == second);
		any |= is[i];
	}
	uint64_t places = 0;
	for (int i = 0; block_any((block_words)any) && i < BLOCK_VECTORS; i++)
		places |= (block_bits(((block_words)is[i])[0]) | block_bits(((block_words)is[i])[1]) << 8)
		       << 16 * i;
	return places;
}

// Has one of the block's words these 16 bits, so many bits further up?
static inline bool block_has_bits(const unsigned char *b, unsigned shift, uint16_t bits)
{
	block_words w, any = {0};
	for (int i = 0; i < BLOCK_VECTORS; i++) {
		memcpy(&w, b + i * (int)sizeof(w), sizeof(w));
		any |= (block_words)((block_halves)(w >> shift) == bits);
	}
	return block_any(any) & UINT16_MAX;
}
