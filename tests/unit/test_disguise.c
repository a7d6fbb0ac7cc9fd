// SPDX-License-Identifier: MIT
//
// Addresses in disguise: the forms, which of 32 bits are in use, and what a pass over memory makes of them. The
// objects that are looked for lie where nothing is mapped; the memory is two pages of this process's.
#include "disguise_pass.h"

#include <endian.h>
#include <inttypes.h>

// ------------------------------------------------------------------------- forms

static void each_form_and_back(void **state)
{
	(void)state;
	for (unsigned form = DISGUISE_NONE + 1; form < DISGUISE_WORDS; form++) {
		bool tagged;
		uint64_t word = disguise_word(form, ONE);
		assert_int_not_equal(word, ONE);
		assert_int_equal(disguise_address(form, word, &tagged), ONE & disguise_kept(form));
		assert_int_equal(tagged, form == DISGUISE_TAG_17); // bit 47 alone
	}
}

static void tags(void **state)
{
	bool tagged;
	(void)state;
	assert_int_equal(disguise_address(DISGUISE_LEFT_2, ONE << 2 | 2, &tagged), ONE);
	assert_false(tagged);
	assert_int_equal(disguise_address(DISGUISE_RIGHT_4, ONE >> 4 | 0xa5ULL << 56, &tagged), ONE);
	assert_true(tagged);
	assert_int_equal(disguise_address(DISGUISE_TAG_17, ONE | 0x1fff9ULL << 47, &tagged), ONE); // a NaN
	assert_false(tagged);
	assert_int_equal(disguise_address(DISGUISE_TAG_17, ONE | 0x11ULL << 47, &tagged), ONE);
	assert_true(tagged);
	assert_int_equal(disguise_address(DISGUISE_TAG_17, ONE, &tagged), 0); // scan.c sees it
	assert_int_equal(disguise_address(DISGUISE_DOUBLE, 0x3ff8000000000000, &tagged), 0); // 1.5
	assert_int_equal(disguise_address(DISGUISE_COMPLEMENT, ONE, &tagged), 0);
}

// ------------------------------------------------------------------------- forms in use

static struct handles_tally tally(uint32_t targets, uint32_t of, uint32_t decoys, uint32_t living)
{
	return (struct handles_tally){{of, 4096, LIVING}, {targets, decoys, living}};
}

static void what_is_in_use(void **state)
{
	(void)state;
	struct handles_tally t = tally(0, 3, 0, 0);
	assert_false(handles_in_use(&t, true));
	t = tally(3, 3, 0, 0);
	assert_true(handles_in_use(&t, true));
	t = tally(1, 3, 0, 0); // one, where the program keeps no living one so
	assert_false(handles_in_use(&t, true));
	assert_true(handles_in_use(&t, false));
	t = tally(1, 3, 0, 1);
	assert_true(handles_in_use(&t, true));
	t = tally(4, 64, 256, 0); // as many as there are decoys in place of them
	assert_false(handles_in_use(&t, false));
	t = tally(40, 64, 256, 0);
	assert_true(handles_in_use(&t, false));
	t = tally(4, 64, 256, 9); // but so the living are kept
	assert_true(handles_in_use(&t, true));
}

// ------------------------------------------------------------------------- a pass over memory

static void nothing_is_found_in_nothing(void **state)
{
	(void)state;
	open_memory();
	assert_int_equal(pass(0), 0);
	open_memory();
	put(64, 0x12345678, 8);
	put(4088, ONE + BLOCK + 64, 8);
	put(128, ~(ONE - 8), 8);
	assert_int_equal(pass(0), 0);
	assert_int_equal(found.nhits, 0);
}

static void each_word_is_found(void **state)
{
	(void)state;
	for (unsigned form = DISGUISE_NONE + 1; form < DISGUISE_WORDS; form++) {
		open_memory();
		uint64_t at = (uintptr_t)two + 4088;
		put(4088, disguise_word(form, ONE), 8);
		assert_int_equal(pass(0), 1);
		assert_int_equal(disguised_at(&found, at), form);
		assert_int_equal(disguised_at(&found, at + 8), DISGUISE_NONE);
	}
}

