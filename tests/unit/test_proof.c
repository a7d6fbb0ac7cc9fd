// SPDX-License-Identifier: MIT
//
// The obligations: their words, and what makes a proof complete.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctp/proof.h"

static void words_are_those_of_the_files(void **state)
{
	static const char *const words[] = { "P0", "P1", "P2", "P3", "P4", "P5", "P6a", "P6b", "P7" };
	(void)state;
	assert_int_equal(PROOFS, sizeof(words) / sizeof(*words));
	for (unsigned p = 0; p < PROOFS; p++) {
		assert_string_equal(proof_word(p), words[p]);
		assert_int_equal(proof_find(words[p]), p);
		assert_true(*proof_meaning(p));
	}
}

static void other_words_are_none(void **state)
{
	static const char *const others[] = { "", "P", "P6", "P6A", "p0", "P8", "P00", " P0" };
	(void)state;
	assert_int_equal(proof_find(NULL), PROOFS);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(proof_find(others[i]), PROOFS);
}

static unsigned set_of(const char *words[], size_t n)
{
	unsigned set = 0;
	for (size_t i = 0; i < n; i++)
		set |= proof_bit(proof_find(words[i]));
	return set;
}

// Of all sets: complete are those with P0, P2, P3, P4 and one of P6a and P6b, whatever else is in them.
static void complete_is_told_of_all_sets(void **state)
{
	const char *needed[] = { "P0", "P2", "P3", "P4" }, *either[] = { "P6a", "P6b" };
	unsigned all = set_of(needed, 4), one = set_of(either, 2), complete = 0;
	(void)state;
	for (unsigned set = 0; set < 1u << PROOFS; set++) {
		assert_int_equal(proof_beyond_reach(set), (set & one) != 0);
		assert_int_equal(proof_witnessed(set), (set & all) == all && (set & one));
		complete += proof_witnessed(set);
	}
	assert_int_equal(complete, 3 * 8); // three ways to have one of two, and P1, P5, P7 as they like
}

static void the_tables_alone_tell_two(void **state)
{
	(void)state;
	for (unsigned p = 0; p < PROOFS; p++)
		assert_int_equal(proof_is_witnessed(p), p != PROOF_P1 && p != PROOF_P7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_are_those_of_the_files),
		cmocka_unit_test(other_words_are_none),
		cmocka_unit_test(complete_is_told_of_all_sets),
		cmocka_unit_test(the_tables_alone_tell_two),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
