// SPDX-License-Identifier: MIT
//
// Whether a form is found must not depend on the address that the program was given: each form is tried with many
// addresses, as malloc and mmap give them, at each place where it may stand. What is the same every time is where
// they are drawn from; ROUNDS=n in the environment draws n times as many.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "search/disguise/disguised.h"

enum { SIZE = 0x340, OBJECTS = 48, ROOM = 512, BYTES = 1 << 15, ROUNDS = 1, DIGITS_MOST = 64 };
enum { BEFORE = 0x200 }; // of an object, where a block lies in it
enum where { IN_HEAP, IN_MMAP, AT_PAGE, INSIDE, PLACES };

static uint64_t begins[OBJECTS];
static unsigned char *bytes;
static struct maps_line map;
static struct memory memory;

static uint64_t random_state = 0x9e3779b97f4a7c15;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state * 0x2545f4914f6cdd1d;
}

// Near each other, as a program's are, but no two lie in the same page.
static void draw(enum where where)
{
	uint64_t from = where == IN_HEAP ? 0x550000000000 | (random_word() & 0xfffffff) << 12 :
					   0x7f0000000000 | (random_word() & 0xfffffff) << 12;
	for (unsigned i = 0; i < OBJECTS; i++) {
		from += ((random_word() & 0xff) + 1) << 12;
		begins[i] = where == AT_PAGE ? from :
			    where == IN_MMAP ? from + 16 :
			    where == INSIDE  ? from + BEFORE + (random_word() & 0x7f) * 16 :
					       from + (random_word() & 0xff) * 16;
	}
}

// ------------------------------------------------------------------------- forms

// Of an address, at `place`, and how many bytes it may take.
typedef void form(uint64_t a, unsigned place, unsigned char *to);

static void put(unsigned char *to, uint64_t word)
{
	memcpy(to, &word, sizeof(word));
}

#define WORD_FORM(name, word)                                           \
	static void name(uint64_t a, unsigned place, unsigned char *to) \
	{                                                               \
		(void)place;                                            \
		put(to, word);                                          \
	}
#define BYTES_FORM(name, word)                                          \
	static void name(uint64_t a, unsigned place, unsigned char *to) \
	{                                                               \
		put(to + place % 8, word);                              \
	}

static uint64_t reversed(uint64_t word, unsigned of)
{
	uint64_t to = 0;
	for (unsigned i = 0; i < 64; i++)
		to |= (word >> i & 1) << (i / of * of + of - 1 - i % of);
	return to;
}

static uint64_t turned(uint64_t word, unsigned place)
{
	unsigned by = 5 + place % 55;
	return word << by | word >> (64 - by);
}

static uint64_t from_gray(uint64_t word)
{
	for (unsigned k = 1; k < 64; k *= 2)
		word ^= word >> k;
	return word;
}

static uint64_t digits(uint64_t number, uint64_t base, unsigned bits)
{
	uint64_t to = 0;
	for (unsigned k = 0; k < 64; k += bits, number /= base)
		to |= number % base << k;
	return to;
}

static uint64_t of_double(uint64_t a)
{
	double value = (double)a;
	uint64_t word;
	memcpy(&word, &value, sizeof(word));
	return word;
}

WORD_FORM(left, a << (1 + place % 4))
WORD_FORM(right, a >> (1 + place % 4))
WORD_FORM(right_tag, a >> 3 | (random_word() | 1) << 47)
WORD_FORM(complement, ~a)
WORD_FORM(negative, -a)
WORD_FORM(tag_16, a | random_word() << 48)
WORD_FORM(tag_17, a | random_word() << 51 | 0xfULL << 47)
WORD_FORM(real, of_double(a))
WORD_FORM(turned_word, turned(a, place))
WORD_FORM(turned_complement, turned(~a, place))
WORD_FORM(turned_reversed, turned(reversed(a, 64), place))
WORD_FORM(turned_swapped, turned(__builtin_bswap64(a), place))
BYTES_FORM(plain, a)
BYTES_FORM(swapped, __builtin_bswap64(a))
BYTES_FORM(swapped_complement, __builtin_bswap64(~a))
BYTES_FORM(swapped_negative, __builtin_bswap64(-a))
BYTES_FORM(all_bits_reversed, reversed(a, 64))
BYTES_FORM(bits_reversed, reversed(a, 8))
BYTES_FORM(nibbles_reversed, reversed(reversed(a, 8), 4))
BYTES_FORM(reversed_complement, ~reversed(a, 64))
BYTES_FORM(gray, a ^ a >> 1)
BYTES_FORM(gray_back, from_gray(a))
BYTES_FORM(quarters, reversed(reversed(a, 64), 16))
BYTES_FORM(pairs, reversed(reversed(a, 16), 8))
BYTES_FORM(packed_decimal, digits(a, 10, 4))
BYTES_FORM(four_digits, digits(a, 10000, 16))
BYTES_FORM(nine_digits, digits(a, 1000000000, 32))
BYTES_FORM(thirty_bits, digits(a, 1 << 30, 32))

