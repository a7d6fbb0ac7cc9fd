// SPDX-License-Identifier: MIT
//
// A coroutine whose descriptor another entity has read while it waited: undecided, and a fact with the place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/taken.h"
#include "ctp/rules.h"
#include "tables.h"

static struct tables t;
static struct report r;
static struct symbols *symbols[1]; // none
static struct ctp_incident incidents[4];
static struct ctp_state *waiter;
static struct ctp_fd *fd;

// 41 waits for fd 7 since 100, 42 has read it at 150.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	fd = tables_fd(&t, 7, 3);
	fd->kind = CTP_FD_EVENTFD;
	fd->reg_epfd = 4;
	fd->last_in = 42 | CTP_FD_SEVERAL;
	waiter = tables_suspended(&t, 41, 5, 100);
	tables_wait(waiter, 7, 3, CTP_WAIT_REGISTERED | CTP_WAIT_EAGAIN);
	incidents[0] = (struct ctp_incident){ .rule = RULE_WRONG_WAITER, .who = 41, .stack = 9, .fd = 7, .gen = 3, .other = 42,
					      .value = { 150, 42 } };
	t.image.incidents = (struct table){ .rows = (const void *)incidents, .n = 1, .row_bytes = sizeof(*incidents) };
	r = (struct report){ .world = &t.world, .symbols = symbols };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_deinit(&r.results);
	accounting_deinit(&r);
	free(t.image.set_looks.queues);
	t.image.set_looks = (struct set_looks){ 0 };
	tables_close(&t);
	return 0;
}

static size_t said(void)
{
	tables_index(&t);
	image_settle_taken(&t.image);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(taken_facts(&r), 0);
	assert_int_equal(r.accounting[ACCOUNT_HEALTHY], t.image.counts.healthy);
	assert_int_equal(r.accounting[ACCOUNT_UNDECIDED], r.results.nfacts);
	return r.results.nfacts;
}

static void who_read_it_is_told(void **state)
{
	(void)state;
	assert_int_equal(said(), 1);
	assert_string_equal(r.results.facts[0].message,
			    "coroutine 41 waits for fd 7 (eventfd), which coroutine 42 has read while it waited: "
			    "undecided, its wakeup may be taken");
	assert_string_equal(r.results.facts[0].rule, "CTP009");
}

static void a_thread_has_no_number(void **state)
{
	(void)state;
	fd->last_in = incidents[0].value[1] = CTP_FD_UNNAMED | 2;
	assert_int_equal(said(), 1);
	assert_non_null(strstr(r.results.facts[0].message, "which a thread without coroutines has read while"));
}

static void of_several_the_last_counts(void **state)
{
	(void)state;
	incidents[1] = incidents[0];
	incidents[1].stack = 10;
	incidents[1].value[0] = 170;
	incidents[1].value[1] = 43;
	t.image.incidents.n = 2;
	assert_ptr_equal(image_taken(&t.image, waiter), NULL); // before the tables have an index
	tables_index(&t);
	assert_ptr_equal(image_taken(&t.image, waiter), &incidents[0]);
	fd->last_in = 43 | CTP_FD_SEVERAL;
	assert_ptr_equal(image_taken(&t.image, waiter), &incidents[1]);
}

static void it_has_read_since(void **state)
{
	(void)state;
	fd->last_in = 41 | CTP_FD_SEVERAL;
	assert_int_equal(said(), 0);
}

static void there_is_something_again(void **state)
{
	(void)state;
	t.image.set_looks.queues = calloc(1, sizeof(struct set_queue));
	t.image.set_looks.queues[0] = (struct set_queue){ .coroutine = 41, .fd = 7, .gen = 3, .ready = true };
	t.image.set_looks.nqueues = 1;
	assert_int_equal(said(), 0);
}

static void an_event_came_since(void **state)
{
	(void)state;
	fd->event_time = 160;
	assert_int_equal(said(), 0);
}

static void it_was_taken_from_under_its_event(void **state)
{
	(void)state;
	fd->event_time = 140;
	assert_int_equal(said(), 1);
}

// The event came in one batch with the reader's, and resumed it for nothing.
static void it_was_woken_for_nothing(void **state)
{
	(void)state;
	fd->event_time = 160;
	waiter->since = 170;
	assert_int_equal(said(), 1);
}

static void several_wait(void **state)
{
	(void)state;
	fd->flags |= CTP_FD_MANY;
	assert_int_equal(said(), 0);
}

static void it_waits_for_more(void **state)
{
	(void)state;
	tables_fd(&t, 8, 1)->reg_epfd = 4;
	tables_wait(waiter, 8, 1, CTP_WAIT_REGISTERED);
	assert_int_equal(said(), 0);
}

static void another_generation(void **state)
{
	(void)state;
	incidents[0].gen = 2;
	assert_int_equal(said(), 0);
}

static void one_place_is_one_fact(void **state)
{
	(void)state;
	tables_fd(&t, 8, 1)->reg_epfd = 4;
	t.fds[1].f.last_in = 42;
	tables_wait(tables_suspended(&t, 44, 5, 100), 8, 1, CTP_WAIT_REGISTERED);
	incidents[1] = incidents[0];
	incidents[1].who = 44;
	incidents[1].fd = 8;
	incidents[1].gen = 1;
	t.image.incidents.n = 2;
	tables_index(&t);
	image_settle_taken(&t.image);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(r.accounting[ACCOUNT_UNDECIDED], 2);
	assert_int_equal(taken_facts(&r), 0);
	assert_int_equal(r.results.nfacts, 1);
	assert_int_equal(r.results.facts[0].count, 2);
	assert_non_null(strstr(r.results.facts[0].message, "coroutine 41 waits"));
	assert_non_null(strstr(r.results.facts[0].message, ", and 1 more waits so"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_read_it_is_told),
		TEST(a_thread_has_no_number),
		TEST(of_several_the_last_counts),
		TEST(it_has_read_since),
		TEST(there_is_something_again),
		TEST(an_event_came_since),
		TEST(it_was_taken_from_under_its_event),
		TEST(it_was_woken_for_nothing),
		TEST(several_wait),
		TEST(it_waits_for_more),
		TEST(another_generation),
		TEST(one_place_is_one_fact),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
