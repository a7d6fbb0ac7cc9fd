// SPDX-License-Identifier: MIT
//
// The rules: each has one number, one id and one pass.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/case/pass.h"
#include "ctp/ctp.h"
#include "ctp/rules.h"

static void ids_have_their_numbers(void **state)
{
	char id[RULES_ID_BYTES];
	unsigned n = 0;
	(void)state;
	assert_string_equal(rules_id[RULE_NONE], "");
	for (unsigned rule = 1; rule < RULES; rule++) {
		if (!*rules_id[rule])
			continue;
		snprintf(id, sizeof(id), "CTP%03u", rule);
		assert_string_equal(rules_id[rule], id);
		assert_int_equal(rules_number(id), rule);
		n++;
	}
	assert_int_equal(n, 31);
}

// Digits that begin with 0 are no octal numbers.
static void numbers_are_decimal(void **state)
{
	(void)state;
	assert_int_equal(RULE_WRONG_WAITER, 9);
	assert_int_equal(RULE_RUNNING, 10);
	assert_int_equal(RULE_HIGHWATER, 20);
	assert_int_equal(RULE_COVERAGE, 30);
}

static void what_is_no_id_has_no_number(void **state)
{
	static const char *const others[] = { "", "CTP", "INFO", "ctp001", "001", "CTPx" };
	(void)state;
	assert_int_equal(rules_number(NULL), RULE_NONE);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_int_equal(rules_number(others[i]), RULE_NONE);
	assert_int_equal(rules_number("CTP099"), 99); // a newer engine's
}

static void each_rule_has_a_pass(void **state)
{
	size_t n = 0;
	(void)state;
	for (unsigned rule = 1; rule < RULES; rule++) {
		if (!*rules_id[rule])
			continue;
		const struct pass *pass = pass_find(rules_id[rule]);
		assert_non_null(pass);
		assert_ptr_equal(pass, passes[n]); // the table of passes is in the order of their rules
		n++;
	}
	assert_int_equal(n, npasses);
}

// ctp_ext counts incidents by rule number.
static void incidents_have_room_for_all(void **state)
{
	(void)state;
	assert_true(RULES <= sizeof(((struct ctp_ext *)0)->incidents) / sizeof(uint16_t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_have_their_numbers),
		cmocka_unit_test(numbers_are_decimal),
		cmocka_unit_test(what_is_no_id_has_no_number),
		cmocka_unit_test(each_rule_has_a_pass),
		cmocka_unit_test(incidents_have_room_for_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
