// SPDX-License-Identifier: MIT
//
// --suppress and --baseline: which findings a line takes away, which a report has had before.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <cmocka.h>

#include "tables.h"

static const struct pass lost = { .rule = "CTP001" }, busy = { .rule = "CTP022" };
static struct report r;
static struct report_settings settings;
static char path[64];
static const char *at;

// Two findings of one rule and one of another; none has a stack.
static int setup(void **state)
{
	(void)state;
	r = (struct report){ .findings = calloc(3, sizeof(*r.findings)), .nfindings = 3 };
	r.findings[0] = (struct finding){ .pass = &lost, .fingerprint = 0xa };
	r.findings[1] = (struct finding){ .pass = &lost, .fingerprint = 0xb };
	r.findings[2] = (struct finding){ .pass = &busy, .fingerprint = 0xa };
	settings = (struct report_settings){ 0 };
	snprintf(path, sizeof(path), "/tmp/ctp-filter-XXXXXX");
	int fd = mkstemp(path);
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < r.nunused; i++)
		free(r.unused[i]);
	free(r.unused);
	free(r.findings);
	unlink(path);
	return 0;
}

static void write_file(const char *text)
{
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void suppress(const char *text)
{
	write_file(text);
	settings.suppress = path;
	assert_int_equal(report_filter(&r, &settings, &at), 0);
}

static void by_rule(void **state)
{
	(void)state;
	suppress("CTP001\n");
	assert_int_equal(r.nfindings, 1);
	assert_ptr_equal(r.findings[0].pass, &busy);
	assert_int_equal(r.suppressed, 2);
	assert_int_equal(r.nunused, 0);
}

static void by_fingerprint(void **state)
{
	(void)state;
	suppress("000000000000000b\n");
	assert_int_equal(r.nfindings, 2);
	assert_int_equal(r.findings[0].fingerprint, 0xa);
	assert_int_equal(r.findings[1].fingerprint, 0xa);
}

static void by_rule_and_fingerprint(void **state)
{
	(void)state;
	suppress("Ctp001 000000000000000A # since the rewrite\n"); // in any case
	assert_int_equal(r.nfindings, 2);
	assert_int_equal(r.findings[0].fingerprint, 0xb);
	assert_ptr_equal(r.findings[1].pass, &busy);
}

static void a_star_is_every_rule(void **state)
{
	(void)state;
	suppress("* 000000000000000a\n");
	assert_int_equal(r.nfindings, 1);
	assert_int_equal(r.findings[0].fingerprint, 0xb);
}

static void comments_and_lines_that_match_nothing(void **state)
{
	(void)state;
	suppress("# CTP001\n\n   \nCTP009 *\nCTP001 reader # of the pool\n");
	assert_int_equal(r.nfindings, 3);
	assert_int_equal(r.suppressed, 0);
	assert_int_equal(r.nunused, 2);
	assert_string_equal(r.unused[0], "CTP009 *");
	assert_string_equal(r.unused[1], "CTP001 reader # of the pool");
}

static void a_baseline_marks_what_it_has(void **state)
{
	(void)state;
	write_file("{\"findings\": [{\"fingerprint\": \"000000000000000b\"}, {\"fingerprint\": 7}, {}]}");
	settings.baseline = path;
	assert_int_equal(report_filter(&r, &settings, &at), 0);
	assert_true(r.compared);
	assert_int_equal(r.nfindings, 3);
	assert_int_equal(r.known, 1);
	assert_false(r.findings[0].known);
	assert_true(r.findings[1].known);
}

static void a_file_that_is_no_report_is_named(void **state)
{
	(void)state;
	write_file("[]");
	settings.baseline = path;
	assert_int_equal(report_filter(&r, &settings, &at), -EPROTO);
	assert_ptr_equal(at, path);
	assert_false(r.compared);
	unlink(path);
	assert_int_equal(report_filter(&r, &settings, &at), -ENOENT);
	settings.suppress = path;
	assert_int_equal(report_filter(&r, &settings, &at), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(by_rule),
		TEST(by_fingerprint),
		TEST(by_rule_and_fingerprint),
		TEST(a_star_is_every_rule),
		TEST(comments_and_lines_that_match_nothing),
		TEST(a_baseline_marks_what_it_has),
		TEST(a_file_that_is_no_report_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