static void begins_and_tags(void **state)
{
	(void)state;
	open_memory();
	put(64, (ONE + 16) << 1 | 1, 8); // inside an object, all bits of the address
	assert_int_equal(pass(0), 1);
	open_memory();
	put(64, ONE >> 3 | 0x5ULL << 60, 8); // with a tag, where the object begins
	assert_int_equal(pass(0), 1);
	open_memory();
	put(64, (ONE + 16) >> 3 | 0x5ULL << 60, 8); // but not inside: that may be anything
	assert_int_equal(pass(0), 0);
	open_memory();
	put(64, (ONE + 17) << 1, 8); // no pointer leads there: two numbers, perhaps
	put(128, disguise_word(DISGUISE_DOUBLE, ONE + 16), 8);
	assert_int_equal(pass(0), 0);
	open_memory();
	put(67, htobe64(ONE), 8); // in a record, at any byte
	assert_int_equal(pass(0), 1);
	open_memory();
	put(67, htobe64(ONE | 0x4a4aULL << 48), 8); // behind two letters
	assert_int_equal(pass(0), 1);
}

// As the number of a page, or of a line of the cache: all of the address, where only zeros were lost.
static void page_numbers(void **state)
{
	uint64_t was = begins[0];
	(void)state;
	begins[0] = 0x12345678f000;
	for (unsigned k = 5; k <= 12; k++) {
		open_memory();
		put(64, ONE >> k, 8);
		assert_int_equal(pass(0), 1);
		if (k != 8) // then it stands there as it is, a byte before
			assert_int_equal(disguised_at(&found, (uintptr_t)two + 64), DISGUISE_RIGHT_MORE);
	}
	open_memory();
	put(80, (ONE >> 12) + 1, 8); // the next page
	assert_int_equal(pass(0), 0);
	for (unsigned i = 0; i < 2; i++) {
		open_memory();
		if (i)
			put(92, ONE >> 12, 8); // no word
		else
			put(128, ONE >> 12 | 1ULL << 47, 8); // other bits above
		assert_int_equal(pass(0), 1);
		assert_int_equal(found.hits[0].form, DISGUISE_BITS);
	}
	for (unsigned k = 4; k <= 21; k++) { // the upper bits alone
		begins[0] = was;
		open_memory();
		put(72, (uint32_t)(ONE >> k), 4);
		assert_int_equal(pass(0), k <= 20);
		assert_int_equal(disguised_at(&found, (uintptr_t)two + 72), k == 4 ? DISGUISE_LOW_4 : k <= 20 ? DISGUISE_UPPER : DISGUISE_NONE);
	}
	begins[0] = was;
}

// Written out, at any place; but no part of another text.
static void texts(void **state)
{
	static const char *const formats[] = {"%" PRIx64, "0x%" PRIx64, "_%016" PRIX64 "_p_co", "co-%" PRIu64 "!"};
	char text[40];
	(void)state;
	for (size_t i = 0; i < 4 * 4; i++) {
		open_memory();
		snprintf((char *)two + 64 + i % 4, 40, formats[i / 4], ONE);
		assert_int_equal(pass(0), 1);
		assert_int_equal(found.hits[0].form, DISGUISE_TEXT);
	}
	for (size_t i = 0; i < 4; i++) {
		open_memory();
		snprintf((char *)two + 64 + i, 40, "%016" PRIx64, __builtin_bswap64(ONE)); // the order of memory
		assert_int_equal(pass(0), 1);
	}
	open_memory();
	snprintf(text, sizeof(text), "%" PRIx64, ONE);
	memcpy(two + 8192 - strlen(text), text, strlen(text)); // where the memory ends
	assert_int_equal(pass(0), 1);
	uint64_t was = begins[0];
	for (unsigned i = 0; i < 3; i++) { // in a program that is not position-independent
		begins[0] = 0x1d3c2b0;
		open_memory();
		snprintf((char *)two + 65, 40, i ? "%" PRIx64 : "%" PRIu64, ONE + ((uint64_t)(i == 2) << 32));
		assert_int_equal(pass(0), i < 2);
		begins[0] = was;
	}
	open_memory();
	sprintf((char *)two + 64, "%" PRIx64, ONE + 1);
	sprintf((char *)two + 128, "1%" PRIx64, ONE);
	sprintf((char *)two + 192, "%" PRIx64 "1", ONE);
	sprintf((char *)two + 256, "%" PRIu64 "0", ONE);
	sprintf((char *)two + 320, "%" PRIx64, ONE);
	two[320] = '?';
	assert_int_equal(pass(0), 0);
}

