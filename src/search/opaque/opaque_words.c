// SPDX-License-Identifier: MIT
//
// A random word has bytes of all kinds: few of them are zero or 0xff, as in numbers and addresses, and some
// are of 128 or more, as none is in text. Numbers of floating point have exponents of few values. In random
// text digits and letters of either case follow each other without order.
#include "search/opaque/opaque_words.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/living.h"
#include "search/whole/bases.h"
#include "search/disguise/constants.h"
#include "search/disguise/loader_pages.h"
#include "search/mark/scan.h"
#include "search/memory/memory_walk.h"
#include "search/opaque/hash_code.h"

enum { WORD = 8, PLAIN_MOST = 1, HIGH_LEAST = 2, KINDS_LEAST = 6, UPPER = 48, ADDRESS = 47 };
enum {
	TEXT_LEAST = 10,
	TEXT_OF_WORD = 11,
	THIRD = 3,
	FOURTH = 4,
	SAME_LEAST = 4,
	RUN_MOST = 1024,
	RUN_GAP = 64,
	NEAR_MOST = 1 << 24
};
#define LATEST 2200000000000000000 // nanoseconds: in 2039
enum { KNOWN_MOST = 64, PAGE = 4096, LEAST = 2 };

struct counting {
	struct opaque_words *o;
	struct constants constants;
	struct loader_pages loader;
	uint64_t random,
		random_end;     // from the kernel's random bytes on: what it gave the program at its start
	uint64_t canary, guard; // of the stack protector, and of glibc's pointers: made of these
	uint64_t known[KNOWN_MOST]; // that the C library has in its static storage: a mark of malloc's, say
	size_t nknown;
	struct run { // with hardly anything between
		uint64_t n, first, end;
	} words, text;
	struct {
		uint64_t lo, n, first;
	} here; // in the mapping that begins at lo
	struct {
		uint64_t lo, hi;
		bool own;
	} map; // that was looked at last
};

// ------------------------------------------------------------------- by their looks

// From 2^-30 to 2^60.
static bool is_double(uint64_t word)
{
	unsigned exponent = (unsigned)(word >> 52) & 0x7ff;
	return exponent >= 1023 - 30 && exponent <= 1023 + 60;
}

static bool is_float(uint32_t half)
{
	unsigned exponent = half >> 23 & 0xff;
	return exponent >= 127 - 20 && exponent <= 127 + 30;
}

// Handles of 32 bits lie in rows, and their neighbours are near.
static bool are_near(uint32_t one, uint32_t other)
{
	return one - other + NEAR_MOST < 2 * NEAR_MOST;
}

// Bytes of all kinds: whatever it may be as a number.
static bool is_varied(uint64_t word)
{
	unsigned plain = 0, high = 0, kinds = 0;
	uint64_t seen[4] = {0};
	for (unsigned i = 0; i < WORD; i++) {
		unsigned char c = (unsigned char)(word >> 8 * i);
		plain += c == 0 || c == 0xff;
		high += c >> 7;
		kinds += !(seen[c >> 6] >> (c & 63) & 1);
		seen[c >> 6] |= 1ULL << (c & 63);
	}
	// Times and counters of cycles have a first byte of zeros.
	bool counter = word >> (64 - 8) == 0 || word >> (64 - 8) == 0xff;
	return !counter && plain <= PLAIN_MOST && high >= HIGH_LEAST && kinds >= KINDS_LEAST;
}

bool opaque_word(uint64_t word)
{
	return is_varied(word) && !is_double(word) && !are_near((uint32_t)word, (uint32_t)(word >> 32)) &&
	       !(is_float((uint32_t)word) && is_float((uint32_t)(word >> 32)));
}

// Digits, letters of either case; 0: neither.
static unsigned class_of(unsigned char c)
{
	return c >= '0' && c <= '9' ? 1 : c >= 'a' && c <= 'z' ? 2 : c >= 'A' && c <= 'Z' ? 3 : 0;
}

bool opaque_text_has(unsigned char c)
{
	return class_of(c) || c == '-' || c == '_' || c == '+' || c == '/' || c == '=';
}

// Digits and the letters a to f, or A to F: then fewer follow a digit.
static bool is_hexadecimal(const unsigned char *text, size_t n)
{
	bool lower = true, upper = true;
	for (size_t i = 0; i < n; i++) {
		lower &= class_of(text[i]) == 1 || (text[i] >= 'a' && text[i] <= 'f');
		upper &= class_of(text[i]) == 1 || (text[i] >= 'A' && text[i] <= 'F');
	}
	return lower || upper;
}

// As large as a random number of 64 bits is, and later than times in nanoseconds. Nobody writes the bits of a
// number of floating point out so.
static bool is_large_decimal(const unsigned char *text, size_t n)
{
	enum { MOST = 20 };
	unsigned __int128 number = 0;
	for (size_t i = 0; i < n && n <= MOST; i++) {
		if (class_of(text[i]) != 1)
			return false;
		number = number * 10 + (text[i] - '0');
	}
	return n <= MOST && number >= LATEST && number <= UINT64_MAX && is_varied((uint64_t)number);
}

