// SPDX-License-Identifier: MIT
//
// What a descriptor's entry says of a coroutine: each link, and each condition
// of it taken away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "ctp/wait_inference.h"

enum { ME = 41, OTHER = 42, HERE = 7, THERE = 8 };

static struct ctp_fd f;
static struct ctp_state c;
static struct ctp_wait named;
static struct ctp_link_seen seen;

// Nothing leads to a coroutine that is suspended at HERE; `named` says that it tried the descriptor.
static int setup(void **state)
{
	(void)state;
	f = (struct ctp_fd){ .kind = CTP_FD_TCP, .reg_time = 50, .reg_epfd = 3 };
	c = (struct ctp_state){ .id = ME, .stack = HERE, .since = 100 };
	named = (struct ctp_wait){ .fd = 5, .how = CTP_WAIT_EAGAIN };
	seen = (struct ctp_link_seen){ .registered = true };
	return 0;
}

static enum ctp_link link(const struct ctp_wait *wait)
{
	return ctp_wait_link(&f, &c, wait, &seen);
}

static void nothing_leads_nowhere(void **state)
{
	(void)state;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
	assert_int_equal(link(&named), CTP_LINK_NONE); // that it tried says nothing of who is woken
}

static void its_own_registration_comes_first(void **state)
{
	(void)state;
	named.how = CTP_WAIT_REGISTERED;
	assert_int_equal(link(&named), CTP_LINK_OWN);
	seen = (struct ctp_link_seen){ .points_in = true, .polled = true };
	f.learned = OTHER;
	assert_int_equal(link(&named), CTP_LINK_OWN);
}

static void data_points_in(void **state)
{
	(void)state;
	seen.points_in = true;
	assert_int_equal(link(NULL), CTP_LINK_DATA);
	seen.registered = false; // there is no registration of which that would be the data
	assert_int_equal(link(NULL), CTP_LINK_NONE);
}

static void events_resumed_it_there(void **state)
{
	(void)state;
	f.learned = ME;
	f.learned_stack = HERE;
	assert_int_equal(link(NULL), CTP_LINK_EVENTS);
	f.learned_stack = THERE;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
	assert_int_equal(link(&named), CTP_LINK_EVENTS); // it says itself that it is about this one
	f.learned = OTHER;
	assert_int_equal(link(&named), CTP_LINK_NONE);
	f.learned_stack = c.stack = 0; // two stacks that are not known are not the same
	f.learned = ME;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
}

static void a_polled_set_takes_both(void **state)
{
	(void)state;
	seen = (struct ctp_link_seen){ .polled = true };
	f.learned = ME;
	f.learned_stack = HERE;
	assert_int_equal(link(NULL), CTP_LINK_SET);
	seen.polled = false;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
	seen.polled = true;
	f.learned = OTHER;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
}

static void a_context_counts_unless_another_is_known(void **state)
{
	(void)state;
	f.leads = ME;
	assert_int_equal(link(NULL), CTP_LINK_CONTEXT);
	f.waiter[0] = ME;
	assert_int_equal(link(NULL), CTP_LINK_CONTEXT);
	f.waiter[1] = OTHER;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
	f.waiter[1] = 0;
	f.learned = OTHER;
	assert_int_equal(link(NULL), CTP_LINK_NONE);
}

static void who_was_served_may_be_done(void **state)
{
	(void)state;
	assert_false(ctp_may_be_done(&f, &c, NULL));
	f.last_in = ME;
	assert_true(ctp_may_be_done(&f, &c, NULL));
	assert_false(ctp_may_be_done(&f, &c, &named)); // it tried again
	f.reg_time = c.since; // registered anew since
	assert_false(ctp_may_be_done(&f, &c, NULL));
}

static bool firm(const struct ctp_wait *wait)
{
	return ctp_wait_firm(&f, 5, &c, wait, ctp_event_noted(&f, &c, wait));
}

