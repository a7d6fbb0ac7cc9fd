// SPDX-License-Identifier: MIT
//
// Addresses in parts: written out with something between, in bit fields, as operands of code that was made, and in
// links of a list.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "search/whole/code_pages.h"
#include "search/whole/number_rows.h"
#include "search/whole/packed_bits.h"
#include "search/disguise/xor_words.h"

enum { PAGE = 4096 };
#define ONE 0x7f12d6f0a4e0
static const struct span target = {ONE, ONE + 0x340};
static const uint64_t begins[] = {ONE};
static unsigned hits;
static uint64_t hit_address;

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	(void)ctx;
	(void)at;
	hit_address = address;
	hits++;
}

// ------------------------------------------------------------------- text

static unsigned in_text(const char *text)
{
	const struct number_rows r = {.targets = &target, .ntargets = 1, .hit = on_hit};
	hits = 0;
	number_rows_find(&r, (const unsigned char *)text, strlen(text), 0x1000);
	assert_true(!hits || hit_address == ONE);
	return hits > 0;
}

static void text(void **state)
{
	(void)state;
	assert_int_equal(in_text("?h=%e0%a4%f0%d6%12%7f%00%00"), 1);
	assert_int_equal(in_text("%7F%12%D6%F0%A4%E0"), 1);
	assert_int_equal(in_text("7f:12:d6:f0:a4:e0"), 1);
	assert_int_equal(in_text("\\x00\\x00\\x7f\\x12\\xd6\\xf0\\xa4\\xe0"), 1);
	assert_int_equal(in_text("[224, 164, 240, 214, 18, 127, 0, 0]"), 1);
	assert_int_equal(in_text("127.18.214.240.164.224"), 1);
	assert_int_equal(in_text("fe80::7f12:d6f0:a4e0"), 1);
	assert_int_equal(in_text("00007f12-d6f0-a4e0-8000-000000000001"), 1);
	assert_int_equal(in_text("32530:3606095072"), 1);
	assert_int_equal(in_text("139,720,551,474,400"), 0); // another one
	char thousands[32];
	snprintf(thousands, sizeof(thousands), "%lu,%03lu,%03lu,%03lu,%03lu", ONE / 1000000000000, ONE / 1000000000 % 1000,
		 ONE / 1000000 % 1000, ONE / 1000 % 1000, ONE % 1000);
	assert_int_equal(in_text(thousands), 1);
	assert_int_equal(in_text("1 3 9 7 1 8 8 9 2 2 3 3 9 5 3"), 0); // a digit each, of another one
	char digits[40], one[20];
	snprintf(one, sizeof(one), "%lu", ONE);
	for (size_t i = 0; i <= strlen(one); i++) {
		digits[2 * i] = one[i];
		digits[2 * i + 1] = ' ';
	}
	assert_int_equal(in_text(digits), 1);
}

static void no_text(void **state)
{
	(void)state;
	assert_int_equal(in_text("7f:12:d6:f0:a4:e1"), 0);           // one byte is another
	assert_int_equal(in_text("7f:12:d6 and then f0:a4:e0"), 0);  // no row
	assert_int_equal(in_text("7f:12:d6:f0:a4"), 0);              // not all
	assert_int_equal(in_text("7f\x01" "12\x01" "d6\x01" "f0\x01" "a4\x01" "e0"), 0); // no text
}

// ------------------------------------------------------------------- bit fields

static unsigned in_bits(uint64_t low, uint64_t high)
{
	static struct packed_bits p;
	uint64_t words[10] = {low, high};
	p = (struct packed_bits){.begins = begins, .nbegins = 1, .hit = on_hit};
	packed_bits_ready(&p);
	hits = 0;
	packed_bits_find(&p, (const unsigned char *)words, 2 * sizeof(*words), 0x1000);
	return hits > 0;
}

static void bits(void **state)
{
	(void)state;
	uint64_t field = ONE >> 4;
	for (unsigned by = 0; by < 20; by++)
		if (by % 8 != 4) {
			assert_int_equal(in_bits(field << by | ((1u << by) - 1), 0), 1);
			assert_int_equal(in_bits((field ^ 1) << by, 0), 0);
		}
	assert_int_equal(in_bits(field << 40 | 77, field >> 24 | 5ULL << 50), 1); // across two words
	assert_int_equal(in_bits(ONE, 0), 0);                                     // plain ones are judged elsewhere
	assert_int_equal(in_bits(ONE << 8, 0), 0);
	assert_int_equal(in_bits(ONE | 1ULL << 47, 0), 1); // nobody has taken that for one
}

// ------------------------------------------------------------------- code and links

static unsigned char *page;
static struct maps_line maps;
static struct memory memory;

