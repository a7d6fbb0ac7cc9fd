// SPDX-License-Identifier: MIT
//
// Tests of src/base: the map of ids, paths, durations, options.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/idmap.h"
#include "base/options.h"
#include "base/text.h"

static void test_idmap(void **state)
{
	struct idmap m = { 0 };
	assert_int_equal(idmap_get(&m, 0), IDMAP_NONE);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_set(&m, i << 32, (uint32_t)i), 0);
	assert_int_equal(idmap_set(&m, 5ULL << 32, 77), 0);
	assert_int_equal(m.n, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_get(&m, i << 32), i == 5 ? 77 : i);
	assert_int_equal(idmap_get(&m, 1), IDMAP_NONE);
	assert_int_equal(idmap_set(&m, 1, IDMAP_NONE), -EINVAL);
	idmap_deinit(&m);
}

static void joins(const char *dir, const char *name, const char *want)
{
	char *got = file_join(dir, name);
	assert_string_equal(got, want);
	free(got);
}

static void test_paths(void **state)
{
	joins("/build", "../src/x.c", "/src/x.c");
	joins("/build/a", "./b//c", "/build/a/b/c");
	joins("/", "../../x", "/x");
	joins("dir", "../x", "x");
	joins("dir", "../../x", "../x");
	joins("..", "../x", "../../x");
	joins("a", "/abs/./x", "/abs/x");
	joins(NULL, "x", "x");
	assert_string_equal(file_base("/a/b"), "b");
	assert_string_equal(file_base("b"), "b");
}

static void lasts(uint64_t ns, const char *want)
{
	char buf[32];
	text_duration(buf, sizeof(buf), ns);
	assert_string_equal(buf, want);
}

static void test_durations(void **state)
{
	lasts(412, "412 ns");
	lasts(1600000, "1.6 ms");
	lasts(3200000000, "3.2 s");
	lasts(252000000000, "4m12s");
	lasts(7620000000000, "2h07m");
}

struct got {
	const char *out, *word;
	int flag;
};

static int set_out(void *to, const char *v)
{
	((struct got *)to)->out = v;
	return strcmp(v, "bad") ? 0 : -EINVAL;
}

static int set_flag(void *to, const char *v)
{
	((struct got *)to)->flag++;
	return 0;
}

static int set_word(void *to, const char *v)
{
	((struct got *)to)->word = v;
	return 0;
}

static const struct option_row rows[] = {
	{ "output", 'o', "FILE", "where to", set_out },
	{ "flag", 'f', NULL, "yes", set_flag },
	{ NULL, 0, NULL, NULL, NULL },
};

static enum options_error reads(struct got *g, int argc, char **argv)
{
	*g = (struct got){ 0 };
	return options_read(rows, g, argc, argv, set_word).error;
}

static void test_options(void **state)
{
	struct got g;
	assert_int_equal(reads(&g, 4, (char *[]){ "x", "-ofile", "--flag", "word" }), OPTIONS_OK);
	assert_string_equal(g.out, "file");
	assert_string_equal(g.word, "word");
	assert_int_equal(g.flag, 1);
	assert_int_equal(reads(&g, 3, (char *[]){ "x", "--output", "file" }), OPTIONS_OK);
	assert_string_equal(g.out, "file");
	assert_int_equal(reads(&g, 3, (char *[]){ "x", "--", "--flag" }), OPTIONS_OK);
	assert_string_equal(g.word, "--flag");
	assert_int_equal(reads(&g, 2, (char *[]){ "x", "-" }), OPTIONS_OK);
	assert_string_equal(g.word, "-");
	assert_int_equal(reads(&g, 2, (char *[]){ "x", "--out=file" }), OPTIONS_UNKNOWN);
	assert_int_equal(reads(&g, 2, (char *[]){ "x", "--output" }), OPTIONS_NO_VALUE);
	assert_int_equal(reads(&g, 2, (char *[]){ "x", "--flag=1" }), OPTIONS_VALUE_NOT_TAKEN);
	assert_int_equal(reads(&g, 2, (char *[]){ "x", "--output=bad" }), OPTIONS_BAD_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_durations), cmocka_unit_test(test_options),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