unsigned opaque_text(const unsigned char *text, size_t n)
{
	size_t changes = 0, all = 0, same = 0;
	if (is_large_decimal(text, n))
		return 1;
	for (size_t i = 0; i < n; i++) {
		same = i && text[i] == text[i - 1] ? same + 1 : 1;
		if (same == SAME_LEAST)
			return 0; // of a number that is round
		all += class_of(text[i]) > 0;
		changes += i && class_of(text[i]) && class_of(text[i - 1]) &&
			   class_of(text[i]) != class_of(text[i - 1]);
	}
	bool opaque = n >= TEXT_LEAST && all >= TEXT_LEAST &&
		      (is_hexadecimal(text, n) ? FOURTH : THIRD) * changes >= all;
	return !opaque ? 0 : n < 2 * TEXT_OF_WORD ? 1 : (unsigned)(n / TEXT_OF_WORD);
}

uint64_t opaque_bytes(const unsigned char *b, size_t n)
{
	uint64_t words = 0, word;
	for (size_t i = 0; i + WORD <= n; i += WORD) {
		memcpy(&word, b + i, WORD);
		words += opaque_word(word);
	}
	for (size_t i = 0, lo = 0; i <= n; i++) {
		if (i < n && opaque_text_has(b[i]))
			continue;
		words += opaque_text(b + lo, i - lo);
		lo = i + 1;
	}
	return words <= RUN_MOST ? words : 0;
}

// ------------------------------------------------------------------- by where they are

// May the program keep words of its own there?
static bool is_own(struct counting *c, uint64_t at)
{
	const struct memory *m = c->o->s->memory;
	if (at >= c->map.lo && at < c->map.hi)
		return c->map.own;
	const struct maps_line *map = memory_map(m, at);
	if (!map)
		return false;
	c->map.lo = map->lo;
	c->map.hi = map->hi;
	c->map.own = map->perms[1] == 'w' && map->perms[2] != 'x' && !bases_is_runtime(m, at);
	return c->map.own;
}

// As its file has it: in memory, or read from a file that was made just before the program began.
static bool is_constant(struct counting *c, uint64_t word, uint64_t at)
{
	uint64_t here = 0;
	if (constants_built(&c->constants, at) && constants_built(&c->constants, at + WORD / 2))
		return true;
	return c->constants.map && c->constants.file >= 0 &&
	       c->constants.map == memory_map(c->o->s->memory, at) &&
	       memory_peek(c->o->s->memory, at, &here, WORD, true) == WORD && here != word;
}

// In memory that the program can still use, and that is none of those who are looked for.
static bool counts(struct counting *c, uint64_t word, uint64_t at)
{
	struct search *s = c->o->s;
	if ((at + WORD > c->random && at < c->random_end) || !is_own(c, at))
		return false;
	size_t i = scan_find(s->g.spans, s->g.nspans, at);
	return !(i < s->g.nspans && !s->g.reached[graph_group(&s->g, s->g.owner[i])]) &&
	       scan_find(s->freed.v, s->freed.n, at) == s->freed.n && !is_constant(c, word, at) &&
	       !loader_pages_has(&c->loader, s->memory, at);
}

// What lies in one mapping belongs together. One word alone is no sign: a library may keep its own, as libgcc
// does of the processor's features.
static void end_mapping(struct counting *c)
{
	struct opaque_words *o = c->o;
	if (c->here.n >= LEAST) {
		o->first = o->n ? o->first : c->here.first;
		o->n += c->here.n;
	}
	c->here.n = 0;
}

static void end_run(struct counting *c, struct run *r)
{
	const struct maps_line *map = r->n ? memory_map(c->o->s->memory, r->first) : NULL;
	if (map && map->lo != c->here.lo) {
		end_mapping(c);
		c->here.lo = map->lo;
	}
	if (r->n && r->n <= RUN_MOST) {
		c->here.first = c->here.n ? c->here.first : r->first;
		c->here.n += r->n;
	}
	*r = (struct run){0};
}

static void add(struct counting *c, struct run *r, unsigned n, uint64_t at, uint64_t end)
{
	if (at < r->end)
		return; // seen in the piece before
	if (at > r->end + RUN_GAP)
		end_run(c, r);
	r->first = r->n ? r->first : at;
	r->n += n;
	r->end = end;
}

// ------------------------------------------------------------------- a piece

// As glibc keeps addresses (PTR_MANGLE).
static bool is_guarded(const struct counting *c, uint64_t word)
{
	enum { ROTATE = 2 * WORD + 1 };
	uint64_t address = (word >> ROTATE | word << (64 - ROTATE)) ^ c->guard;
	return c->guard && (word == c->guard || address >> ADDRESS == 0);
}

