// SPDX-License-Identifier: MIT
//
// The table of options: how names and values are written, what each kind
// takes and refuses, where options end, and what help and man page say.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/options.h"

enum color { NONE, RED, GREEN };

struct settings {
	bool flag, loud, blocks;
	int action;
	enum color color;
	uint32_t count;
	uint64_t large;
	double seconds;
	const char *output, *level, *maybe;
	char words[64]; // operands, each with a blank behind it
	unsigned calls;
};
#define SETS(member) OPTION_MEMBER(struct settings, member)

static int set_maybe(void *to, const char *v)
{
	struct settings *s = to;
	s->maybe = v ? v : "none";
	s->calls++;
	return strcmp(s->maybe, "bad") ? 0 : -EINVAL;
}

static int add_word(void *to, const char *word)
{
	struct settings *s = to;
	strcat(strcat(s->words, word), " ");
	return strcmp(word, "bad") ? 0 : -EINVAL;
}

static const struct option_row rows[] = {
	{ "flag", 'f', NULL, "a flag", OPTION_FLAG, SETS(flag) },
	{ "loud", 'l', NULL, "say more", OPTION_FLAG, SETS(loud) },
	{ "quiet", 0, NULL, "say less", OPTION_SET, SETS(loud), .constant = false },
	{ "seven", 0, NULL, "an action", OPTION_SET, SETS(action), .constant = 7 },
	{ "color", 0, "none|red|green", "a choice", OPTION_CHOICE, SETS(color) },
	{ "overflow", 0, "drop|block", "a choice of two (default {})", OPTION_CHOICE, SETS(blocks), .initial = "block" },
	{ "count", 'n', "N", "how many (default {}, at most 300)", OPTION_NUMBER, SETS(count), .least = 1, .most = 300,
	  .initial = "12" },
	{ "large", 0, "N", "how much", OPTION_NUMBER, SETS(large), .most = 1e12 },
	{ "delay", 'd', "SEC", "how long", OPTION_SECONDS, SETS(seconds), .least = 0.5, .most = 10 },
	{ NULL, 'o', "FILE", "where to", OPTION_TEXT, SETS(output) },
	{ "level", 0, "low|high", "one of two words", OPTION_TEXT, SETS(level) },
	{ "maybe", 'm', "SIZE", "with a value, or without", OPTION_CALL, .set = set_maybe, .may_lack_value = true },
	{ "hidden", 0, "X", NULL, OPTION_TEXT, SETS(output) },
};
#define TABLE rows, sizeof(rows) / sizeof(*rows)
static const struct options_table mixed = { TABLE, .operand = add_word };
static const struct options_table ends = { TABLE, .bundles = true, .flush = true };
static struct settings s;

#define READ(table, ...)                                                                  \
	({                                                                                \
		static char *argv[] = { (char *)"x", __VA_ARGS__ __VA_OPT__(,) NULL };    \
		s = (struct settings){ 0 };                                               \
		options_read(&table, &s, (int)(sizeof(argv) / sizeof(*argv)) - 1, argv);  \
	})
#define FINE(table, ...) assert_int_equal(READ(table, __VA_ARGS__).error, OPTIONS_OK)
#define BAD(what, ...) assert_int_equal(READ(mixed, __VA_ARGS__).error, what)

static void names_and_values_are_writtenas_usual(void **state)
{
	FINE(mixed, "-ofile", "--flag", "word");
	assert_string_equal(s.output, "file");
	assert_string_equal(s.words, "word ");
	assert_true(s.flag);
	FINE(mixed, "--count", "5", "-o", "file");
	assert_int_equal(s.count, 5);
	assert_string_equal(s.output, "file");
	FINE(mixed, "-o", "--flag"); // the next word is the value, whatever it looks like
	assert_string_equal(s.output, "--flag");
	assert_false(s.flag);
	FINE(mixed, "-o=x", "--hidden=a=b");
	assert_string_equal(s.output, "a=b");
	BAD(OPTIONS_UNKNOWN, "--fla");
	BAD(OPTIONS_UNKNOWN, "--flagg");
	BAD(OPTIONS_UNKNOWN, "--=1");
	BAD(OPTIONS_UNKNOWN, "-z");
	BAD(OPTIONS_NO_VALUE, "--count");
	BAD(OPTIONS_NO_VALUE, "-n");
	BAD(OPTIONS_VALUE_NOT_TAKEN, "--flag=1");
	BAD(OPTIONS_VALUE_NOT_TAKEN, "--flag=");
}

static void the_last_of_several_counts(void **state)
{
	FINE(mixed, "-n1", "--count=2", "--loud", "--quiet", "--seven");
	assert_int_equal(s.count, 2);
	assert_false(s.loud);
	assert_int_equal(s.action, 7);
	assert_int_equal(READ(mixed, "-n2", "-n0").error, OPTIONS_BAD_VALUE);
}

