// SPDX-License-Identifier: MIT
//
// ctp-run's command line: where options end, bounds, and what is refused.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/start/options.h"

#define PARSE(...)                                                                        \
	({                                                                                \
		options_deinit(&o);                                                       \
		static char *argv[] = { (char *)"ctp-run", __VA_ARGS__, NULL };           \
		options_parse(&o, (int)(sizeof(argv) / sizeof(*argv)) - 1, argv);         \
	})
static struct options o;

static void options_end_at_the_program(void **state)
{
	assert_int_equal(PARSE("-q", "-o", "x", "prog", "-v", "--help"), 0);
	assert_true(o.quiet);
	assert_false(o.verbose);
	assert_string_equal(o.output, "x");
	assert_string_equal(o.program[0], "prog");
	assert_string_equal(o.program[1], "-v");
	assert_int_equal(PARSE("-qv", "--", "-prog"), 0);
	assert_true(o.verbose);
	assert_string_equal(o.program[0], "-prog");
}

static void values_come_either_way(void **state)
{
	assert_int_equal(PARSE("--max-size", "2G", "-n5", "--timeout=0.5", "--overflow", "block", "p"), 0);
	assert_int_equal(o.max_bytes, 2ULL << 30);
	assert_int_equal(o.stations, 5);
	assert_true(o.timeout_s == 0.5);
	assert_true(o.block);
	assert_int_equal(PARSE("-E", "A=1", "-EB=", "p"), 0);
	assert_int_equal(o.n_env, 2);
	assert_string_equal(o.env[1], "B=");
}

static void wrong_ones_are_refused(void **state)
{
	assert_true(PARSE("-n", "0", "p") < 0);
	assert_true(PARSE("-n", "2097151", "p") < 0);
	assert_int_equal(PARSE("-n", "2097150", "p"), 0);
	assert_true(PARSE("--max-size=1X", "p") < 0);
	assert_true(PARSE("--max-size=-1", "p") < 0);
	assert_true(PARSE("--overflow=maybe", "p") < 0);
	assert_true(PARSE("-E", "novalue", "p") < 0);
	assert_true(PARSE("--quiet=1", "p") < 0);
	assert_true(PARSE("-o") < 0);
	assert_true(PARSE("-o", "t-%q", "p") < 0);
	assert_non_null(strstr(o.error, "%q is none of %p (pid), %e (program) and %%"));
	assert_true(PARSE("-o", "t-%%%", "p") < 0);
	assert_int_equal(PARSE("-o", "%p%%%e", "p"), 0);
	assert_true(PARSE("-q") < 0);
	assert_int_equal(PARSE("-f", "p"), 0);
	assert_true(o.follow);
	assert_int_equal(PARSE("--flight", "p"), 0);
	assert_int_equal(o.flight_bytes, 64 << 20);
	assert_int_equal(options_chunks(&o), 4096);
	assert_int_equal(PARSE("--flight=1m", "p"), 0);
	assert_int_equal(o.flight_bytes, 1 << 20);
	assert_true(o.flight_s == 0);
	assert_int_equal(PARSE("--flight=0.5s", "p"), 0);
	assert_int_equal(o.flight_bytes, 64 << 20);
	assert_true(o.flight_s == 0.5);
	assert_int_equal(PARSE("--flight=1G,10s", "p"), 0);
	assert_int_equal(o.flight_bytes, 1 << 30);
	assert_true(o.flight_s == 10);
	static char *const wrong[] = { "--flight=", "--flight=,", "--flight=1M,", "--flight=s", "--flight=1x", "--flight=-1s",
				       "--flight=infs", "--flight=200K", "--flight=4G", "--flight=0" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_true(options_parse(&o, 3, (char *[]){ (char *)"ctp-run", wrong[i], (char *)"p" }) < 0);
	assert_true(PARSE("--flight", "-o", "x.jsonl", "p") < 0);
}

static void rings_are_powers_of_two(void **state)
{
	assert_int_equal(PARSE("p"), 0);
	assert_int_equal(o.ring_bytes, 0);
	assert_int_equal(PARSE("--ring-size=64k", "p"), 0);
	assert_int_equal(o.ring_bytes, 64 << 10);
	assert_int_equal(PARSE("--ring-size", "4096", "p"), 0);
	assert_int_equal(o.ring_bytes, 4096);
	assert_int_equal(PARSE("--ring-size=64M", "p"), 0);
	assert_int_equal(o.ring_bytes, 64 << 20);
	static char *const wrong[] = { "--ring-size=", "--ring-size=100K", "--ring-size=2K", "--ring-size=128M", "--ring-size=0", "--ring-size=-4K",
				       "--ring-size=64K,", "--ring-size=4G" };
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		assert_true(options_parse(&o, 3, (char *[]){ (char *)"ctp-run", wrong[i], (char *)"p" }) < 0);
	assert_true(PARSE("--ring-size=1M", "--flight", "p") < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_end_at_the_program),
		cmocka_unit_test(values_come_either_way),
		cmocka_unit_test(wrong_ones_are_refused),
		cmocka_unit_test(rings_are_powers_of_two),
	};
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	options_deinit(&o);
	return r;
}