static void xored(uint64_t a, unsigned place, unsigned char *to)
{
	uint64_t key = random_word() | 1ULL << 60; // no address
	put(to + 8 * (place % 4), key);
	put(to + 64, a ^ key);
}

static void xored_apart(uint64_t a, unsigned place, unsigned char *to)
{
	uint64_t key = random_word() | 1ULL << 60;
	put(to + 1 + place % 7, key);
	put(to + 65 + place / 7 % 7, a ^ key);
}

// With the address of a structure that begins up to 64 bytes before, or its own, of its page.
static void own_structure(uint64_t a, unsigned place, unsigned char *to)
{
	put(to + 8 * (place % 9), a ^ (uintptr_t)to);
}

static void own_page(uint64_t a, unsigned place, unsigned char *to)
{
	unsigned char *at = to + 8 * (place % 9);
	put(at, a ^ (uintptr_t)at >> 12);
}

// In columns of their own, in the order of a network.
static void halves_apart(uint64_t a, unsigned place, unsigned char *to)
{
	uint32_t lower = __builtin_bswap32((uint32_t)a), upper = __builtin_bswap32((uint32_t)(a >> 32));
	memcpy(to + 4 * (place % 16), &upper, sizeof(upper));
	memcpy(to + 100 + 4 * (place / 16 % 8), &lower, sizeof(lower));
}

// The upper bits alone: what was lost is kept elsewhere, in fewer bits.
static void upper_bits(uint64_t a, unsigned place, unsigned char *to)
{
	uint32_t upper = (uint32_t)(a >> (5 + place / 16 % 16));
	memcpy(to + 4 * (place % 16), &upper, sizeof(upper));
}

static void upper_float(uint64_t a, unsigned place, unsigned char *to)
{
	float upper = (float)(a >> 24);
	memcpy(to + 4 * (place % 16), &upper, sizeof(upper));
}

// Of a page, at any bit but where a pointer to something in it has it.
static void page_field(uint64_t a, unsigned place, unsigned char *to)
{
	const uint64_t mask = (1ULL << 35) - 1;
	unsigned by = place % 64;
	unsigned __int128 w = (unsigned __int128)random_word() << 64 | random_word();
	by += by % 8 == 4;
	w = (w & ~((unsigned __int128)mask << by)) | (unsigned __int128)(a >> 12) << by;
	memcpy(to, &w, sizeof(w));
}

static uint64_t real_in(uint64_t a, double units)
{
	double value = (double)a / units;
	memcpy(&a, &value, sizeof(a));
	return a;
}

BYTES_FORM(real_seconds, real_in(a, place / 8 % 2 ? 1e6 : 1e9))
BYTES_FORM(real_thousands, real_in(a, 1e3))

static void bit_field(uint64_t a, unsigned place, unsigned char *to)
{
	const uint64_t mask = (1ULL << 43) - 1;
	unsigned by = place % 64;
	unsigned __int128 w = (unsigned __int128)random_word() << 64 | random_word();
	w = (w & ~((unsigned __int128)mask << by)) | (unsigned __int128)(a >> 4) << by;
	memcpy(to, &w, sizeof(w));
}

static void sevens(uint64_t a, unsigned place, unsigned char *to)
{
	unsigned char *at = to + place % 8;
	for (; a > 127; a >>= 7)
		*at++ = (unsigned char)(a | 128);
	*at = (unsigned char)a;
}

static void sevens_zigzag(uint64_t a, unsigned place, unsigned char *to)
{
	sevens(a << 1, place, to);
}

// ------------------------------------------------------------------------- text

