// SPDX-License-Identifier: MIT
//
// CTP003 of one that was resumed in a rhythm, and is not any more. The history is made here: four coroutines that
// one place has made are resumed once a second; the first one's last time is its fifth.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/parked/parked_rhythm.c"
#undef transitions_walk
#include "tables.h"

enum { FAMILY = 4, SECONDS = 20, FIRST = 4 };
#define S (1000 * MS)

static struct tables t;
static struct results out;
static unsigned char told[TABLES_ROWS];
static uint64_t turns[FAMILY]; // how often each is resumed
static uint64_t longer[FAMILY]; // of its third turn: by so much
static uint64_t lost;          // whose third record is; 0
static unsigned walks;

int history(const struct world *w, transitions_sink *each, void *arg)
{
	struct ctp_merge_entity loop = {.id = 1}, of[FAMILY];
	(void)w;
	walks++;
	for (unsigned i = 0; i < FAMILY; i++)
		of[i] = (struct ctp_merge_entity){.id = FIRST + i, .suspended = true, .since_ns = S};
	for (uint64_t k = 1; k <= SECONDS; k++)
		for (unsigned i = 0; i < FAMILY; i++) {
			struct transition to = {.kind = CTP_EV_SWITCH, .from = &loop, .to = &of[i]};
			if (k > turns[i])
				continue;
			to.ns = of[i].since_ns + S + (k == 3 ? longer[i] : 0);
			to.to_gap = k == 3 && of[i].id == lost;
			each(arg, &to);
			of[i].since_ns = to.ns;
		}
	return 0;
}

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(told, 0, sizeof(told));
	memset(longer, 0, sizeof(longer));
	lost = walks = 0;
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = (1 + SECONDS) * S;
	t.image.has_tables = true;
	for (unsigned i = 0; i < FAMILY; i++) {
		turns[i] = i ? SECONDS : 5;
		tables_suspended(&t, FIRST + i, 5, (1 + turns[i]) * S)->creator_stack = 3;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static size_t found(void)
{
	results_deinit(&out);
	out = (struct results){0};
	tables_index(&t);
	assert_int_equal(parked_rhythm(pass_find("CTP003"), &t.world, &t.image, told, &out), 0);
	return out.ncases;
}

// It is suspended since its last turn.
static void stop(unsigned i, uint64_t after)
{
	turns[i] = after;
	t.states[i].s.since = (1 + after) * S;
}

static void one_that_lost_its_rhythm(void **state)
{
	(void)state;
	assert_int_equal(found(), 1);
	assert_int_equal(out.cases[0].id, FIRST);
	assert_int_equal(out.cases[0].proof.verdict, VERDICT_SUSPECT);
	assert_string_equal(out.cases[0].message, "it was resumed 5 times, after 1.0 s at most; 3 others made at this place go on");
	assert_int_equal(told[0], 1);
	assert_int_equal(found(), 0); // it is told once
}

// Ten times its longest wait is needed.
static void one_that_may_come_yet(void **state)
{
	(void)state;
	stop(0, 11);
	assert_int_equal(found(), 0);
	stop(0, 9);
	assert_int_equal(found(), 1);
}

static void waits_that_are_not_alike(void **state)
{
	(void)state;
	longer[0] = 4 * S; // one of five
	assert_int_equal(found(), 0);
	longer[0] = 0;
	turns[1] = 6;
	longer[1] = 10 * S; // another's
	assert_int_equal(found(), 0);
}

static void a_history_with_a_gap(void **state)
{
	(void)state;
	lost = FIRST;
	assert_int_equal(found(), 0);
}

// Work gets less: as many have come to rest as go on, or the others are resumed less often.
static void all_come_to_rest(void **state)
{
	(void)state;
	stop(1, 6);
	assert_int_equal(found(), 0);
	assert_int_equal(walks, 0); // which the tables tell
	stop(1, SECONDS);
	for (unsigned i = 1; i < FAMILY; i++) {
		turns[i] = 9; // of the history
	}
	assert_int_equal(found(), 0);
}

static void of_one_place_alone(void **state)
{
	(void)state;
	t.states[1].s.creator_stack = t.states[2].s.creator_stack = 4;
	assert_int_equal(found(), 0);
}

// Who is told already, waits for something, or is of several processes.
static void who_is_not_asked(void **state)
{
	(void)state;
	told[0] = 1;
	assert_int_equal(found(), 0);
	told[0] = 0;
	t.world.nimages = 2;
	assert_int_equal(found(), 0);
	t.world.nimages = 1;
	tables_wait(&t.states[0].s, 7, 1, CTP_WAIT_EAGAIN);
	assert_int_equal(found(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_that_lost_its_rhythm, begin, end),
		cmocka_unit_test_setup_teardown(one_that_may_come_yet, begin, end),
		cmocka_unit_test_setup_teardown(waits_that_are_not_alike, begin, end),
		cmocka_unit_test_setup_teardown(a_history_with_a_gap, begin, end),
		cmocka_unit_test_setup_teardown(all_come_to_rest, begin, end),
		cmocka_unit_test_setup_teardown(of_one_place_alone, begin, end),
		cmocka_unit_test_setup_teardown(who_is_not_asked, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