static void open_page(const char *perms, const char *path, unsigned long ino)
{
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	maps = (struct maps_line){.lo = (uintptr_t)page, .hi = (uintptr_t)page + PAGE, .ino = ino, .path = path};
	memcpy(maps.perms, perms, 5);
	memory_of_process(&memory, getpid());
	memory.maps = &maps;
	memory.nmaps = 1;
	memory.deadline_ns = UINT64_MAX;
	hits = 0;
}

static unsigned close_page(void)
{
	memory_close(&memory);
	munmap(page, PAGE);
	return hits > 0;
}

static unsigned in_code(const char *path, uint64_t at, const void *bytes, size_t n, const void *more, size_t nmore)
{
	static struct code_pages c;
	open_page("r-xp", path, *path ? 1 : 0);
	memcpy(page + at, bytes, n);
	memcpy(page + at + n, more, nmore);
	c = (struct code_pages){.memory = &memory, .begins = begins, .nbegins = 1, .hit = on_hit};
	code_pages_ready(&c);
	code_pages_find(&c, page, PAGE - 72, (uintptr_t)page);
	return close_page();
}

static void code(void **state)
{
	(void)state;
	uint32_t lower = (uint32_t)ONE, upper = ONE >> 32, other = upper + 1;
	struct __attribute__((packed)) {
		unsigned char move[2];
		uint64_t value;
	} one = {{0x48, 0xb8}, 0x5bd1e995a3c59ac3}, two = {{0x48, 0xb9}, 0x5bd1e995a3c59ac3 ^ ONE}, not = {{0x48, 0xb8}, ~(uint64_t)ONE};
	struct __attribute__((packed)) {
		uint32_t number;
		unsigned char instructions[5];
	} half = {upper, {0x48, 0xc1, 0xe0, 0x20, 0xb9}}, wrong = {other, {0x48, 0xc1, 0xe0, 0x20, 0xb9}};
	assert_int_equal(in_code("", 33, &half, sizeof(half), &lower, sizeof(lower)), 1);
	assert_int_equal(in_code("", 33, &wrong, sizeof(wrong), &lower, sizeof(lower)), 0);
	assert_int_equal(in_code("/program", 33, &half, sizeof(half), &lower, sizeof(lower)), 0); // not made
	assert_int_equal(in_code("", 65, &one, sizeof(one), &two, sizeof(two)), 1);
	assert_int_equal(in_code("", 65, &one, sizeof(one), &one, sizeof(one)), 0);
	assert_int_equal(in_code("", 65, &not, sizeof(not), "", 1), 1);
}

static unsigned in_links(uint64_t first, uint64_t last)
{
	open_page("rw-p", "/program", 1);
	uint64_t *links = (uint64_t *)(void *)page, at = (uintptr_t)page;
	links[8] = (at + 9 * sizeof(*links)) ^ first;
	links[9] = last ^ (at + 8 * sizeof(*links));
	static struct xor_links x;
	x = (struct xor_links){.memory = &memory, .targets = &target, .ntargets = 1, .hit = on_hit};
	xor_links_find(&x, page, PAGE, at);
	xor_links_settle(&x);
	return close_page();
}

static void links(void **state)
{
	(void)state;
	assert_int_equal(in_links(ONE, ONE), 1);
	assert_int_equal(in_links(ONE + 16, ONE + 64), 1);    // inside, and another
	assert_int_equal(in_links(ONE, ONE + 0x10000), 0); // the other end knows something else
	assert_int_equal(in_links(ONE + 4, ONE + 4), 0);
}

// Where the heap begins just behind the program, its addresses differ from static ones in few bits; among the words
// of static storage there are many that are as large as links.
static void near_links(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		open_page("rw-p", "/program", 1);
		uint64_t *words = (uint64_t *)(void *)page, at = (uintptr_t)page;
		const struct span near = {at ^ 0x20000, (at ^ 0x20000) + PAGE};
		words[8] = 0x20340;
		words[9] = 0x20348;
		for (unsigned k = 16; k < PAGE / sizeof(*words) && i; k++)
			words[k] = 1ULL << 40 | k * sizeof(*words); // two numbers each
		static struct xor_links x;
		x = (struct xor_links){.memory = &memory, .targets = &near, .ntargets = 1, .hit = on_hit};
		xor_links_find(&x, page, PAGE, at);
		if (i)
			xor_links_find(&x, page + 128, PAGE - 128, at + 128);
		xor_links_settle(&x);
		assert_int_equal(close_page() > 0, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text), cmocka_unit_test(no_text), cmocka_unit_test(bits),
		cmocka_unit_test(code), cmocka_unit_test(links), cmocka_unit_test(near_links),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
