// SPDX-License-Identifier: MIT
//
// Rows on their way to a target: only what the schema says, and only UTF-8.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "analyze/export/row.h"

static struct row row;

static const struct schema_table *facts(void)
{
	return &schema_tables[SCHEMA_FACTS];
}

static const struct row_value *text_of(const char *s)
{
	row_begin(&row, facts());
	row_int(&row, 1);
	row_int(&row, 2);
	row_text(&row, s);
	return &row.values[2];
}

static void begins(void **state)
{
	(void)state;
	text_of("CTP003");
	row_count(&row, UINT64_MAX);
	row_text(&row, "a message");
	assert_int_equal(row_done(&row), 0);
	assert_int_equal(row.values[3].number, INT64_MAX);
	row_deinit(&row);
}

static void only_what_the_schema_says(void **state)
{
	(void)state;
	row_begin(&row, facts());
	row_int(&row, 1);
	assert_int_equal(row_done(&row), -EINVAL); // too few
	row_text(&row, "no number");
	assert_int_equal(row_done(&row), -EINVAL);
	text_of("CTP003");
	row_null(&row); // n may not be null
	row_text(&row, "");
	assert_int_equal(row_done(&row), -EINVAL);
	text_of("CTP003");
	row_int(&row, 1);
	row_text(&row, "");
	row_int(&row, 1); // one too many
	assert_int_equal(row_done(&row), -EINVAL);
	row_deinit(&row);
}

static void assert_mended(const char *s, const char *want)
{
	const struct row_value *v = text_of(s);
	assert_int_equal(v->bytes, strlen(want));
	assert_memory_equal(v->text, want, v->bytes);
	row_deinit(&row);
}

static void texts_are_utf8(void **state)
{
	(void)state;
	assert_mended("", "");
	assert_mended("plain '\"\n\t\\", "plain '\"\n\t\\");
	assert_mended("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
	assert_mended("a\xff" "b", "a\xef\xbf\xbd" "b");
	assert_mended("\xc3", "\xef\xbf\xbd");                                     // cut off
	assert_mended("\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd");                     // overlong
	assert_mended("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");     // a surrogate
	assert_mended("\xf4\x90\x80\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"); // above U+10FFFF
}

static void copies_outlive_their_text(void **state)
{
	char text[8] = "CTP003";
	(void)state;
	row_begin(&row, facts());
	row_int(&row, 1);
	row_int(&row, 2);
	row_copy(&row, text);
	memset(text, 'x', sizeof(text));
	assert_int_equal(row.values[2].bytes, 6);
	assert_memory_equal(row.values[2].text, "CTP003", 6);
	row_deinit(&row);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(begins),
		cmocka_unit_test(only_what_the_schema_says),
		cmocka_unit_test(texts_are_utf8),
		cmocka_unit_test(copies_outlive_their_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
