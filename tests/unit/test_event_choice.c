// SPDX-License-Identifier: MIT
//
// What lists of events choose.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "ctp/event_choice.h"

static bool has(const char *list, const char *provider, const char *name)
{
	return event_choice_has(list, strlen(list), provider, name);
}

static void items_choose(void **state)
{
	(void)state;
	static const struct {
		const char *list, *provider, *name;
		bool chosen;
	} rows[] = {
		{ "", "http", "request", true },
		{ "http:request", "http", "request", true },
		{ "http:request", "http", "requests", false },
		{ "http:request", "https", "request", false },
		{ "http", "http", "request", true },
		{ "http", "https", "request", false },
		{ "http*", "https", "request", true },
		{ "*:request", "a", "request", true },
		{ "*", "a", "b", true },
		{ "a:b,c:d", "c", "d", true },
		{ "a:b, c:d\n", "c", "d", true },
		{ "a:b,c:d", "a", "d", false },
		{ "!a:b", "a", "b", false },
		{ "!a:b", "a", "c", true },
		{ "*,!a:*", "a", "c", false },
		{ "!a:*,*", "a", "c", false },
		{ "!a:*,*", "b", "c", true },
		{ "a:*b*c", "a", "xbybzc", true },
		{ "a:*b*c", "a", "xbybzcd", false },
		{ "a:?b", "a", "xb", true },
		{ "a:?b", "a", "b", false },
		{ "a:**", "a", "x", true },
		{ "a:", "a", "x", false },
		{ "!*", "a", "x", false },
		{ ",,", "a", "x", true },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (has(rows[i].list, rows[i].provider, rows[i].name) != rows[i].chosen)
			fail_msg("'%s' and %s:%s", rows[i].list, rows[i].provider, rows[i].name);
}

// A list need not end with a zero.
static void a_list_ends_where_it_ends(void **state)
{
	(void)state;
	assert_true(event_choice_has("a:bc", 3, "a", "b"));
	assert_false(event_choice_has("a:bc", 4, "a", "b"));
	assert_true(event_choice_has("!!!!", 0, "a", "b"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(items_choose), cmocka_unit_test(a_list_ends_where_it_ends) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
