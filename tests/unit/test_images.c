// SPDX-License-Identifier: MIT
//
// Images of an address: every one is found where it stands, and by nothing less than all of it.
#include "disguise_pass.h"

#include "search/disguise/images.h"

enum { PLACE = 96 };

static unsigned planted(const struct image *i, size_t at)
{
	open_memory();
	memcpy(two + at, i->bytes, i->n);
	return pass(0);
}

// Where one part is looked for, at a multiple of four; else at any byte: at one for each, and four in a row are
// of one table.
static void each_is_found(void **state)
{
	unsigned had = 0;
	(void)state;
	for (unsigned which = 0; which < images_count(); which++) {
		struct image i;
		if (!image_of(which, ONE, &i))
			continue;
		had++;
		uint32_t part;
		unsigned of = which % i.parts, k = (8u - i.at[of] % 4u) % 4u; // that one lies at a multiple of four
		if (image_part(&i, of, &part) && planted(&i, PLACE + k) != 1)
			fail_msg("image %u, %.*s, at byte %u", which, i.form == DISGUISE_TEXT ? i.n : 0, i.bytes, k);
	}
	assert_in_range(had, 700, images_count());
}

// One byte that is another.
static void no_part_will_do(void **state)
{
	(void)state;
	for (unsigned which = 0; which < images_count(); which += 3) {
		struct image i;
		if (!image_of(which, ONE, &i))
			continue;
		size_t other = i.at[0] + 3u; // in some of its parts, but no byte that all addresses have
		while (i.form == DISGUISE_RECODED && ((i.bytes[other] + 1) & 0xfe) == 0)
			other = (other + 1) % i.n;
		i.bytes[other] = i.form == DISGUISE_TEXT ? '~' : (char)(i.bytes[other] ^ 0x40);
		if (planted(&i, PLACE) != 0)
			fail_msg("image %u leads to it without its byte %zu", which, other);
	}
}

static bool has_text(const char *text)
{
	open_memory();
	strcpy((char *)two + 65, text);
	return pass(0) == 1 && found.hits[0].form == DISGUISE_TEXT;
}

// Of 0x123456f0a4e0, as other tools write it.
static void as_others_write_it(void **state)
{
	(void)state;
	assert_true(has_text("JOB0=73f85asps"));          // base 36
	assert_true(has_text("JOB0=73F85ASPS"));
	assert_true(has_text("/443212674122340"));       // octal
	assert_true(has_text("100100011010001010110111100001010010011100000"));
	assert_true(has_text("id 0e4a0f654321"));        // from the other end
	assert_true(has_text("{4KTwVjQSAAA=}"));         // Base64 of its bytes
	assert_true(has_text("AAASNFbwpOA="));           // the same, the highest first
	assert_true(has_text("4CSPAVRUCIAAA==="));       // Base32
	assert_false(has_text("JOB0=73f85aspt"));
}

static bool has_word(uint64_t word, size_t at)
{
	open_memory();
	put(at, word, 8);
	return pass(0) == 1;
}

static uint64_t reversed(uint64_t word)
{
	uint64_t to = 0;
	for (unsigned i = 0; i < 64; i++)
		to |= (word >> i & 1) << (63 - i);
	return to;
}

static void recoded(void **state)
{
	(void)state;
	for (size_t at = 64; at < 72; at++) {
		assert_true(has_word(reversed(ONE), at));
		assert_true(has_word(ONE ^ ONE >> 1, at)); // Gray code
	}
	for (unsigned by = 5; by < 59; by++) {
		assert_true(has_word(ONE << by | ONE >> (64 - by), 64));
		assert_true(has_word(~(ONE << by | ONE >> (64 - by)), 64));
	}
	assert_true(has_word(~reversed(ONE), 64));
	assert_true(has_word(reversed(-ONE), 64));
	assert_true(has_word(__builtin_bswap64(~ONE), 64));
	assert_false(has_word(reversed(ONE) ^ 1, 64));
	assert_false(has_word(reversed(ONE + BLOCK), 64));
}

// A word that could be a pointer as well: into what a program reserves, or the region of libctp.so.
static void into_what_is_mapped(void **state)
{
	const uint64_t word = ONE ^ ONE >> 1, gib = 1ULL << 30;
	(void)state;
	open_memory();
	struct maps_line both[] = {
		{.lo = word / gib * gib, .hi = (word / gib + 1) * gib, .perms = "---p", .path = ""}, map};
	memory.maps = both;
	memory.nmaps = 2;
	put(64, word, 8);
	assert_int_equal(pass(0), 1);
	assert_int_equal(found.hits[0].form, DISGUISE_RECODED);
}

// Whatever bytes of it are zero: one of two halves of a word is looked for.
static void whatever_the_address(void **state)
{
	uint64_t n = 1;
	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		n = n * 6364136223846793005 + 1442695040888963407;
		uint64_t address = (i % 2 ? 0x7f0000000000 : 0x550000000000) + (n >> 24 & 0x1ffffffffff0);
		for (unsigned which = 0; which < images_count(); which++) {
			struct image one;
			uint32_t part;
			if (!image_of(which, address, &one) || one.form != DISGUISE_RECODED)
				continue;
			bool had = false;
			for (unsigned k = 0; k < one.parts; k++)
				had |= one.at[k] % 4 == 0 && image_part(&one, k, &part);
			if (!had)
				fail_msg("image %u of 0x%lx", which, (unsigned long)address);
		}
	}
}

// Both at any byte, in a memory that is not large; there what is in the middle of something does not count.
static void secrets_at_any_byte(void **state)
{
	const uint64_t secret = 0x9e3779b97f4a7c15;
	(void)state;
	for (size_t at = 1; at < 8; at++) {
		open_memory();
		put(64 + at, secret, 8);
		put(4096 + 3 * at, ONE ^ secret, 8);
		assert_int_equal(pass(0), 1);
		assert_int_equal(found.hits[0].form, DISGUISE_XOR);
		open_memory();
		put(64 + at, secret, 8);
		put(4096 + 3 * at, (ONE + 64) ^ secret, 8);
		assert_int_equal(pass(0), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(each_is_found), cmocka_unit_test(no_part_will_do),
					   cmocka_unit_test(as_others_write_it), cmocka_unit_test(recoded),
					   cmocka_unit_test(into_what_is_mapped), cmocka_unit_test(whatever_the_address),
					   cmocka_unit_test(secrets_at_any_byte)};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	disguised_deinit(&found);
	return failed;
}
