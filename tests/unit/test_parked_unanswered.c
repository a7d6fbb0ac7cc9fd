// SPDX-License-Identifier: MIT
//
// CTP003 of those who have read a request and not answered it. The history is made here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/parked/parked_history.c"
#include "../../src/analyze/parked/parked_resumer.c"
#include "../../src/analyze/parked/parked_unanswered.c"
#undef transitions_walk
#include "parked_slices.h"

enum { USERS = 8, STACKS = 12 };
enum { MADE = 3, READ, WAIT };

static struct tables t;
static struct results out;
static unsigned char told[TABLES_ROWS];
static uint32_t stacks[STACKS];
static bool others_reads, last_written, dialled, loop_reads, copied; // of the descriptors
static struct descriptor names[USERS + 1] = {{.fd = 3, .gen = 1}};

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	slices_begin(USERS, MADE);
	others_reads = last_written = dialled = loop_reads = copied = false;
	t.world.form = WORLD_DIRECTORY;
	t.world.snapshot_ns = 10 * S;
	t.image.has_tables = true;
	t.image.stack_index = (struct table){.rows = (const void *)stacks, .n = STACKS, .row_bytes = 4};
	struct ctp_thread *loop = tables_thread(&t, 0, LOOP);
	loop->switches = 1;
	loop->wait_since = 9 * S;
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	t.image.descriptors = (struct descriptors){0}; // they are not its own
	tables_close(&t);
	return 0;
}

// Each user's descriptor is one of its own. How many are found, and what is said of the first.
static size_t found(const char *why)
{
	struct parked_history v[PARKED_PLACINGS];
	results_deinit(&out);
	out = (struct results){0};
	t.image.stations.n = t.image.fds.n = 0;
	for (uint64_t id = FIRST; id < FIRST + USERS; id++) {
		const struct slice *last = slices_last(id);
		if (!last)
			continue;
		tables_suspended(&t, id, last->stack, last->at_ms * MS + MS / 10)->changes = CHANGES_LEAST;
		struct ctp_fd *f = tables_fd(&t, (int32_t)(10 + id), 1);
		f->opened_how = dialled ? CTP_CALL_SOCKET : copied ? CTP_CALL_DUP : CTP_CALL_ACCEPT;
		f->last_in = others_reads ? FIRST + USERS : loop_reads ? CTP_FD_UNNAMED : id;
		f->last_out = id;
		f->latest = last_written ? CTP_FD_WRITTEN_LAST : CTP_FD_READ_LAST;
	}
	tables_index(&t);
	memset(told, 0, sizeof(told));
	assert_int_equal(parked_history_read(&t.world, &t.image, told, v), 0);
	assert_int_equal(parked_unanswered(pass_find("CTP003"), &t.world, v, told, &out), 0);
	parked_history_deinit(v);
	if (out.ncases && why)
		assert_non_null(strstr(out.cases[0].message, why));
	return out.ncases;
}

// The first waits since 100 ms; so many came later.
static void came_later(unsigned n)
{
	runs(10, 0, READ);
	runs(20, 1, READ);
	runs(100, 0, WAIT);
	for (unsigned i = 0; i < n; i++) {
		runs(200 + 10 * i, 1, WAIT);
		runs(205 + 10 * i, 1, READ);
	}
}

static void overtaken(void **state)
{
	(void)state;
	came_later(PASSED_LEAST - 1);
	assert_int_equal(found(NULL), 0);
	nslices = 0;
	came_later(PASSED_LEAST);
	assert_int_equal(found("3 came here later"), 1);
	assert_int_equal(out.cases[0].id, FIRST);
}

static void some_wait_as_long(void **state)
{
	(void)state;
	came_later(PASSED_LEAST);
	runs(1000, 2, WAIT);
	runs(3000, 2, READ);
	assert_int_equal(found(NULL), 0);
}

static void nobody_asks(void **state)
{
	(void)state;
	came_later(PASSED_LEAST);
	last_written = true; // it has answered
	assert_int_equal(found(NULL), 0);
	last_written = false;
	dialled = true; // what it has read is an answer
	assert_int_equal(found(NULL), 0);
	dialled = false;
	others_reads = true;
	assert_int_equal(found(NULL), 0);
}

static void a_handler_reads(void **state)
{
	(void)state;
	came_later(PASSED_LEAST);
	loop_reads = true;
	assert_int_equal(found("3 came here later"), 1); // it has written before
}