static const char lower[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
static const char upper[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
static const char base_58[] = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

static void write_digits(uint64_t number, unsigned place, unsigned char *to, const char *alphabet, unsigned base, bool backward)
{
	char text[DIGITS_MOST];
	size_t n = 0, at = place % 8;
	for (; number; number /= base)
		text[n++] = alphabet[number % base];
	to[at++] = '(';
	for (size_t i = 0; i < n; i++)
		to[at++] = (unsigned char)(backward ? text[i] : text[n - 1 - i]);
	to[at] = ')';
}

#define TEXT_FORM(name, number, alphabet, base, backward)                     \
	static void name(uint64_t a, unsigned place, unsigned char *to)       \
	{                                                                     \
		write_digits(number, place, to, (alphabet), (base), (backward)); \
	}
#define PRINTED_FORM(name, ...)                                          \
	static void name(uint64_t a, unsigned place, unsigned char *to)  \
	{                                                                \
		sprintf((char *)to + place % 8, __VA_ARGS__);            \
	}
#define QUARTER(n) (unsigned)(a >> 16 * (n) & 0xffff)

TEXT_FORM(hexadecimal, a, lower, 16, false)
TEXT_FORM(hexadecimal_upper, a, upper, 16, false)
TEXT_FORM(hexadecimal_swapped, __builtin_bswap64(a), lower, 16, false)
TEXT_FORM(hexadecimal_backward, a, lower, 16, true)
TEXT_FORM(decimal, a, lower, 10, false)
TEXT_FORM(decimal_backward, a, lower, 10, true)
TEXT_FORM(octal, a, lower, 8, false)
TEXT_FORM(binary, a, lower, 2, false)
TEXT_FORM(twelve, a, lower, 12, false)
TEXT_FORM(thirty_six, a, lower, 36, false)
TEXT_FORM(thirty_six_upper, a, upper, 36, false)
TEXT_FORM(forty_five, a, lower, 45, false)
TEXT_FORM(fifty_eight, a, base_58, 58, false)
TEXT_FORM(sixty_two, a, lower, 62, false)
TEXT_FORM(sixty_two_upper, a, upper, 62, false)
TEXT_FORM(sixty_two_swapped, __builtin_bswap64(a), upper, 62, false)
TEXT_FORM(sixty_four, a, upper, 64, false)
PRINTED_FORM(padded, "%016lx", a)
PRINTED_FORM(uuid, "%08x-%04x-%04x-8000-000000000001", (unsigned)(a >> 32), QUARTER(1), QUARTER(0))
PRINTED_FORM(network, "fe80::%x:%x:%x", QUARTER(2), QUARTER(1), QUARTER(0))
PRINTED_FORM(two_halves, "%u:%u", (unsigned)(a >> 32), (unsigned)a)
PRINTED_FORM(address_and_port, "%u.%u.%u.%u:%u", (unsigned)(a >> 40), (unsigned)(a >> 32 & 255), (unsigned)(a >> 24 & 255),
	     (unsigned)(a >> 16 & 255), QUARTER(0))
PRINTED_FORM(thousands, "%lu,%03lu,%03lu,%03lu,%03lu", a / 1000000000000, a / 1000000000 % 1000, a / 1000000 % 1000,
	     a / 1000 % 1000, a % 1000)

static void each_byte(uint64_t a, unsigned place, unsigned char *to, const char *format)
{
	size_t at = place % 8;
	for (unsigned i = 8; i-- > 0;)
		at += (size_t)sprintf((char *)to + at, format, (unsigned)(a >> 8 * i & 0xff));
}

static void percents(uint64_t a, unsigned place, unsigned char *to)
{
	each_byte(a, place, to, "%%%02X");
}

static void percents_of_memory(uint64_t a, unsigned place, unsigned char *to)
{
	each_byte(__builtin_bswap64(a), place, to, "%%%02x");
}

static void dotted(uint64_t a, unsigned place, unsigned char *to)
{
	each_byte(a, place, to, "%u.");
}

static void wide(const char *text, unsigned place, unsigned char *to)
{
	for (size_t i = 0; text[i]; i++)
		to[2 * (place % 4) + 2 * i] = (unsigned char)text[i];
}

static void wide_hexadecimal(uint64_t a, unsigned place, unsigned char *to)
{
	char text[32];
	snprintf(text, sizeof(text), "%lx", a);
	wide(text, place, to);
}

static void wide_decimal(uint64_t a, unsigned place, unsigned char *to)
{
	char text[32];
	snprintf(text, sizeof(text), "%lu", a);
	wide(text, place, to);
}

// Base64 of a record in which so many bytes precede the address.
static void of_record(uint64_t a, unsigned place, unsigned char *to)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned char record[24];
	for (size_t i = 0; i < sizeof(record); i += 8)
		put(record + i, random_word());
	put(record + place / 8 % 9, a);
	for (size_t i = 0; i < sizeof(record); i += 3)
		for (unsigned k = 0; k < 4; k++) {
			unsigned three = (unsigned)record[i] << 16 | (unsigned)record[i + 1] << 8 | record[i + 2];
			to[place % 8 + i / 3 * 4 + k] = (unsigned char)alphabet[three >> (18 - 6 * k) & 63];
		}
}

// ------------------------------------------------------------------------- a pass

#define FORM(name) {#name, name, ANYWHERE}
static const struct {
	const char *name;
	form *write;
	enum only { ANYWHERE, PAGES, BEGINS } only; // of what begins at a page; of no block in an object
} forms[] = {
	FORM(left), FORM(right), FORM(right_tag), FORM(complement), FORM(negative), FORM(tag_16), FORM(tag_17), FORM(real),
	FORM(turned_word), FORM(turned_complement), FORM(turned_reversed), FORM(turned_swapped), FORM(plain), FORM(swapped),
	FORM(swapped_complement), FORM(swapped_negative), FORM(all_bits_reversed), FORM(bits_reversed), FORM(nibbles_reversed),
	FORM(reversed_complement), FORM(gray), FORM(gray_back), FORM(quarters), FORM(pairs), FORM(packed_decimal),
	FORM(four_digits), FORM(nine_digits), FORM(thirty_bits), FORM(xored), FORM(xored_apart), FORM(own_structure), FORM(own_page),
	FORM(halves_apart), {"upper_bits", upper_bits, BEGINS}, FORM(upper_float), FORM(real_seconds), FORM(real_thousands),
	FORM(address_and_port), {"page_field", page_field, PAGES}, FORM(bit_field), FORM(sevens),
	FORM(sevens_zigzag), FORM(hexadecimal), FORM(hexadecimal_upper), FORM(hexadecimal_swapped), FORM(hexadecimal_backward),
	FORM(decimal), FORM(decimal_backward), FORM(octal), FORM(binary), FORM(twelve), FORM(thirty_six), FORM(thirty_six_upper),
	FORM(forty_five), FORM(fifty_eight), FORM(sixty_two), FORM(sixty_two_upper), FORM(sixty_two_swapped), FORM(sixty_four),
	FORM(padded), FORM(uuid), FORM(network), FORM(two_halves), FORM(thousands), FORM(percents), FORM(percents_of_memory),
	FORM(dotted), FORM(wide_hexadecimal), FORM(wide_decimal), FORM(of_record),
};

static void open_memory(enum where where)
{
	bytes = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(bytes, MAP_FAILED);
	map = (struct maps_line){.lo = (uintptr_t)bytes, .hi = (uintptr_t)bytes + BYTES, .perms = "rw-p", .path = ""};
	memory_of_process(&memory, getpid());
	memory.maps = &map;
	memory.nmaps = 1;
	memory.deadline_ns = UINT64_MAX;
	draw(where);
}

// Which object is reached by nothing in memory; -1: none. Memory is let go.
static int lost(enum where where)
{
	struct search_piece pieces[OBJECTS] = {0};
	struct disguised_begin starts[2 * OBJECTS];
	size_t n = 0;
	for (uint32_t i = 0; i < OBJECTS; i++) {
		uint64_t lo = where == INSIDE ? begins[i] - BEFORE : begins[i];
		pieces[i] = (struct search_piece){.at = {lo, lo + SIZE}, .node = i};
		starts[n++] = (struct disguised_begin){{lo, where == AT_PAGE ? HANDLE_STACK : HANDLE_BLOCK}, i};
		if (where == INSIDE)
			starts[n++] = (struct disguised_begin){{begins[i], HANDLE_INNER}, i};
	}
	struct search s = {.memory = &memory, .pieces = pieces, .npieces = OBJECTS, .nodes = OBJECTS};
	assert_int_equal(search_run(&s), 0);
	assert_true(graph_spread(&s.g));
	struct disguised found = {.s = &s, .begins = starts, .nbegins = n, .table_least = 2};
	assert_int_equal(disguised_run(&found), 0);
	int which = -1;
	for (uint32_t i = 0; i < OBJECTS; i++)
		if (!s.g.reached[graph_group(&s.g, i)])
			which = (int)i;
	disguised_deinit(&found);
	search_deinit(&s);
	memory_close(&memory);
	munmap(bytes, BYTES);
	return which;
}

static void each_form_of_any_address(void **state)
{
	(void)state;
	const char *more = getenv("ROUNDS");
	int rounds = ROUNDS * (more ? atoi(more) : 1);
	for (size_t k = 0; k < sizeof(forms) / sizeof(*forms); k++)
		for (int i = 0; i < PLACES * rounds; i++) {
			unsigned places[OBJECTS];
			enum where where = forms[k].only == PAGES ? AT_PAGE : (enum where)(i % PLACES);
			if (where == INSIDE && forms[k].only == BEGINS)
				continue;
			open_memory(where);
			for (unsigned j = 0; j < OBJECTS; j++) {
				places[j] = (unsigned)(random_word() >> 40);
				forms[k].write(begins[j], places[j], bytes + 2048 + ROOM * j);
			}
			int which = lost(where);
			if (which >= 0)
				fail_msg("%s: nothing leads to %lx, of place %u", forms[k].name, begins[which], places[which]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_form_of_any_address)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