static void its_own_registration_is_firm(void **state)
{
	(void)state;
	assert_false(firm(NULL));
	assert_false(firm(&named)); // a try alone: it may have suspended for something else
	named.how = CTP_WAIT_REGISTERED;
	assert_true(firm(&named));
	f.event_time = 60; // came since, and went elsewhere
	assert_false(firm(&named));
	assert_true(ctp_wait_firm(&f, 5, &c, &named, false)); // but the registration references it
	f.leads = ME;
	assert_true(firm(&named));
	f.leads = 0;
	f.learned = ME;
	assert_true(firm(&named));
	f.learned = 0;
	f.event_time = 40; // before it was registered
	assert_true(firm(&named));
	c.flags = CTP_STATE_POOLED;
	c.called = HERE;
	assert_false(firm(&named));
}

static void where_an_event_resumed_it_is_firm(void **state)
{
	(void)state;
	f.learned = ME;
	f.learned_stack = HERE;
	f.event_time = 60;
	assert_false(firm(NULL)); // it did not read what had come: it does not want it
	f.last_in = ME;
	assert_true(firm(NULL));
	c.tried = 5ULL << 32 | f.gen; // it read until EAGAIN
	assert_false(firm(NULL));
	assert_true(firm(&named));
	f.learned_stack = THERE;
	assert_false(firm(&named));
}

static void what_another_registered_for_it_is_firm(void **state)
{
	(void)state;
	f.reg_time = 120;
	f.reg_by = OTHER;
	f.leads = ME;
	assert_true(firm(NULL));
	f.reg_by = ME;
	assert_false(firm(NULL));
	f.reg_by = OTHER;
	f.reg_time = 99;
	assert_false(firm(NULL));
}

// A loop that keeps its waiters by number: the registration leads to nobody that is known.
static void what_another_registered_for_who_tried_alone_is_firm(void **state)
{
	(void)state;
	f.reg_time = 120;
	f.reg_by = OTHER;
	f.waiter[0] = ME;
	assert_false(firm(NULL));
	assert_true(firm(&named));
	f.waiter[1] = OTHER; // or for that one
	assert_false(firm(&named));
	f.waiter[1] = 0;
	f.flags = CTP_FD_MANY;
	assert_false(firm(&named));
	f.flags = 0;
	f.learned = OTHER;
	assert_false(firm(&named));
	f.learned = 0;
	named.how = 0;
	assert_false(firm(&named));
	named.how = CTP_WAIT_EAGAIN;
	f.reg_time = 99;
	assert_false(firm(&named));
}

// Read some of what an edge told it of, wherever it stands; many edges may have come at once.
static void who_left_some_of_an_edge(void **state)
{
	(void)state;
	f.reg_events = EPOLLIN | EPOLLET;
	f.last_in = ME;
	assert_false(ctp_stopped_short(&f, &c)); // no event yet
	f.event_time = 60;
	assert_true(ctp_stopped_short(&f, &c)); // whose it was is not known, and C alone has read it
	f.last_in = ME | CTP_FD_SEVERAL;
	assert_false(ctp_stopped_short(&f, &c)); // others did
	f.last_in = ME;
	f.leads = OTHER;
	assert_false(ctp_stopped_short(&f, &c));
	f.leads = ME;
	assert_true(ctp_stopped_short(&f, &c));
	f.learned = OTHER;
	assert_false(ctp_stopped_short(&f, &c));
	f.learned = ME;
	f.leads = 0;
	assert_true(ctp_stopped_short(&f, &c));
	f.event_time = 101;
	assert_false(ctp_stopped_short(&f, &c)); // another event came
	f.event_time = 60;
	c.tried = 5;
	assert_false(ctp_stopped_short(&f, &c)); // nothing was left
}

