// SPDX-License-Identifier: MIT
//
// Addresses that are multiplied by a number of the program, and those in bytes of seven bits. The numbers lie
// in pages of this process, which stand for a program's code, its constants and its static storage.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "search/whole/code_words.h"
#include "search/whole/columns.h"
#include "search/whole/products.h"
#include "search/whole/varints.h"

enum { PAGE = 4096, CODE, CONSTANT, STATIC, KINDS = 3 };
#define FACTOR 0x9e3779b97f4a7c15
#define ADDEND 0xd6e8feb86659fd93
#define ONE 0x123456f0a4e0

static unsigned char *pages;
static struct maps_line maps[KINDS];
static struct memory memory;
static struct search search;
static const struct span target = {ONE, ONE + 0x340};
static uint64_t hit_at, hit_address;
static unsigned hits;

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	(void)ctx;
	hit_at = at;
	hit_address = address;
	hits++;
}

static int open_memory(void **state)
{
	static const char *const perms[] = {"r-xp", "r--p", "rw-p"};
	(void)state;
	pages = mmap(NULL, KINDS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	for (unsigned i = 0; i < KINDS; i++) {
		uint64_t lo = (uintptr_t)pages + i * PAGE;
		maps[i] = (struct maps_line){.lo = lo, .hi = lo + PAGE, .ino = 1, .path = "/program"};
		memcpy(maps[i].perms, perms[i], 5);
	}
	memory_of_process(&memory, getpid());
	memory.maps = maps;
	memory.nmaps = KINDS;
	memory.deadline_ns = UINT64_MAX;
	search = (struct search){.memory = &memory};
	hits = 0;
	return 0;
}

static int close_memory(void **state)
{
	(void)state;
	memory_close(&memory);
	return munmap(pages, KINDS * PAGE);
}

static void put(unsigned kind, size_t at, uint64_t word)
{
	memcpy(pages + (kind - CODE) * PAGE + at, &word, sizeof(word));
}

// movabs $word, %rax
static void put_code(size_t at, uint64_t word)
{
	memcpy(pages + at, "\x48\xb8", 2);
	put(CODE, at + 2, word);
}

static unsigned found_of(const void *bytes, size_t n)
{
	unsigned char b[256] = {0};
	struct products p = {.search = &search, .targets = &target, .ntargets = 1, .hit = on_hit};
	memcpy(b, bytes, n);
	hits = 0;
	products_ready(&p);
	products_find(&p, b, n, 0x1000);
	return hits;
}

static unsigned found(uint64_t word)
{
	return found_of(&word, sizeof(word));
}

static void numbers_of_a_program(void **state)
{
	struct code_words c;
	(void)state;
	put_code(101, FACTOR);
	put_code(201, FACTOR); // the same
	put_code(301, 0x7f1234567890); // an address
	memcpy(pages + 401, "\x48\xb8kill all", 10);
	put(CODE, 504, 0x1111222233334444); // not of an instruction
	put(STATIC, 64, ADDEND);
	put(CONSTANT, 64, FACTOR + 2);
	code_words_find(&c, &memory, NULL, 0);
	assert_int_equal(c.n, 3);
	assert_true(c.v[0] == FACTOR && c.v[1] == ADDEND && c.v[2] == FACTOR + 2);
	maps[2].path = maps[1].path = maps[0].path = "/usr/lib/libc.so.6";
	code_words_find(&c, &memory, NULL, 0);
	assert_int_equal(c.n, 0);
}

// What nobody can use any more is nobody's number.
static void numbers_that_are_left_out(void **state)
{
	struct code_words c;
	const struct span skip = {(uintptr_t)pages + 2 * PAGE + 64, (uintptr_t)pages + 2 * PAGE + 72};
	(void)state;
	put(STATIC, 64, FACTOR);
	put(STATIC, 72, ADDEND);
	code_words_find(&c, &memory, &skip, 1);
	assert_int_equal(c.n, 1);
	assert_true(c.v[0] == ADDEND);
}

static void products(void **state)
{
	(void)state;
	assert_int_equal(found(ONE * FACTOR), 0); // of a number that the program does not have
	put_code(101, FACTOR);
	assert_int_equal(found(ONE * FACTOR), 1);
	assert_true(hit_at == 0x1000 && hit_address == ONE);
	assert_int_equal(found((ONE + 64) * FACTOR), 1);
	assert_int_equal(found((ONE + 68) * FACTOR), 0);    // no pointer leads there
	assert_int_equal(found((ONE + 0x340) * FACTOR), 0); // behind it
	assert_int_equal(found((ONE | 1ULL << 50) * FACTOR), 0);
	assert_int_equal(found(ONE * FACTOR ^ ADDEND), 0);
}

// The inverse alone is in the program, too.
static void inverses(void **state)
{
	(void)state;
	put(STATIC, 128, FACTOR);
	assert_int_equal(found(ONE * 0xf1de83e19937733d), 1);
	assert_true((uint64_t)FACTOR * 0xf1de83e19937733d == 1);
}

static void added_or_xored(void **state)
{
	(void)state;
	put_code(101, FACTOR);
	put(CONSTANT, 128, ADDEND);
	assert_int_equal(found(ONE * FACTOR ^ ADDEND), 1);
	assert_int_equal(found(ONE * FACTOR + ADDEND), 1);
	assert_int_equal(found(ONE * FACTOR + 2 * ADDEND), 0);
}

static void written_out(void **state)
{
	const uint64_t word = ONE * FACTOR;
	char text[64];
	(void)state;
	put_code(101, FACTOR);
	for (unsigned before = 0; before < 8; before++) {
		memset(text, '-', sizeof(text));
		int n = snprintf(text + before, sizeof(text) - before, "%016llx", (unsigned long long)word);
		assert_int_equal(n, 16);
		assert_true(found_of(text, sizeof(text)));
		assert_true(hit_at == 0x1000 + before);
		memset(text, '-', sizeof(text));
		snprintf(text + before, sizeof(text) - before, "%llu", (unsigned long long)word);
		assert_true(found_of(text, sizeof(text)));
		memset(text, '1', sizeof(text)); // part of a longer one
		snprintf(text + before + 8, sizeof(text) - before - 8, "%016llx", (unsigned long long)word);
		text[before + 24] = '1';
		assert_int_equal(found_of(text, sizeof(text)), 0);
	}
}

static uint64_t random_word(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

// A program has many numbers, and much memory is as good as random: there is time for all of it.
static void behind_noise(void **state)
{
	enum { NUMBERS = 128, WORDS = 1 << 14 };
	static uint64_t words[WORDS + 32]; // some bytes are read behind them
	struct products p = {.search = &search, .targets = &target, .ntargets = 1, .hit = on_hit};
	(void)state;
	put(STATIC, 0, FACTOR);
	put(STATIC, 8, ADDEND);
	for (size_t i = 2; i < NUMBERS; i++)
		put(STATIC, i * sizeof(uint64_t), random_word() | 1);
	for (size_t i = 0; i < WORDS; i++)
		words[i] = random_word();
	words[WORDS - 1] = ONE * FACTOR + ADDEND;
	products_ready(&p);
	products_find(&p, (const unsigned char *)words, WORDS * sizeof(*words), 0x1000);
	assert_int_equal(hits, 1);
	assert_true(hit_address == ONE);
}

// ------------------------------------------------------------------------- bytes of seven bits

static size_t encode(unsigned char *to, uint64_t v)
{
	size_t n = 0;
	for (; v > 127; v >>= 7)
		to[n++] = (unsigned char)(v | 128);
	to[n++] = (unsigned char)v;
	return n;
}

static size_t with_sign(unsigned char *to, int64_t v)
{
	return encode(to, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static unsigned in_bytes(const unsigned char *b, size_t n)
{
	struct varints v = {.memory = &memory, .targets = &target, .ntargets = 1, .hit = on_hit};
	hits = 0;
	varints_find(&v, b, n, 0x1000);
	return hits;
}

static void varints(void **state)
{
	(void)state;
	for (unsigned at = 0; at < 9; at++) {
		unsigned char b[128] = {0};
		encode(b + at, ONE);
		assert_int_equal(in_bytes(b, 64), 1);
		assert_true(hit_at == 0x1000 + at && hit_address == ONE);
		with_sign(b + at, ONE);
		assert_int_equal(in_bytes(b, 64), 1);
		encode(b + at, ONE + 1);
		assert_int_equal(in_bytes(b, 64), 0);
		encode(b + at, ONE + 0x340);
		assert_int_equal(in_bytes(b, 64), 0);
	}
}

// In units, and from a base: what begins there.
static void varints_from_a_base(void **state)
{
	static const uint64_t begin = 0x7f12d6f0a4e0;
	static const struct span object = {0x7f12d6f0a4e0, 0x7f12d6f0a820};
	(void)state;
	for (unsigned shift = 0; shift <= 4; shift++)
		for (uint64_t base = 0; base <= 0x10000; base += 0x8000) {
			unsigned char b[128] = {0};
			struct varints v = {.memory = &memory,
					    .targets = &object,
					    .ntargets = 1,
					    .hit = on_hit};
			hits = 0;
			encode(b + 3, (begin - base) >> shift);
			varints_find(&v, b, 64, 0x1000);
			assert_true(hits >= 1 && hit_address == begin);
			hits = 0;
			encode(b + 3, (begin - base - (2 << 20)) >> shift); // is no base
			varints_find(&v, b, 64, 0x1000);
			assert_int_equal(hits, 0);
		}
}

// A row begins with the address of something.
static void rows_of_varints(void **state)
{
	enum { FAR = 4 << 20 };
	const uint64_t something = (uintptr_t)pages + 24;
	unsigned char b[128] = {0};
	(void)state;
	size_t n = with_sign(b, (int64_t)something);
	size_t second = n + with_sign(b + n, 48);
	n = second + with_sign(b + second, (int64_t)(ONE - something - 48));
	with_sign(b + n, 0x400);
	assert_int_equal(in_bytes(b, 64), 1);
	assert_true(hit_at == 0x1000 + second && hit_address == ONE);
	memset(b, 0, sizeof(b));
	n = with_sign(b, (int64_t)(ONE - FAR)); // of nothing
	with_sign(b + n, FAR);
	assert_int_equal(in_bytes(b, 64), 0);
}

// ------------------------------------------------------------------------- two halves apart

static unsigned in_columns(const uint32_t *words, size_t n)
{
	struct columns c = {.memory = &memory, .targets = &target, .ntargets = 1, .hit = on_hit};
	hits = 0;
	columns_find(&c, (const unsigned char *)words, n * sizeof(*words), 0x1000);
	return hits;
}

static void halves_apart(void **state)
{
	enum { WORDS = 1 << 16, UPPER = 101, LOWER = 700, FAR = UPPER + (1 << 14) };
	static uint32_t words[WORDS];
	(void)state;
	for (unsigned swapped = 0; swapped < 2; swapped++) {
		uint32_t upper = (uint32_t)(ONE >> 32), lower = (uint32_t)ONE + 0x40;
		upper = swapped ? __builtin_bswap32(upper) : upper;
		lower = swapped ? __builtin_bswap32(lower) : lower;
		words[UPPER] = upper;
		words[LOWER] = lower;
		assert_int_equal(in_columns(words, WORDS), 1);
		assert_true(hit_at == 0x1000 + LOWER * sizeof(*words) && hit_address == ONE + 0x40);
		words[LOWER] = __builtin_bswap32(lower); // of another order
		assert_int_equal(in_columns(words, WORDS), 0);
		words[LOWER] = 0;
		words[FAR] = lower;
		assert_int_equal(in_columns(words, WORDS), 0);
		words[FAR] = 0;
		words[UPPER] = 0;
		words[LOWER] = lower;
		assert_int_equal(in_columns(words, WORDS), 0);
		words[LOWER] = 0;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(numbers_of_a_program, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(numbers_that_are_left_out, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(products, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(inverses, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(added_or_xored, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(written_out, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(behind_noise, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(varints, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(varints_from_a_base, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(rows_of_varints, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(halves_apart, open_memory, close_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
