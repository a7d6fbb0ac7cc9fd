// SPDX-License-Identifier: MIT
//
// Which coroutines that named no wait are healthy: those to which a registration leads where they stand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <sys/epoll.h>

#include "tables.h"

enum { ID = 41, OTHER = 42, HERE = 5, ELSEWHERE = 6 };

static struct tables t;
static struct ctp_state *c;
static struct ctp_fd *f;

// A coroutine, and a descriptor that is registered in a set.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	c = tables_suspended(&t, ID, HERE, 10);
	f = tables_fd(&t, 7, 1);
	f->reg_epfd = 3;
	f->reg_time = 1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tables_close(&t);
	return 0;
}

static void are(uint64_t healthy, uint64_t parked)
{
	tables_index(&t);
	assert_int_equal(t.image.counts.healthy, healthy);
	assert_int_equal(t.image.counts.parked, parked);
}

static void woken(uint64_t id, uint32_t stack)
{
	f->learned = id;
	f->learned_stack = stack;
	f->event_time = 5;
}

static void nothing_leads_to_it(void **state)
{
	(void)state;
	are(0, 1);
}

static void it_registered_what_has_woken_nobody(void **state)
{
	(void)state;
	f->adder = ID;
	are(1, 0);
}

static void it_was_woken_where_it_stands(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	woken(ID, HERE);
	are(1, 0);
}

// In a lock of the program's own, say: events of the connection do not resume it there.
static void it_was_woken_elsewhere(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = f->waiter[1] = f->leads = ID;
	woken(ID, ELSEWHERE);
	are(0, 1);
}

static void it_had_to_wait_for_it_and_was_woken_elsewhere(void **state)
{
	(void)state;
	f->waiter[1] = ID;
	woken(ID, ELSEWHERE);
	are(0, 1);
}

static void others_are_woken_for_it(void **state)
{
	(void)state;
	f->waiter[0] = ID;
	woken(OTHER, ELSEWHERE);
	are(1, 0);
}

// An eventfd that the loop reads wakes whoever stands there.
static void its_own_eventfd_wakes_it(void **state)
{
	(void)state;
	f->kind = CTP_FD_EVENTFD;
	f->adder = ID;
	woken(ID, HERE);
	are(1, 0);
}

// It had to wait for what was registered once, and whose event came before: that has gone with it.
static void its_one_shot_has_fired_already(void **state)
{
	(void)state;
	tables_wait(c, 7, 1, CTP_WAIT_EAGAIN);
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	f->event_time = 5;
	are(0, 0);
}

static void its_one_shot_was_armed_again(void **state)
{
	(void)state;
	tables_wait(c, 7, 1, CTP_WAIT_EAGAIN);
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	f->event_time = 5;
	f->reg_time = 12;
	are(1, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(nothing_leads_to_it),
					   TEST(it_registered_what_has_woken_nobody),
					   TEST(it_was_woken_where_it_stands),
					   TEST(it_was_woken_elsewhere),
					   TEST(it_had_to_wait_for_it_and_was_woken_elsewhere),
					   TEST(others_are_woken_for_it),
					   TEST(its_own_eventfd_wakes_it),
					   TEST(its_one_shot_has_fired_already),
					   TEST(its_one_shot_was_armed_again)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
