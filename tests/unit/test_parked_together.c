// SPDX-License-Identifier: MIT
//
// CTP003 of those who resume each other, and all wait now. The history is made here: there is one lock, which
// each takes in turn and gives to the next; the last one ends with it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/parked/parked_history.c"
#include "../../src/analyze/parked/parked_holders.c"
#include "../../src/analyze/parked/parked_together.c"
#undef transitions_walk
#include "parked_slices.h"

enum { USERS = 4, STACKS = 12 };
enum { MADE = 3, READ, TAKE, QUERY };

static struct tables t;
static struct results out;
static unsigned char told[TABLES_ROWS];
static uint32_t stacks[STACKS];

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(told, 0, sizeof(told));
	slices_begin(USERS, MADE);
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = 10 * S;
	t.image.has_tables = true;
	t.image.stack_index = (struct table){.rows = (const void *)stacks, .n = STACKS, .row_bytes = 4};
	for (unsigned i = 0; i < USERS; i++)
		runs(2 + i, i, READ);
	runs(10, 0, QUERY);
	runs(11, 1, TAKE);
	runs(12, 2, TAKE);
	runs(13, 3, TAKE);
	runs(20, 0, READ); // gives it to the next, less than a millisecond after
	runs(21, 1, QUERY);
	runs(30, 1, READ);
	runs(31, 2, QUERY);
	over(40, 2);
	runs(41, 0, TAKE);
	runs(42, 1, TAKE);
	struct ctp_thread *loop = tables_thread(&t, 0, LOOP);
	loop->switches = 1;
	loop->wait_since = 43 * MS;
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

// Who is suspended is where its last slice has left it.
static void read_all(struct parked_history v[PARKED_PLACINGS])
{
	t.image.stations.n = 0;
	for (uint64_t id = FIRST; id < FIRST + USERS; id++) {
		const struct slice *last = slices_last(id);
		if (last)
			tables_suspended(&t, id, last->stack, last->at_ms * MS + MS / 10);
	}
	tables_index(&t);
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_history_read(&t.world, &t.image, told, v), 0);
}

static size_t found(void)
{
	struct parked_history v[PARKED_PLACINGS];
	results_deinit(&out);
	out = (struct results){0};
	read_all(v);
	assert_int_equal(parked_together(pass_find("CTP003"), &t.world, v, told, &out), 0);
	parked_history_deinit(v);
	return out.ncases;
}

static void all_wait_and_the_loop_sleeps(void **state)
{
	(void)state;
	assert_int_equal(found(), 3);
	assert_int_equal(out.cases[0].id, FIRST);
	assert_int_equal(out.cases[0].proof.verdict, VERDICT_SUSPECT);
	assert_string_equal(out.cases[0].proof.items[PROOF_P5].text,
			    "had its chance: all loops have gone to sleep since the last of them came");
}

static void the_loop_goes_on(void **state)
{
	(void)state;
	t.threads[0].t.wait_since = 9 * S;
	assert_int_equal(found(), 3);
	assert_non_null(strstr(out.cases[0].proof.items[PROOF_P5].text, "all of them wait"));
}

// It has not come back from what it does, whatever that is.
static void the_loop_runs(void **state)
{
	(void)state;
	t.threads[0].t.wait_since = 0;
	assert_int_equal(found(), 0);
}

// Workers that something else gives work to rest when there is no more.
static void something_else_resumed_one(void **state)
{
	(void)state;
	for (struct slice *s = slices; s < slices + nslices; s++)
		s->at_ms += s->at_ms == 31 ? 2 : 0;
	assert_int_equal(found(), 0);
}

static void it_is_early(void **state)
{
	(void)state;
	t.world.snapshot_ns = 900 * MS;
	assert_int_equal(found(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_wait_and_the_loop_sleeps, begin, end),
		cmocka_unit_test_setup_teardown(the_loop_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(the_loop_runs, begin, end),
		cmocka_unit_test_setup_teardown(something_else_resumed_one, begin, end),
		cmocka_unit_test_setup_teardown(it_is_early, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