// With tags around it, at any byte.
static bool is_address(const struct counting *c, uint64_t word)
{
	const struct memory *m = c->o->s->memory;
	for (unsigned by = 0; by <= 64 - UPPER; by += 8)
		if (memory_map(m, word >> by & SPAN_ADDRESS_MASK))
			return true;
	return false;
}

// More of a row that is so long already that it counts for nothing.
static bool goes_on(struct run *r, uint64_t at)
{
	bool more = r->n > RUN_MOST && at >= r->end && at <= r->end + RUN_GAP;
	if (more)
		r->end = at + WORD;
	return more;
}

static bool is_known(const struct counting *c, uint64_t word)
{
	for (size_t i = 0; i < c->nknown; i++)
		if (c->known[i] == word)
			return true;
	return false;
}

static void take_known(struct counting *c)
{
	const struct memory *m = c->o->s->memory;
	uint64_t words[PAGE / WORD];
	for (size_t i = 0; i < m->nmaps; i++) {
		uint64_t end = m->maps[i].perms[1] == 'w' ? bases_runtime_end(m, &m->maps[i]) : 0;
		for (uint64_t at = m->maps[i].lo; at < end; at += PAGE) {
			size_t n = memory_peek_touched(m, at, words, sizeof(words)) / WORD;
			for (size_t k = 0; k < n && c->nknown < KNOWN_MOST; k++)
				if (opaque_word(words[k]) && !is_known(c, words[k]))
					c->known[c->nknown++] = words[k];
		}
	}
}

static void on_words(struct counting *c, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = -at & (WORD - 1); i + WORD <= n; i += WORD) {
		uint64_t word;
		memcpy(&word, b + i, WORD);
		if (word >> UPPER && opaque_word(word) && !goes_on(&c->words, at + i) &&
		    !is_address(c, word) && word != c->canary && !is_known(c, word) && !is_guarded(c, word) &&
		    counts(c, word, at + i) && !hash_code_is(c->o->s->memory, word, at + i))
			add(c, &c->words, 1, at + i, at + i + WORD);
	}
}

static int digit_of(unsigned char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Addresses in hexadecimal, as in /proc/self/maps. Those of coroutines were searched for.
static bool are_addresses(const struct counting *c, const unsigned char *text, size_t n)
{
	const struct memory *m = c->o->s->memory;
	uint64_t number = 0;
	for (size_t i = 0; i <= n; i++) {
		if (i < n && text[i] != '-') {
			if (digit_of(text[i]) < 0)
				return false;
			number = number << 4 | (unsigned)digit_of(text[i]);
			continue;
		}
		if (!memory_map(m, number) && !memory_map(m, number - 1))
			return false;
		number = 0;
	}
	return true;
}

static void on_text(struct counting *c, const unsigned char *b, size_t n, uint64_t at)
{
	for (size_t i = 0; i < n; i++) {
		size_t lo = i;
		uint64_t word;
		while (i < n && opaque_text_has(b[i]))
			i++;
		unsigned words = i - lo >= TEXT_LEAST ? opaque_text(b + lo, i - lo) : 0;
		if (!words || are_addresses(c, b + lo, i - lo))
			continue;
		size_t in = lo + (-(at + lo) & (WORD - 1)); // which lies in it, for the most part
		memcpy(&word, b + in, WORD);
		if (counts(c, word, at + in))
			add(c, &c->text, words, at + lo, at + i);
	}
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	on_words(ctx, b, n, at);
	on_text(ctx, b, n, at);
}

static void take_random(struct counting *c)
{
	const struct memory *m = c->o->s->memory;
	const struct maps_line *map;
	char path[40];
	uint64_t made[2];
	Elf64_auxv_t v;
	snprintf(path, sizeof(path), "/proc/%d/auxv", living_of(m->pid));
	int fd = m->core ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, &v, sizeof(v)) == sizeof(v) && v.a_type != AT_NULL)
		if (v.a_type == AT_RANDOM && (map = memory_map(m, v.a_un.a_val))) {
			c->random = v.a_un.a_val;
			c->random_end = map->hi;
		}
	if (fd >= 0)
		close(fd);
	if (c->random && memory_peek(m, c->random, made, sizeof(made), false) == sizeof(made)) {
		c->canary = made[0] & ~(uint64_t)0xff;
		c->guard = made[1];
	}
}

int opaque_words_count(struct opaque_words *o)
{
	struct counting c = {.o = o, .constants.memory = o->s->memory};
	struct memory_walk w = {.memory = o->s->memory,
				.skip = o->s->skip,
				.nskip = o->s->nskip,
				.piece = on_piece,
				.ctx = &c};
	o->n = o->first = 0;
	take_random(&c);
	take_known(&c);
	int e = memory_walk(&w);
	end_run(&c, &c.words);
	end_run(&c, &c.text);
	end_mapping(&c);
	memcpy(o->why, w.why, sizeof(o->why));
	constants_deinit(&c.constants);
	return e;
}
