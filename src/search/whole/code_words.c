// SPDX-License-Identifier: MIT
//
// A compiler makes one instruction of a number of 64 bits that does not fit into 32 (x86-64: `movabs`); any
// byte that looks like the begin of one is taken for it.
#include "search/whole/code_words.h"

#include <string.h>

#include "search/whole/bases.h"
#include "search/mark/scan.h"

enum { WORD = 8, UPPER = 48, SIXTEEN = 0xffff, CHUNK = 1 << 16, READ_MOST = 8 << 20, PREFIX = 2 };
enum { REX_W = 0x48, REX_WB = 0x49, MOV = 0xb8, REGISTERS = 8 };

struct reading {
	struct code_words *c;
	const struct span *skip;
	size_t nskip;
};

static bool is_text(uint64_t word)
{
	for (unsigned i = 0; i < WORD; i++, word >>= 8) {
		unsigned char c = (unsigned char)word;
		if (c && (c < '\t' || (c > '\r' && c < ' ') || c > '~'))
			return false;
	}
	return true;
}

bool code_words_may(uint64_t word)
{
	return word >> UPPER && word >> UPPER != SIXTEEN && !is_text(word);
}

static void add(struct code_words *c, uint64_t word)
{
	if (!code_words_may(word) || c->n == CODE_WORDS_MOST)
		return;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i] == word)
			return;
	c->v[c->n++] = word;
}

static void take_code(const struct reading *r, const unsigned char *b, size_t n, uint64_t at)
{
	(void)at;
	for (size_t i = 0; i + PREFIX + WORD <= n; i++) {
		uint64_t word;
		if ((b[i] != REX_W && b[i] != REX_WB) || (unsigned)b[i + 1] - MOV >= REGISTERS)
			continue;
		memcpy(&word, b + i + PREFIX, WORD);
		add(r->c, word);
	}
}

static void take_words(const struct reading *r, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = 0; i + WORD <= n; i += WORD) {
		uint64_t word;
		memcpy(&word, b + i, WORD);
		if (code_words_may(word) && scan_find(r->skip, r->nskip, at + i) == r->nskip)
			add(r->c, word);
	}
}

// What was never touched, of a file, is read as well: it is the file's.
static void read_map(const struct memory *m, const struct maps_line *at, const struct reading *r,
		     void (*take)(const struct reading *r, const unsigned char *b, size_t n, uint64_t at))
{
	static _Alignas(uint64_t) unsigned char chunk[CHUNK];
	uint64_t end = at->hi - at->lo > READ_MOST ? at->lo + READ_MOST : at->hi;
	const uint64_t step = CHUNK - WORD - PREFIX - 6; // an instruction may lie across the end
	for (uint64_t lo = at->lo; lo < end && r->c->n < CODE_WORDS_MOST && !memory_late(m); lo += step) {
		size_t n = end - lo < CHUNK ? (size_t)(end - lo) : CHUNK;
		n = at->ino ? memory_peek(m, lo, chunk, n, false) : memory_peek_touched(m, lo, chunk, n);
		take(r, chunk, n, lo);
	}
}

static bool is_executed(const struct memory *m, const char *path)
{
	for (size_t i = 0; i < m->nmaps; i++)
		if (m->maps[i].perms[2] == 'x' && !strcmp(m->maps[i].path, path))
			return true;
	return false;
}

void code_words_find(struct code_words *c, const struct memory *m, const struct span *skip, size_t nskip)
{
	const struct reading r = {c, skip, nskip};
	c->n = 0;
	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < m->nmaps; i++) {
			const struct maps_line *at = &m->maps[i];
			bool file = *at->path == '/' && !bases_is_runtime(m, at->lo);
			if (round == 0 && file && at->perms[2] == 'x')
				read_map(m, at, &r, take_code);
			if (round == 1 && bases_is_static(m, at->lo) && !bases_is_runtime(m, at->lo))
				read_map(m, at, &r, take_words);
			if (round == 2 && file && at->perms[1] != 'w' && at->perms[2] != 'x' &&
			    at->perms[3] == 'p' && is_executed(m, at->path))
				read_map(m, at, &r, take_words);
		}
}
