// SPDX-License-Identifier: MIT
//
// CTP003 of a queue that has filled while its reader waits: when that which ctp-run saw counts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/parked/parked_filled.h"
#include "tables.h"

enum { READER = 4, WAIT = 3, STACKS = 8 };
#define MS 1000000ULL
#define S (1000 * MS)

static struct tables t;
static struct results out;
static uint32_t stacks[STACKS];
static unsigned char of[STACKS], told[TABLES_ROWS];
static struct parked_history v[PARKED_PLACINGS];
static struct set_filled filled;
static struct set_parked reader;
static struct ctp_state *state_of;
static struct ctp_thread *loop;

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(told, 0, sizeof(told));
	memset(v, 0, sizeof(v));
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = 10 * S;
	t.image.has_tables = true;
	t.image.stack_index = (struct table){.rows = (const void *)stacks, .n = STACKS, .row_bytes = 4};
	state_of = tables_suspended(&t, READER, WAIT, 2 * S);
	loop = tables_thread(&t, 0, 1);
	loop->switches = 1;
	tables_index(&t);
	of[WAIT] = 1;
	v[PARKED_USUAL] = (struct parked_history){.m = &t.image, .n = 1, .of = of};
	v[PARKED_USUAL].v[0] = (struct parked_spot){.left = 3, .longest = 2 * S};
	filled = (struct set_filled){.at = 0x5010,
				     .apart = 32,
				     .parks = 5,
				     .moves = 4,
				     .here = true,
				     .empty_ns = 3 * S,
				     .since_ns = 3 * S + MS,
				     .ns = 8 * S,
				     .name = (char *)"_ZL4jobs+0x10",
				     .n = 1};
	reader = (struct set_parked){.coroutine = READER, .changes = state_of->changes};
	t.image.set_looks.filled = &filled;
	t.image.set_looks.nfilled = 1;
	t.image.set_looks.readers = (struct set_parked_list){.v = &reader, .n = 1};
	return 0;
}

static int end(void **state)
{
	(void)state;
	t.image.set_looks = (struct set_looks){0};
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static size_t found(void)
{
	results_deinit(&out);
	out = (struct results){0};
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_filled(pass_find("CTP003"), &t.world, &t.image, v, told, &out), 0);
	return out.ncases;
}

static void it_counts(void **state)
{
	(void)state;
	assert_int_equal(found(), 1);
	assert_int_equal(out.cases[0].id, READER);
	assert_int_equal(out.cases[0].proof.verdict, VERDICT_SUSPECT);
	assert_string_equal(
		out.cases[0].message,
		"two words, at jobs+0x10 and 32 bytes further, were equal in 4 waits here, as those of an "
		"empty queue, and moved together 4 times; now they have differed for 5.0 s, and nothing "
		"was taken");
	filled.name = NULL;
	filled.moves = UINT8_MAX;
	assert_int_equal(found(), 1);
	assert_memory_equal(out.cases[0].message, "two words, at 0x5010", 20);
	assert_non_null(strstr(out.cases[0].message, "255 or more times"));
}

static void former_waits_were_as_long(void **state)
{
	(void)state;
	v[PARKED_USUAL].v[0].longest = 2500 * MS;
	assert_int_equal(found(), 0);
	filled.moves = 8; // but it was resumed soon so often
	assert_int_equal(found(), 1);
	filled.moves = 7;
	assert_int_equal(found(), 0);
	v[PARKED_USUAL].v[0].longest = 2 * S;
	assert_int_equal(found(), 1);
	v[PARKED_USUAL].v[0].left = 0; // nobody was ever resumed there
	assert_int_equal(found(), 0);
	v[PARKED_USUAL].n = 0; // no history
	assert_int_equal(found(), 0);
	filled.moves = 8;
	assert_int_equal(found(), 1);
}

// A thread without coroutines may be who takes: then the reader must have waited before.
static void a_thread_takes(void **state)
{
	(void)state;
	state_of->since = 3 * S + MS / 2;
	assert_int_equal(found(), 1);
	tables_thread(&t, 1, 2);
	assert_int_equal(found(), 0);
	state_of->since = 2 * S;
	assert_int_equal(found(), 1);
	filled.here = false; // another one came
	assert_int_equal(found(), 0);
}

static void it_has_gone_on(void **state)
{
	(void)state;
	reader.changes--;
	assert_int_equal(found(), 0);
	reader.changes++;
	state_of->life = CTP_RUNNING;
	assert_int_equal(found(), 0);
	state_of->life = CTP_SUSPENDED;
	assert_int_equal(found(), 1);
	reader.coroutine = 99;
	assert_int_equal(found(), 0);
}

static void it_is_told_once(void **state)
{
	(void)state;
	struct set_filled two[] = {filled, filled};
	t.image.set_looks.filled = two;
	t.image.set_looks.nfilled = 2;
	assert_int_equal(found(), 1);
	assert_true(told[0]);
	results_deinit(&out);
	out = (struct results){0};
	assert_int_equal(parked_filled(pass_find("CTP003"), &t.world, &t.image, v, told, &out), 0);
	assert_int_equal(out.ncases, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_counts, begin, end),
		cmocka_unit_test_setup_teardown(former_waits_were_as_long, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_takes, begin, end),
		cmocka_unit_test_setup_teardown(it_has_gone_on, begin, end),
		cmocka_unit_test_setup_teardown(it_is_told_once, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