// Of 32 bits.
static void halves_and_handles(void **state)
{
	(void)state;
	open_memory();
	put(64, (uint32_t)ONE, 4);
	put(104, ONE >> 32, 4);
	put(2048, (uint32_t)(begins[1] >> 4), 4);
	put(6004, (uint32_t)begins[2], 4);
	assert_int_equal(pass(0), 3);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 64), DISGUISE_COLUMNS); // (it has been let go)
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 2048), DISGUISE_LOW_4);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 6004), DISGUISE_COLUMNS);
	open_memory();
	put(64, (uint32_t)ONE | (uint64_t)((uintptr_t)two >> 32) << 32, 8);
	map.lo = (uint32_t)ONE | (uintptr_t)two >> 32 << 32; // the low half of a pointer into this is no handle
	map.hi = map.lo + 4096;
	struct maps_line maps[2] = {map, {.lo = (uintptr_t)two, .hi = (uintptr_t)two + 8192, .perms = "rw-p", .path = ""}};
	maps[0].lo &= ~4095ULL;
	maps[0].perms[0] = '-';
	maps[0].path = "[vvar]";
	memory.maps = maps[0].lo < maps[1].lo ? maps : (struct maps_line[]){maps[1], maps[0]};
	memory.nmaps = 2;
	assert_int_equal(pass(0), 0);
}

// Near the start of an arena at a multiple of 4 GiB lower halves are numbers as small as many others.
static void small_halves(void **state)
{
	uint64_t was[NODES];
	(void)state;
	memcpy(was, begins, sizeof(was));
	for (uint64_t i = 0; i < NODES; i++)
		begins[i] = 0x7fbb00000000 + 0x10f0 + i * 2 * BLOCK;
	open_memory();
	for (uint32_t i = 1; i < 1024; i++)
		put((size_t)i * 4, i * 16, 4);
	assert_int_equal(pass(0), 0);
	open_memory();
	for (size_t i = 0; i < NODES; i++)
		put(512 + 8 * i, (uint32_t)begins[i], 4);
	assert_int_equal(pass(0), NODES);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 512), DISGUISE_LOW);
	memcpy(begins, was, sizeof(was));
}

// Combined with the address of the structure, which lies in the same heap: numbers of few bits.
static void xored_with_its_structure(void **state)
{
	uint64_t was[NODES];
	(void)state;
	memcpy(was, begins, sizeof(was));
	for (unsigned offset = 0; offset <= 64; offset += 8) {
		open_memory();
		uint64_t own = (uintptr_t)two + 0x130;
		for (uint64_t i = 0; i < NODES; i++)
			begins[i] = ((uintptr_t)two & ~0xfffffULL) + 0x3a4d90 + i * 0x115b0;
		put(0x130 + offset, begins[0] ^ own, 8);
		put(0x930 + offset, (uint32_t)(begins[1] ^ (own + 0x800)), 4);
		assert_int_equal(pass(0), 2);
		assert_int_equal(disguised_at(&found, own + offset), DISGUISE_OWN);
	}
	open_memory();
	begins[0] = ((uintptr_t)two & ~0xfffffffULL) + 0x7a4d000; // both begin with a page
	put(64, begins[0] ^ (uintptr_t)two, 8);
	assert_int_equal(pass(0), 1);
	open_memory();
	for (unsigned i = 0; i < 1024; i++) // by chance: they would lead to decoys as often
		put(i * 8, ((begins[0] ^ ((uintptr_t)two + i * 8)) & ~0x1ffe0ULL) | (i * 0x9e40 & 0x1ffe0), 8);
	assert_int_equal(pass(0), 0);
	memcpy(begins, was, sizeof(was));
}