// So many have ended, after so long.
static void lives(unsigned n, uint64_t ms)
{
	for (unsigned i = 1; i <= n; i++) {
		runs(10 + i, i, WAIT);
		over(10 + i + ms, i);
	}
	runs(1000, 0, WAIT);
}

static void others_have_ended(void **state)
{
	(void)state;
	lives(OVER_LEAST - 1, 30);
	assert_int_equal(found(NULL), 0);
	nslices = 0;
	lives(OVER_LEAST, 30);
	assert_int_equal(found("5 others made where it was lived for 30.1 ms"), 1);
	nslices = 0;
	lives(OVER_LEAST, 950); // less than a tenth of the nine seconds that it waits: no
	assert_int_equal(found(NULL), 0);
}

static void together(void **state)
{
	(void)state;
	runs(10, 0, READ);
	runs(11, 1, READ);
	runs(100, 0, WAIT);
	assert_int_equal(found(NULL), 0);
	runs(110, 1, WAIT);
	assert_int_equal(found("2 wait here, from where none was ever resumed"), 2);
	runs(120, 2, WAIT);
	runs(230, 2, READ);
	assert_int_equal(found(NULL), 0); // a hundredth of what they wait, or more
}

// Few ever had to wait here, as at a lock, and not for long: now more of them wait a hundred times as long.
static void together_where_few_were_resumed(void **state)
{
	(void)state;
	runs(10, 0, READ);
	runs(11, 1, READ);
	runs(20, 0, WAIT);
	runs(21, 1, WAIT);
	runs(22, 0, READ);
	runs(100, 0, WAIT);
	assert_int_equal(found("2 wait here, from where 1 was resumed before, after 1.9 ms at most"), 2);
}

static void together_where_many_were_resumed(void **state)
{
	(void)state;
	runs(10, 0, READ);
	runs(11, 1, READ);
	for (unsigned i = 0; i < 3; i++) {
		runs(20 + 10 * i, 0, WAIT);
		runs(22 + 10 * i, 0, READ);
	}
	runs(100, 0, WAIT);
	runs(101, 1, WAIT);
	assert_int_equal(found(NULL), 0);
}

// A copy of a descriptor is of a connection that was accepted, if its port is a listener's.
static void its_descriptor_is_a_copy(void **state)
{
	(void)state;
	static char listener[] = "0.0.0.0:80", own[] = "127.0.0.1:80 <- 127.0.0.1:4000",
		    other[] = "127.0.0.1:4000 <- 127.0.0.1:80";
	runs(10, 0, READ);
	runs(11, 1, READ);
	runs(100, 0, WAIT);
	runs(110, 1, WAIT);
	copied = true;
	assert_int_equal(found(NULL), 0);
	names[0].name = listener;
	for (int i = 1; i <= USERS; i++)
		names[i] = (struct descriptor){.fd = 10 + FIRST + i - 1, .gen = 1, .name = own};
	t.image.descriptors = (struct descriptors){.v = names, .n = USERS + 1};
	assert_int_equal(found("2 wait here"), 2);
	for (int i = 1; i <= USERS; i++)
		names[i].name = other; // it has connected
	assert_int_equal(found(NULL), 0);
}

// Nothing says that anybody could have resumed them since: the loop has slept from before they came.
static void no_chance(void **state)
{
	(void)state;
	runs(10, 0, READ);
	runs(11, 1, READ);
	runs(100, 0, WAIT);
	runs(110, 1, WAIT);
	assert_int_equal(found("2 wait here"), 2);
	t.threads[0].t.wait_since = 50 * MS;
	assert_int_equal(found(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(overtaken, begin, end),
		cmocka_unit_test_setup_teardown(some_wait_as_long, begin, end),
		cmocka_unit_test_setup_teardown(nobody_asks, begin, end),
		cmocka_unit_test_setup_teardown(a_handler_reads, begin, end),
		cmocka_unit_test_setup_teardown(others_have_ended, begin, end),
		cmocka_unit_test_setup_teardown(together, begin, end),
		cmocka_unit_test_setup_teardown(together_where_few_were_resumed, begin, end),
		cmocka_unit_test_setup_teardown(together_where_many_were_resumed, begin, end),
		cmocka_unit_test_setup_teardown(its_descriptor_is_a_copy, begin, end),
		cmocka_unit_test_setup_teardown(no_chance, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
