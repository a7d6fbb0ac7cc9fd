// SPDX-License-Identifier: MIT
//
// base/json: a line, and texts that are no UTF-8.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"

static void a_line(void **state)
{
	(void)state;
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	assert_non_null(out);
	assert_true(json_line(out, json_pack("{s:o, s:i}", "at", json_hex(0x7f00), "n", 2)));
	assert_false(json_line(out, NULL));
	assert_true(json_line(out, json_pack("[]")));
	fclose(out);
	assert_string_equal(text, "{\"at\":\"0x7f00\",\"n\":2}\n[]\n");
	free(text);
}

static void a_line_that_cannot_be_written(void **state)
{
	(void)state;
	FILE *out = fopen("/dev/full", "w");
	assert_non_null(out);
	setbuf(out, NULL);
	assert_false(json_line(out, json_pack("[]")));
	fclose(out);
}

static void no_utf8(void **state)
{
	(void)state;
	json_t *bad = json_text("a\xe4z"), *none = json_text(NULL), *most = json_count(UINT64_MAX);
	assert_string_equal(json_string_value(bad), "a?z");
	assert_true(json_is_null(none));
	assert_int_equal(json_integer_value(most), INT64_MAX);
	json_decref(bad);
	json_decref(none);
	json_decref(most);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line),
		cmocka_unit_test(a_line_that_cannot_be_written),
		cmocka_unit_test(no_utf8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
