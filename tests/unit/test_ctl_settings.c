// SPDX-License-Identifier: MIT
//
// ctp-ctl's command line: a process, a verb, and what some verbs take.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/settings.h"

#define READ(...)                                                               \
	({                                                                      \
		static char *argv[] = { (char *)"ctp-ctl", __VA_ARGS__, NULL }; \
		settings_read(&s, (int)(sizeof(argv) / sizeof(*argv)) - 1, argv).error;          \
	})
static struct settings s;

static void a_process_and_a_verb(void **state)
{
	assert_int_equal(READ("12", "stop"), 0);
	assert_int_equal(s.pid, 12);
	assert_string_equal(s.verb->name, "stop");
	assert_null(settings_missing(&s));
	assert_int_equal(READ("--json", "12", "events", "http:*,!http:debug"), 0);
	assert_true(s.json);
	assert_string_equal(s.arg, "http:*,!http:debug");
	assert_int_equal(READ("12", "snapshot", "dir"), 0);
	assert_string_equal(s.arg, "dir");
}

static void what_is_missing_is_said(void **state)
{
	assert_int_equal(READ("--json"), 0);
	assert_non_null(strstr(settings_missing(&s), "which process?"));
	assert_int_equal(READ("12"), 0);
	assert_non_null(strstr(settings_missing(&s), "which verb?"));
	assert_int_equal(READ("12", "events"), 0);
	assert_non_null(strstr(settings_missing(&s), "needs a list"));
	assert_int_equal(READ("12", "snapshot"), 0);
	assert_null(settings_missing(&s));
}

static void wrong_words_are_refused(void **state)
{
	assert_int_not_equal(READ("-5", "stop"), 0);
	assert_int_not_equal(READ("0", "stop"), 0);
	assert_int_not_equal(READ("99999999999999999999", "stop"), 0);
	assert_int_not_equal(READ("12x", "stop"), 0);
	assert_int_not_equal(READ("12", "STOP"), 0);
	assert_int_not_equal(READ("12", "stop", "it"), 0);
	assert_int_not_equal(READ("12", "events", ""), 0);
	assert_int_not_equal(READ("12", "events", "a", "b"), 0);
	assert_non_null(s.wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_and_a_verb),
		cmocka_unit_test(what_is_missing_is_said),
		cmocka_unit_test(wrong_words_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
