// SPDX-License-Identifier: MIT
//
// When a loop has slept ten times as long as ever before.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/witness/long_sleep.h"

#define S 1000000000ULL
static struct ctp_ext ext;
static struct ctp_thread threads[2];
static struct ctp_region region;
static struct long_sleep sleeps;

static int begin(void **state)
{
	(void)state;
	ext = (struct ctp_ext){.thread_high = 2};
	for (int i = 0; i < 2; i++)
		threads[i] = (struct ctp_thread){.life = CTP_THREAD_LIVE, .wait_seq = 1, .wait_call = CTP_IN_EPOLL,
						 .wait_timeout_ns = -1};
	threads[0].polls = 1;
	region = (struct ctp_region){.ext = &ext, .threads = threads, .threads_max = 2};
	return 0;
}

static int end(void **state)
{
	(void)state;
	long_sleep_deinit(&sleeps);
	return 0;
}

static bool at(uint64_t ns)
{
	long_sleep_note(&sleeps, &region, ns);
	return long_sleep_now(&sleeps, &region, ns);
}

static void ten_seconds_at_least(void **state)
{
	(void)state;
	assert_false(at(1 * S));
	assert_false(at(11 * S - 1));
	assert_true(at(11 * S));
}

static void ten_times_the_longest(void **state)
{
	(void)state;
	at(1 * S);
	at(4 * S);
	threads[0].wait_seq = 3; // three seconds, to the next look
	assert_false(at(5 * S));
	assert_false(at(44 * S));
	assert_true(at(45 * S));
}

static void awake(void **state)
{
	(void)state;
	at(1 * S);
	threads[0].wait_seq = 2;
	assert_false(at(20 * S));
	threads[0].wait_seq = 3;
	assert_false(at(21 * S));
}

static void one_that_looks_only(void **state)
{
	(void)state;
	threads[0].wait_timeout_ns = 0;
	at(1 * S);
	assert_false(at(20 * S));
}

static void each_that_polls_or_switches(void **state)
{
	(void)state;
	threads[1].wait_seq = 2;
	at(1 * S);
	assert_true(at(20 * S)); // the other one is busy with something else
	threads[1].switches = 1;
	assert_false(at(20 * S));
	threads[1] = (struct ctp_thread){.life = CTP_THREAD_DEAD, .polls = 1};
	assert_true(at(20 * S));
}

static void another_thread_in_the_slot(void **state)
{
	(void)state;
	at(1 * S);
	threads[0].uses = 1;
	assert_false(at(20 * S));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(ten_seconds_at_least), TEST(ten_times_the_longest), TEST(awake), TEST(one_that_looks_only),
		TEST(each_that_polls_or_switches), TEST(another_thread_in_the_slot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
