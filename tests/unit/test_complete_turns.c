// SPDX-License-Identifier: MIT
//
// When a thread that never sleeps has made three complete turns since an epoch.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "engine/suspects/complete_turns.h"

#define MS 1000000ULL
static struct ctp_ext ext;
static struct ctp_thread threads[2];
static struct ctp_region region;
static struct complete_turns turns;

static int begin(void **state)
{
	(void)state;
	ext = (struct ctp_ext){.thread_high = 2, .epoch = 5};
	for (int i = 0; i < 2; i++)
		threads[i] = (struct ctp_thread){.life = CTP_THREAD_LIVE, .polls = 10};
	region = (struct ctp_region){.ext = &ext, .threads = threads, .threads_max = 2};
	complete_turns_note(&turns, &region, 0);
	return 0;
}

static int end(void **state)
{
	(void)state;
	complete_turns_deinit(&turns);
	return 0;
}

static bool after(uint64_t entered, uint64_t ns, uint64_t epoch)
{
	threads[0].polls = entered;
	complete_turns_note(&turns, &region, ns);
	return complete_turns_made(&turns, 0, 0, epoch);
}

static void the_turn_under_way_does_not_count(void **state)
{
	(void)state;
	assert_false(after(13, 200 * MS, 5));
	assert_true(after(14, 200 * MS, 5));
	assert_false(complete_turns_made(&turns, 0, 0, 6));
	assert_false(complete_turns_made(&turns, 1, 0, 5)); // the other one is busy with something else
}

static void waits_in_quick_succession_are_one_turn(void **state)
{
	(void)state;
	assert_false(after(1000, 99 * MS, 5));
	assert_true(after(1000, 100 * MS, 5));
}

static void a_later_epoch_takes_turns_of_its_own(void **state)
{
	(void)state;
	ext.epoch = 6;
	assert_true(after(14, 200 * MS, 5));
	assert_false(complete_turns_made(&turns, 0, 0, 6));
	assert_false(after(17, 400 * MS, 6));
	assert_true(after(18, 400 * MS, 6));
}

static void polls_and_selects_are_turns(void **state)
{
	(void)state;
	threads[0].sets = 4;
	assert_true(after(10, 200 * MS, 5));
}

static void another_thread_has_the_slot(void **state)
{
	(void)state;
	assert_true(after(14, 200 * MS, 5));
	assert_false(complete_turns_made(&turns, 0, 1, 5));
	threads[0].uses = 1;
	complete_turns_note(&turns, &region, 400 * MS);
	assert_false(complete_turns_made(&turns, 0, 1, 5));
	assert_false(complete_turns_made(&turns, 7, 0, 5)); // no such slot
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_turn_under_way_does_not_count), TEST(waits_in_quick_succession_are_one_turn),
		TEST(a_later_epoch_takes_turns_of_its_own), TEST(polls_and_selects_are_turns), TEST(another_thread_has_the_slot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
