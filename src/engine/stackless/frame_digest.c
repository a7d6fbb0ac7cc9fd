// SPDX-License-Identifier: MIT
#include "engine/stackless/frame_digest.h"

#include "search/memory/memory.h"

enum { PIECE = 4096, BLOCK_MOST = 1 << 20 };

uint64_t frame_digest(pid_t pid, const struct span *block)
{
	unsigned char piece[PIECE];
	uint64_t end = block->hi + 8, digest = 0xcbf29ce484222325ULL; // its last word is in the next header
	if (block->hi - block->lo > BLOCK_MOST)
		return 0;
	for (uint64_t at = block->lo; at < end;) {
		size_t want = end - at < PIECE ? (size_t)(end - at) : PIECE;
		size_t n = memory_peek_process(pid, at, piece, want, false);
		for (size_t i = 0; i < n; i++)
			digest = (digest ^ piece[i]) * 0x100000001b3ULL;
		at += n;
		if (n < want)
			return at < block->hi ? 0 : digest | 1;
	}
	return digest | 1;
}