// Wrote some, which was all taken, and may wait for room.
static void who_sent_for_one_turn(void **state)
{
	(void)state;
	f.reg_events = EPOLLIN | EPOLLOUT | EPOLLET;
	f.last_in = f.last_out = ME;
	f.latest = CTP_FD_WRITTEN_LAST;
	assert_false(ctp_sent_short(&f, &c)); // no event yet
	f.event_time = 60;
	assert_true(ctp_sent_short(&f, &c));
	f.reg_events = EPOLLIN | EPOLLOUT;
	assert_false(ctp_sent_short(&f, &c)); // it is told of room as long as there is some
	f.reg_events = EPOLLIN | EPOLLET;
	assert_false(ctp_sent_short(&f, &c));
	f.reg_events = EPOLLOUT | EPOLLET;
	f.latest = CTP_FD_READ_LAST;
	assert_false(ctp_sent_short(&f, &c)); // it read since
	f.latest = CTP_FD_WRITTEN_LAST;
	f.last_out = OTHER;
	assert_false(ctp_sent_short(&f, &c));
	f.last_out = ME | CTP_FD_SEVERAL;
	assert_false(ctp_sent_short(&f, &c));
	f.last_out = ME;
	f.learned = ME;
	f.learned_stack = c.stack + 1;
	assert_true(ctp_sent_short(&f, &c));
	f.learned_stack = c.stack;
	assert_false(ctp_sent_short(&f, &c)); // it stands where events of it resumed it
	f.learned = OTHER;
	assert_false(ctp_sent_short(&f, &c));
	f.learned = 0;
	f.event_time = 101;
	assert_false(ctp_sent_short(&f, &c)); // another event came
	f.event_time = 60;
	c.tried = 5;
	assert_false(ctp_sent_short(&f, &c)); // it tried in vain
	c.tried = 0;
	c.nwaits = 1;
	assert_false(ctp_sent_short(&f, &c)); // it waits for something else
}

static void who_left_some_of_what_was_registered_once(void **state)
{
	(void)state;
	f.reg_events = EPOLLIN | EPOLLONESHOT;
	f.reg_time = 50;
	f.last_in = ME;
	assert_false(ctp_left_unread(&f, &c)); // no event yet
	f.event_time = 60;
	assert_true(ctp_left_unread(&f, &c));
	f.reg_time = 70;
	assert_false(ctp_left_unread(&f, &c)); // armed again
	f.reg_time = 50;
	f.reg_events = EPOLLIN;
	f.reg_epfd = 4;
	assert_false(ctp_left_unread(&f, &c)); // its events come on
	f.reg_events = EPOLLOUT;
	assert_false(ctp_left_unread(&f, &c)); // it is told of room
	f.reg_events = EPOLLRDHUP;
	assert_true(ctp_left_unread(&f, &c)); // its registration asks for nothing
	f.flags = CTP_FD_MANYREGS;
	assert_false(ctp_left_unread(&f, &c));
	f.flags = 0;
	f.reg_events = EPOLLIN;
	f.reg_epfd = -1;
	assert_true(ctp_left_unread(&f, &c)); // it was taken out
	f.last_in = ME | CTP_FD_SEVERAL;
	assert_false(ctp_left_unread(&f, &c));
	f.last_in = ME;
	f.learned = OTHER;
	assert_false(ctp_left_unread(&f, &c));
	f.learned = 0;
	f.event_time = 101;
	assert_true(ctp_left_unread(&f, &c)); // another event came, and was dropped with the registration
	f.reg_epfd = 3;
	f.reg_events = EPOLLIN | EPOLLONESHOT;
	assert_false(ctp_left_unread(&f, &c)); // it may have been told of that
	f.reg_epfd = -1;
	f.event_time = 60;
	c.tried = 5;
	assert_false(ctp_left_unread(&f, &c)); // nothing was left
	c.tried = 0;
	c.nwaits = 1;
	assert_false(ctp_left_unread(&f, &c)); // it waits for something else
}