// glibc's link of a freed block to nothing: of all that begins in its own page, it would be the upper bits.
static void a_link_to_nothing(void **state)
{
	uint64_t was = begins[0], page;
	(void)state;
	open_memory();
	page = (uintptr_t)two >> 12;
	begins[0] = (uintptr_t)two + 0x5e0;
	put(64, page, 8);
	assert_int_equal(pass(0), 0);
	open_memory();
	begins[0] = (uintptr_t)two + 0x5e0;
	put(64, page + 1, 8); // of another page: somebody keeps it
	begins[0] += 4096;
	assert_int_equal(pass(0), 1);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 64), DISGUISE_UPPER);
	begins[0] = was;
}

// A number that is everywhere leads there once; a few of its places have names.
static void a_number_that_is_everywhere(void **state)
{
	(void)state;
	open_memory();
	for (size_t i = 0; i < 4096; i += 4)
		put(i, (uint32_t)ONE, 4);
	assert_int_equal(pass(0), 1);
	assert_true(found.nhits > 0 && found.nhits <= 32);
}

// Distances from the numbers themselves: of two lost objects that are near enough.
static void from_itself(void **state)
{
	(void)state;
	open_memory();
	uint64_t near = (uintptr_t)two & ~0xffffULL, was[2] = {begins[0], begins[1]};
	begins[0] = near - 0x7531250;
	begins[1] = near + 0x2345670;
	put(100, begins[0] - ((uintptr_t)two + 100), 4);
	put(4092, begins[1] - ((uintptr_t)two + 4092), 4);
	put(200, begins[1] - ((uintptr_t)two + 196), 4); // from elsewhere
	assert_int_equal(pass(0), 2);
	assert_int_equal(found.nhits, 2);
	begins[0] = was[0];
	begins[1] = was[1];
}