static void initial_values_are_those_of_the_rows(void **state)
{
	assert_int_equal(READ(mixed).error, OPTIONS_OK);
	assert_int_equal(s.count, 12);
	assert_true(s.blocks);
	assert_null(s.output);
	FINE(mixed, "--overflow=drop");
	assert_false(s.blocks);
}

static void a_value_may_be_left_out(void **state)
{
	FINE(mixed, "--maybe", "5");
	assert_string_equal(s.maybe, "none");
	assert_string_equal(s.words, "5 ");
	FINE(mixed, "--maybe=5");
	assert_string_equal(s.maybe, "5");
	FINE(mixed, "--maybe=");
	assert_string_equal(s.maybe, "");
	struct options_result r = READ(mixed, "--maybe=bad");
	assert_int_equal(r.error, OPTIONS_BAD_VALUE);
	assert_string_equal(r.at, "bad");
	assert_string_equal(r.row->name, "maybe");
}

static void kinds_refuse_what_they_are_not(void **state)
{
	FINE(mixed, "--color=green");
	assert_int_equal(s.color, GREEN);
	BAD(OPTIONS_BAD_VALUE, "--color=gre");
	BAD(OPTIONS_BAD_VALUE, "--color=red|green");
	BAD(OPTIONS_BAD_VALUE, "--color=");
	FINE(mixed, "--level", "high");
	assert_string_equal(s.level, "high");
	BAD(OPTIONS_BAD_VALUE, "--level=middle");
	BAD(OPTIONS_BAD_VALUE, "-o", "");
	FINE(mixed, "-n300");
	BAD(OPTIONS_BAD_VALUE, "-n301");
	BAD(OPTIONS_BAD_VALUE, "-n0");
	BAD(OPTIONS_BAD_VALUE, "-n5x");
	BAD(OPTIONS_BAD_VALUE, "-n", "");
	BAD(OPTIONS_BAD_VALUE, "-n", " 5");
	BAD(OPTIONS_BAD_VALUE, "-n", "+5");
	BAD(OPTIONS_BAD_VALUE, "-n", "-5");
	BAD(OPTIONS_BAD_VALUE, "-n", "99999999999999999999");
	FINE(mixed, "--large=1000000000000");
	assert_true(s.large == 1000000000000);
	FINE(mixed, "-d0.5");
	assert_true(s.seconds == 0.5);
	static char *const wrong[] = { "-d0.4", "-d10.1", "-d", "-dnan", "-dinf", "-d-1", "-d1s", "-d1,5" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_true(options_read(&mixed, &s, 3, (char *[]){ "x", wrong[i], (char *)"" }).error == OPTIONS_BAD_VALUE);
}

static void operands_stand_anywhere_or_end_the_options(void **state)
{
	FINE(mixed, "a", "-f", "-", "--", "--loud");
	assert_string_equal(s.words, "a - --loud ");
	assert_false(s.loud);
	struct options_result r = READ(mixed, "a", "bad", "b");
	assert_int_equal(r.error, OPTIONS_UNKNOWN);
	assert_string_equal(r.at, "bad");
	r = READ(ends, "-f", "a", "-l");
	assert_int_equal(r.error, OPTIONS_OK);
	assert_int_equal(r.next, 2);
	assert_false(s.loud);
	assert_int_equal(READ(ends, "-f", "--", "-l").next, 3);
	assert_false(s.loud);
	assert_int_equal(READ(ends, "-", "-l").next, 1);
	assert_int_equal(READ(ends, "-f", "--").next, 3);
}

static void letters_may_stand_in_one_word(void **state)
{
	FINE(ends, "-flmn5");
	assert_true(s.flag && s.loud);
	assert_int_equal(s.calls, 1);
	assert_int_equal(s.count, 5);
	FINE(ends, "-fo", "-l");
	assert_string_equal(s.output, "-l");
	struct options_result r = READ(ends, "-flz");
	assert_int_equal(r.error, OPTIONS_UNKNOWN);
	assert_int_equal(r.letter, 'z');
	r = READ(ends, "-fn0");
	assert_int_equal(r.error, OPTIONS_BAD_VALUE);
	assert_string_equal(r.at, "0");
	assert_int_equal(READ(ends, "-fn").error, OPTIONS_NO_VALUE);
	assert_int_equal(READ(mixed, "-fl").error, OPTIONS_VALUE_NOT_TAKEN);
}

// What `call` writes to `to`.
#define WRITTEN(call)                                              \
	({                                                         \
		char *written;                                    \
		size_t n;                                          \
		FILE *to = open_memstream(&written, &n);          \
		assert_non_null(to);                               \
		call;                                              \
		fclose(to);                                        \
		written;                                          \
	})

static void says(struct options_result r, const char *what)
{
	char *text = WRITTEN(options_say(&r, to));
	assert_string_equal(text, what);
	free(text);
}

static void says_what_is_wrong(void **state)
{
	says(READ(mixed, "-f"), "");
	says(READ(mixed, "--nothing=1"), "unknown option '--nothing'");
	says(READ(mixed, "--flga"), "unknown option '--flga' (did you mean --flag?)");
	says(READ(mixed, "--colour=red"), "unknown option '--colour' (did you mean --color?)");
	says(READ(mixed, "--over"), "unknown option '--over' (did you mean --overflow?)"); // begins so, and only that one
	says(READ(mixed, "--hiden"), "unknown option '--hiden'"); // what the help does not show is not suggested
	says(READ(mixed, "-x"), "unknown option '-x'");
	says(READ(mixed, "bad"), "unexpected argument 'bad'");
	says(READ(mixed, "--count"), "--count needs a value: N");
	says(READ(mixed, "--flag=1"), "--flag takes no value");
	says(READ(mixed, "--count=x"), "--count: 'x' is not valid; it takes N");
	says(READ(mixed, "--color=x"), "--color: 'x' is none of none|red|green");
}

static void has(const char *text, const char *what, bool wanted)
{
	if (!strstr(text, what) == wanted)
		fail_msg("%s: %s", what, text);
}

static void help_and_man_page_come_from_the_rows(void **state)
{
	char *text = WRITTEN(options_help(&mixed, to));
	has(text, "\n  -l, --loud ", true);
	has(text, "\n      --quiet ", true);
	has(text, "(default 12, at most 300)", true);
	has(text, "--maybe[=SIZE]", true);
	has(text, "hidden", false);
	free(text);
	text = WRITTEN(options_help(&ends, to));
	has(text, "\n  --quiet ", true);
	has(text, "\n  -o FILE ", true);
	free(text);
	text = WRITTEN(options_man(&ends, to));
	has(text, ".TP\n\\fB\\-n\\fR, \\fB\\-\\-count\\fR=\\fIN\\fR\nhow many (default 12, at most 300)\n", true);
	has(text, ".TP\n\\fB\\-o\\fR \\fIFILE\\fR\nwhere to\n", true);
	has(text, "\\fB\\-\\-maybe\\fR[=\\fISIZE\\fR]\n", true);
	has(text, "hidden", false);
	free(text);
}

static void examples_are_as_typed(void **state)
{
	static const struct options_example two[] = { { "Do it:", "x -a 'b'" }, { "Twice:", "x\nx | y" } };
	char *text = WRITTEN(options_man_examples(two, 2, to));
	assert_string_equal(text, ".SH EXAMPLES\n.TP\nDo it:\n.EX\nx \\-a \\(aqb\\(aq\n.EE\n"
				  ".TP\nTwice:\n.EX\nx\nx |\\: y\n.EE\n");
	free(text);
}

static void sizes_have_suffixes(void **state)
{
	static const struct { const char *text; uint64_t bytes; const char *rest; } cases[] = {
		{ "0", 0, "" }, { "7", 7, "" }, { "7k", 7 << 10, "" }, { "7M,10s", 7 << 20, ",10s" }, { "2G", 2ULL << 30, "" },
		{ "9223372036854775807", INT64_MAX, "" }, { "9223372036854775808" }, { "8589934592G" }, { "" }, { "K" },
		{ "-1" }, { " 1" }, { "1 " }, { "1 ,2" }, { "1X" }, { "1KB" }, { "0x10" }, { "99999999999999999999" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t bytes = 99;
		const char *end = options_size(cases[i].text, &bytes);
		if (!cases[i].rest && (end || bytes != 99))
			fail_msg("'%s' is taken for a size", cases[i].text);
		if (cases[i].rest && (!end || strcmp(end, cases[i].rest) || bytes != cases[i].bytes))
			fail_msg("'%s' is not taken for a size", cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_values_are_writtenas_usual),
		cmocka_unit_test(the_last_of_several_counts),
		cmocka_unit_test(initial_values_are_those_of_the_rows),
		cmocka_unit_test(a_value_may_be_left_out),
		cmocka_unit_test(kinds_refuse_what_they_are_not),
		cmocka_unit_test(operands_stand_anywhere_or_end_the_options),
		cmocka_unit_test(letters_may_stand_in_one_word),
		cmocka_unit_test(says_what_is_wrong),
		cmocka_unit_test(help_and_man_page_come_from_the_rows),
		cmocka_unit_test(examples_are_as_typed),
		cmocka_unit_test(sizes_have_suffixes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
