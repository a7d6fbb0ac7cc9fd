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

// So has one that named no wait, and had to wait for it before: two events came at once, and neither is known
// to have resumed it.
static void its_one_shot_fired_with_another(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	woken(OTHER, ELSEWHERE);
	are(0, 1);
}

static void it_was_armed_again_since(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	woken(OTHER, ELSEWHERE);
	f->reg_time = 6;
	are(1, 0);
}

static void its_event_has_come_now(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	woken(OTHER, ELSEWHERE);
	f->event_time = 12; // it has yet to be resumed
	are(1, 0);
}

static void its_registrations_are_many(void **state)
{
	(void)state;
	f->adder = ID;
	f->reg_events = EPOLLIN | EPOLLONESHOT;
	f->flags = CTP_FD_MANYREGS;
	woken(OTHER, ELSEWHERE);
	are(1, 0);
}

// It reads from a connection that stays registered, and waits at a lock, as its neighbours do.
static void it_stands_where_others_wait_for_none(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	woken(OTHER, ELSEWHERE);
	tables_suspended(&t, OTHER, HERE, 11);
	are(0, 2);
}

static void no_event_has_come_yet(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	tables_suspended(&t, OTHER, HERE, 11);
	are(1, 1);
}

static void it_stands_where_another_waits_for_one(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	woken(OTHER, ELSEWHERE);
	tables_suspended(&t, OTHER, HERE, 11);
	tables_suspended(&t, OTHER + 1, HERE, 11);
	struct ctp_fd *g = tables_fd(&t, 8, 1);
	g->reg_epfd = 3;
	g->reg_time = 1;
	g->adder = OTHER + 1;
	are(2, 1);
}

static void others_are_parked_elsewhere(void **state)
{
	(void)state;
	f->adder = f->waiter[0] = ID;
	woken(OTHER, ELSEWHERE);
	tables_suspended(&t, OTHER + 1, ELSEWHERE, 11);
	are(1, 1);
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
					   TEST(its_one_shot_was_armed_again),
					   TEST(its_one_shot_fired_with_another),
					   TEST(it_was_armed_again_since),
					   TEST(its_event_has_come_now),
					   TEST(its_registrations_are_many),
					   TEST(it_stands_where_others_wait_for_none),
					   TEST(no_event_has_come_yet),
					   TEST(it_stands_where_another_waits_for_one),
					   TEST(others_are_parked_elsewhere)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
