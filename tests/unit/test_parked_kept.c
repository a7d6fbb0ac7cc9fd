// SPDX-License-Identifier: MIT
//
// CTP003 of permits that were kept, by one that lives. The history is made here: there is one permit. The
// first takes it, and gives it to the second, which keeps it, and reads on; two more come and wait.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/parked/parked_history.c"
#include "../../src/analyze/parked/parked_kept.c"
#undef transitions_walk
#include "parked_slices.h"

enum { USERS = 4, DOOR = FIRST + USERS, ALL = USERS + 1, STACKS = 12 };
enum { MADE = 3, MADE_ELSEWHERE, READ, TAKE, QUERY, ACCEPT, OTHER };

static struct tables t;
static struct results out;
static unsigned char told[TABLES_ROWS];
static uint32_t stacks[STACKS];
static uint64_t running; // who is at the end

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(told, 0, sizeof(told));
	slices_begin(ALL, MADE);
	made_at[USERS] = MADE_ELSEWHERE; // DOOR
	running = 0;
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = 10 * S;
	t.image.has_tables = true;
	t.image.stack_index = (struct table){.rows = (const void *)stacks, .n = STACKS, .row_bytes = 4};
	runs(1, USERS, ACCEPT);
	for (unsigned i = 0; i < USERS; i++)
		runs(2 + i, i, READ);
	runs(10, 0, QUERY);
	runs(11, 1, TAKE);
	runs(20, 0, READ);
	runs(21, 1, QUERY); // less than a millisecond after it
	runs(30, 1, READ);
	runs(40, 2, TAKE);
	runs(41, 3, TAKE);
	struct ctp_thread *loop = tables_thread(&t, 0, LOOP);
	loop->switches = 1;
	loop->wait_since = 42 * MS;
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
	for (uint64_t id = FIRST; id < FIRST + ALL; id++) {
		const struct slice *last = slices_last(id);
		if (last)
			tables_suspended(&t, id, last->stack, last->at_ms * MS + MS / 10)->life =
				id == running ? CTP_RUNNING : CTP_SUSPENDED;
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
	assert_int_equal(parked_kept(pass_find("CTP003"), &t.world, v, told, &out), 0);
	parked_history_deinit(v);
	return out.ncases;
}

static void one_that_lives_has_kept_it(void **state)
{
	(void)state;
	assert_int_equal(found(), 2);
	assert_int_equal(out.cases[0].id, FIRST + 2);
	assert_int_equal(out.cases[0].proof.verdict, VERDICT_SUSPECT);
	assert_string_equal(out.cases[0].message,
			    "1 time one was resumed from here, after 9.9 ms at most, right after another that was "
			    "past this place had run; the last was coroutine 5, 10.0 s ago; now 2 wait, and none "
			    "that lives is past it");
}

static void who_leaves_two_places_counts_at_both(void **state)
{
	(void)state;
	struct parked_history v[PARKED_PLACINGS], *l = &v[PARKED_USUAL];
	runs(45, 1, OTHER);
	runs(46, 0, OTHER);
	runs(47, 1, READ);
	read_all(v);
	assert_int_equal(l->v[l->of[TAKE] - 1].left, 1);
	assert_int_equal(l->v[l->of[TAKE] - 1].who, 1);
	assert_int_equal(l->v[l->of[OTHER] - 1].left, 1);
	assert_int_equal(l->v[l->of[OTHER] - 1].who, 1);
	parked_history_deinit(v);
}

static void it_has_ended_inside(void **state)
{
	(void)state;
	for (struct slice *s = slices; s < slices + nslices; s++)
		s->ends |= s->at_ms == 30;
	assert_int_equal(found(), 2);
}

// It is still where it was when it had it, or where nobody was who came.
static void who_has_it_is_late(void **state)
{
	(void)state;
	runs(45, 1, QUERY);
	assert_int_equal(found(), 0);
	slices[nslices - 1].stack = OTHER;
	assert_int_equal(found(), 0);
	slices[nslices - 1].stack = READ;
	assert_int_equal(found(), 2);
}

static void who_runs_may_have_it(void **state)
{
	(void)state;
	running = FIRST;
	assert_int_equal(found(), 0);
}

// One that was made elsewhere is not where it began.
static void another_may_have_it(void **state)
{
	(void)state;
	runs(45, USERS, OTHER);
	assert_int_equal(found(), 0);
}

// The one that was resumed was so by nobody that had it, or is where it was before.
static void something_else_resumes_them(void **state)
{
	(void)state;
	for (struct slice *s = slices; s < slices + nslices; s++)
		s->at_ms += s->at_ms == 21 && s->id == FIRST + 1 ? 2 : 0;
	assert_int_equal(found(), 0);
}

// As long as a loop runs, it may come to them.
static void the_loop_runs(void **state)
{
	(void)state;
	t.threads[0].t.wait_since = 0;
	assert_int_equal(found(), 0);
}

// Nobody went past before one waited: they are workers, which begin so.
static void workers_begin_idle(void **state)
{
	(void)state;
	assert_int_equal(slices[6].stack, TAKE);
	slices[6] = slices[5];
	slices[5] = (struct slice){.at_ms = 9, .id = FIRST + 1, .stack = TAKE};
	assert_int_equal(found(), 0);
}

static void it_is_early(void **state)
{
	(void)state;
	t.world.snapshot_ns = 2 * S;
	assert_int_equal(found(), 0);
	t.world.snapshot_ns = 3 * S;
	assert_int_equal(found(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_that_lives_has_kept_it, begin, end),
		cmocka_unit_test_setup_teardown(who_leaves_two_places_counts_at_both, begin, end),
		cmocka_unit_test_setup_teardown(it_has_ended_inside, begin, end),
		cmocka_unit_test_setup_teardown(who_has_it_is_late, begin, end),
		cmocka_unit_test_setup_teardown(who_runs_may_have_it, begin, end),
		cmocka_unit_test_setup_teardown(another_may_have_it, begin, end),
		cmocka_unit_test_setup_teardown(something_else_resumes_them, begin, end),
		cmocka_unit_test_setup_teardown(the_loop_runs, begin, end),
		cmocka_unit_test_setup_teardown(workers_begin_idle, begin, end),
		cmocka_unit_test_setup_teardown(it_is_early, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