static void whose_registration_was_refused(void **state)
{
	(void)state;
	c.since = 100;
	f.reg_epfd = -1;
	f.flags = CTP_FD_REFUSED;
	f.last_out = ME;
	f.reg_time = 101; // by whoever went on when it had suspended
	assert_true(ctp_left_refused(&f, &c));
	assert_false(ctp_was_registered(&f));
	f.last_in = OTHER;
	assert_false(ctp_left_refused(&f, &c)); // others read it
	f.last_in = ME;
	f.last_out = ME | CTP_FD_SEVERAL;
	assert_false(ctp_left_refused(&f, &c)); // or write
	f.last_out = ME;
	f.flags = 0;
	assert_false(ctp_left_refused(&f, &c)); // it was registered since
	assert_true(ctp_was_registered(&f));
	f.flags = CTP_FD_REFUSED;
	f.event_time = 150;
	assert_false(ctp_left_refused(&f, &c));
	f.event_time = 0;
	c.nwaits = 1;
	assert_false(ctp_left_refused(&f, &c)); // it waits for something else
	c.nwaits = 0;
	f.reg_time = 90;
	assert_false(ctp_left_refused(&f, &c)); // it has run since
	f.reg_by = ME;
	f.learned_stack = c.stack;
	assert_true(ctp_left_refused(&f, &c)); // by itself, before it suspended here
	f.learned_stack++;
	assert_false(ctp_left_refused(&f, &c));
}

static void timers_of_others(void **state)
{
	(void)state;
	f.opened_how = CTP_CALL_TIMERFD;
	f.opener = OTHER;
	assert_false(ctp_timer_of_others(&f, ME)); // nobody has set it yet
	f.last_out = OTHER | CTP_FD_SEVERAL;
	assert_true(ctp_timer_of_others(&f, ME));
	f.last_out = ME | CTP_FD_SEVERAL;
	assert_false(ctp_timer_of_others(&f, ME));
	f.last_out = OTHER;
	f.opener = ME;
	assert_false(ctp_timer_of_others(&f, ME));
}

static void the_timer_of_its_last_slice(void **state)
{
	(void)state;
	c.changes = 0x207;
	c.armed_in = 6;
	c.armed = 8;
	assert_int_equal(ctp_timer_armed(&c), 7);
	c.changes = 0x209; // it has run since
	assert_int_equal(ctp_timer_armed(&c), -1);
	c.changes = 0x300; // the low bits go round
	c.armed_in = 0xff;
	assert_int_equal(ctp_timer_armed(&c), 7);
	c.armed = 1;
	assert_int_equal(ctp_timer_armed(&c), 0);
	c.armed = 0;
	assert_int_equal(ctp_timer_armed(&c), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_leads_nowhere, setup),
		cmocka_unit_test_setup(whose_registration_was_refused, setup),
		cmocka_unit_test_setup(its_own_registration_comes_first, setup),
		cmocka_unit_test_setup(data_points_in, setup),
		cmocka_unit_test_setup(events_resumed_it_there, setup),
		cmocka_unit_test_setup(a_polled_set_takes_both, setup),
		cmocka_unit_test_setup(a_context_counts_unless_another_is_known, setup),
		cmocka_unit_test_setup(who_was_served_may_be_done, setup),
		cmocka_unit_test_setup(who_sent_for_one_turn, setup),
		cmocka_unit_test_setup(who_left_some_of_what_was_registered_once, setup),
		cmocka_unit_test_setup(who_left_some_of_an_edge, setup),
		cmocka_unit_test_setup(timers_of_others, setup),
		cmocka_unit_test_setup(the_timer_of_its_last_slice, setup),
		cmocka_unit_test_setup(its_own_registration_is_firm, setup),
		cmocka_unit_test_setup(where_an_event_resumed_it_is_firm, setup),
		cmocka_unit_test_setup(what_another_registered_for_it_is_firm, setup),
		cmocka_unit_test_setup(what_another_registered_for_who_tried_alone_is_firm, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
