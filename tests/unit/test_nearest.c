// SPDX-License-Identifier: MIT
//
// The distance between a mistyped word and a known one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/nearest.h"

static unsigned distance(const char *a, const char *b)
{
	return nearest_distance(a, strlen(a), b);
}

static void edits_are_counted(void **state)
{
	static const struct { const char *a, *b; unsigned edits; } cases[] = {
		{ "", "", 0 }, { "", "abc", 3 }, { "abc", "", 3 }, { "format", "format", 0 }, { "formt", "format", 1 },
		{ "fromat", "format", 1 }, { "formats", "format", 1 }, { "farmat", "format", 1 }, { "ab", "ba", 1 },
		{ "kitten", "sitting", 3 }, { "json", "text", 4 }, { "abcd", "badc", 2 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(distance(cases[i].a, cases[i].b), cases[i].edits);
		assert_int_equal(distance(cases[i].b, cases[i].a), cases[i].edits);
	}
	assert_int_equal(nearest_distance("formt=json", 5, "format"), 1);
}

static void long_words_are_far_apart(void **state)
{
	char word[100] = "";
	memset(word, 'a', sizeof(word) - 1);
	assert_int_equal(distance(word, "a"), 99);
	assert_int_equal(distance("a", word), 99);
	assert_int_equal(distance(word, word), 99);
	assert_int_equal(distance(word + 35, word + 35), 0);
}

static void near_is_an_edit_in_three_characters(void **state)
{
	assert_false(nearest_is_near(6, 0)); // the word itself
	assert_true(nearest_is_near(4, 1));
	assert_true(nearest_is_near(6, 2));
	assert_false(nearest_is_near(3, 2));
	assert_false(nearest_is_near(0, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(edits_are_counted),
		cmocka_unit_test(long_words_are_far_apart),
		cmocka_unit_test(near_is_an_edit_in_three_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