// The upper half of a pointer, or of one to an end, is no number, though it may be as large as the distance to
// something.
static void upper_halves(void **state)
{
	(void)state;
	uint64_t was = begins[0], base = 0x123456f00000, lower[] = {0x56f00010, 0x56f01000, 0x56f01008};
	for (unsigned i = 0; i < 3; i++) {
		open_memory();
		struct maps_line maps[2] = {{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		memory.maps = maps;
		memory.nmaps = 2;
		begins[0] = (uintptr_t)two + 4100 + (base >> 32);
		put(4096, (base >> 32) << 32 | lower[i], 8);
		assert_int_equal(pass(0), i == 2);
	}
	begins[0] = was;
}

// The same of 64 bits (offset_ptr): of what lies far away, and anywhere in it; of what is near, if many other
// numbers would not lead there as well.
static void from_itself_in_full(void **state)
{
	(void)state;
	uint64_t was = begins[0], at;
	open_memory();
	at = (uintptr_t)two + 4088;
	put(4088, ONE + 16 - at, 8);
	assert_int_equal(pass(0), 1);
	assert_int_equal(disguised_at(&found, at), DISGUISE_AWAY);
	open_memory();
	put(64, ONE + 2 - ((uintptr_t)two + 64), 8); // with a tag, where it begins
	assert_int_equal(pass(0), 1);
	open_memory();
	put(64, ONE + 18 - ((uintptr_t)two + 64), 8); // but not inside
	put(68, ONE - ((uintptr_t)two + 68), 8);      // no word
	assert_int_equal(pass(0), 0);
	begins[0] = ((uintptr_t)two & ~0xffffULL) - 0x7531250;
	for (size_t odd = 0; odd < 2; odd++) {
		open_memory();
		at = (uintptr_t)two + 512;
		put(512, ONE + 48 + odd - at, 8);
		assert_int_equal(pass(0), !odd);
		assert_int_equal(disguised_at(&found, at), odd ? DISGUISE_NONE : DISGUISE_NEAR);
	}
	open_memory();
	for (size_t i = 0; i < 64; i++) // numbers, of which one leads there by chance
		put(1024 + 8 * i, ONE + 40 + i - ((uintptr_t)two + 1024 + 8 * i), 8);
	assert_int_equal(pass(0), 0);
	open_memory();
	begins[0] = (uintptr_t)two + 0x800;
	put(0x400, 0x410, 8); // a small number
	assert_int_equal(pass(0), 0);
	begins[0] = was;
}

// Distances from the memory's begin.
static void distances(void **state)
{
	(void)state;
	for (unsigned known = 0; known <= NODES; known += NODES) {
		open_memory();
		uint64_t base = ONE - 0x23450;
		uint64_t *table = (uint64_t *)(void *)two;
		struct maps_line maps[2] = {
			{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		maps[0].perms[1] = 'w';
		memory.maps = maps;
		memory.nmaps = 2;
		for (size_t i = 0; i < LIVING; i++) // the living ones', and some of the lost
			table[8 + i] = ONE + 0x10010 * (i + 40) - base;
		for (unsigned i = 0; i < known; i++)
			table[32 + i] = begins[i] - base;
		assert_int_equal(pass(LIVING), known);
	}
	for (unsigned own = 0; own < 2; own++) { // from where the program begins
		open_memory();
		uint64_t base = ONE - 0x1234450;
		struct maps_line maps[2] = {{.lo = base & ~4095ULL, .hi = (base & ~4095ULL) + 4096, .perms = "r--p", .path = "/program"}, map};
		maps[0].path = own ? "/program" : "[vvar]";
		memory.maps = maps;
		memory.nmaps = 2;
		for (unsigned i = 0; i < NODES; i++)
			put(64 + 8 * i, begins[i] - maps[0].lo, 8);
		assert_int_equal(pass(0), own ? NODES : 0);
	}
}

// One coroutine's alone, though the program has many addresses to count from; not a round number.
static void one_distance(void **state)
{
	enum { BASES = 60, OF = 7 };
	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		struct maps_line maps[BASES + 1];
		uint32_t number = round ? 0x7680000 : 0x768d9c3;
		open_memory();
		for (uint64_t i = 0; i < BASES; i++) {
			uint64_t base = ONE - ((uint64_t)number << 4) + 0x101000 * (i - OF);
			maps[i] = (struct maps_line){.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"};
		}
		maps[BASES] = map;
		memory.maps = maps;
		memory.nmaps = BASES + 1;
		put(64, number, 4);
		assert_int_equal(pass(0), !round);
	}
}

// Small ones, in units of 16 or 64 bytes: of all three that are lost; among as many other numbers they are chance.
static void small_distances(void **state)
{
	uint64_t was[NODES];
	(void)state;
	memcpy(was, begins, sizeof(was));
	for (unsigned i = 0; i < 4; i++) {
		bool crowded = i % 2, lines = i / 2;
		open_memory();
		uint64_t base = 0x123456f00000;
		uint32_t *table = (uint32_t *)(void *)two;
		struct maps_line maps[2] = {{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		memory.maps = maps;
		memory.nmaps = 2;
		for (uint32_t k = 0; k < 1000 && crowded; k++)
			table[100 + k] = k + 0x80;
		for (unsigned k = 0; k < NODES; k++) {
			begins[k] = base + (lines ? 0x2440 + 0x1bc0 * k : 0x2430 + 0x9b0 * k);
			table[8 + 3 * k * k] = (uint32_t)(begins[k] - base) >> (lines ? 6 : 4);
		}
		assert_int_equal(pass(0), crowded ? 0 : NODES);
	}
	memcpy(begins, was, sizeof(was));
}

// With the begin of another, not with the middle of something.
static void sums(void **state)
{
	(void)state;
	open_memory();
	put(64, (uintptr_t)two + begins[2], 8);
	assert_int_equal(pass(0), 1);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 64), DISGUISE_SUM);
	open_memory();
	put(64, (uintptr_t)two + 16 + begins[2], 8);
	assert_int_equal(pass(0), 0);
}

// Combined with a secret that lies in memory, too. Chance: numbers whose upper bits are those of the secret,
// `noise` of them, which are as near to what is looked for as to decoys.
static unsigned xored(uint64_t word, uint64_t key, unsigned noise)
{
	open_memory();
	put(64, key, 8);
	put(4096, word, 8);
	for (unsigned i = 0; i < noise; i++)
		put(4104 + 8 * i, key ^ (ONE + 0x10 + ((uint64_t)((3 * i) | 1) << 16)), 8);
	return pass(0);
}

static void secrets(void **state)
{
	const uint64_t secret = 0x9e3779b97f4a7c15;
	(void)state;
	assert_int_equal(xored(ONE ^ secret, secret, 0), 1);
	assert_int_equal(disguised_at(&found, (uintptr_t)two + 64), DISGUISE_XOR); // either is the other's key
	assert_int_equal(disguised_hit_at(&found, (uintptr_t)two + 4096)->key, (uintptr_t)two + 64);
	assert_int_equal(xored((ONE + 64) ^ secret, secret, 0), 1);             // inside an object
	assert_int_equal(xored((ONE + 65) ^ secret, secret, 0), 0);             // no pointer leads there
	assert_int_equal(xored((ONE + BLOCK + 64) ^ secret, secret, 0), 0);     // behind it
	assert_int_equal(xored((ONE | 1ULL << 48) ^ secret, secret, 0), 0);     // not the same upper bits
	assert_int_equal(xored((ONE + 64) ^ secret, secret, 200), 0);           // one among as good ones
	assert_int_equal(xored(ONE ^ secret, secret, 200), 1);                  // few of which lead to a begin
}

// Of what leads to something among so many words with its upper bits: keys, then what they make, with a decoy, by which
// these upper bits are judged by themselves.
static unsigned among(size_t words, uint64_t apart)
{
	enum { KEYS = 64, TRIED_FIRST = 8 };
	const uint64_t key = 0x3ff05a5a5a500000, as_decoy = ONE ^ (((0x9e3779b97f4a7c15 >> 54) | 1) << 16);
	open_memory();
	uint64_t *many = mmap(NULL, words * 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct maps_line maps[2] = {map, {.lo = (uintptr_t)many, .hi = (uintptr_t)(many + words), .perms = "rw-p", .path = ""}};
	if (maps[0].lo > maps[1].lo) {
		maps[0] = maps[1];
		maps[1] = map;
	}
	memory.maps = maps;
	memory.nmaps = 2;
	for (uint64_t i = 0; i < words; i++)
		many[i] = i < KEYS ? key + (i << 8 | 3) : (key ^ apart) + (i << 3 | 5);
	for (uint64_t i = 0; i < TRIED_FIRST; i++)
		many[KEYS + i] = many[0] ^ (i ? ONE : as_decoy);
	many[words - 1] = many[0] ^ ONE;
	unsigned reached_by = pass(0);
	munmap(many, words * 8);
	return reached_by;
}

// Where not all pairs can be tried they tell nothing, nor do those that were tried before that showed. What is far from
// any address that is looked for need not be tried.
static void too_many_pairs(void **state)
{
	const uint64_t as_target = ONE >> 32 << 32;
	(void)state;
	assert_int_equal(among(1 << 12, as_target), 1);
	assert_int_equal(among(1 << 17, as_target), 0);
	assert_int_equal(among(1 << 17, 0), 1);
	assert_int_equal(among(1 << 17, 1ULL << 40), 1);
}

int main(void)
{
	memory_at = 0x7e9a3c6d8000; // the same in each run
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_form_and_back), cmocka_unit_test(tags), cmocka_unit_test(what_is_in_use),
		cmocka_unit_test(nothing_is_found_in_nothing), cmocka_unit_test(each_word_is_found),
		cmocka_unit_test(begins_and_tags), cmocka_unit_test(page_numbers), cmocka_unit_test(texts),
		cmocka_unit_test(halves_and_handles), cmocka_unit_test(distances), cmocka_unit_test(one_distance), cmocka_unit_test(small_distances), cmocka_unit_test(sums), cmocka_unit_test(secrets), cmocka_unit_test(too_many_pairs),
		cmocka_unit_test(from_itself), cmocka_unit_test(xored_with_its_structure), cmocka_unit_test(a_link_to_nothing), cmocka_unit_test(upper_halves), cmocka_unit_test(from_itself_in_full),
		cmocka_unit_test(small_halves), cmocka_unit_test(a_number_that_is_everywhere)};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	disguised_deinit(&found);
	return failed;
}
