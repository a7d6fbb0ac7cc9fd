// SPDX-License-Identifier: MIT
//
// CTP002 of loops that poll: a coroutine whose descriptor was polled after it suspended and is in no
// set now, and what is left when one condition is taken away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/pass/unpolled.h"
#include "tables.h"

#define SECOND 1000000000ull
// It suspended, the descriptor was polled, the thread went to sleep without it, the tables were copied.
enum { SUSPENDED = 1000, POLLED = 2000, SLEEPS = 3000, COPIED = 100000000 };

static struct tables t;
static struct ctp_state *s;
static struct ctp_wait *wait_of;
static struct ctp_fd *f;
static struct ctp_thread *th;
static struct results out;

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	s = tables_suspended(&t, 41, 5, SUSPENDED);
	wait_of = tables_wait(s, 7, 3, CTP_WAIT_EAGAIN);
	f = tables_fd(&t, 7, 3);
	f->polled = POLLED;
	f->learned = 41;
	f->learned_stack = 5;
	f->event_time = SUSPENDED - 100;
	th = tables_thread(&t, 0, 1);
	th->sets = 2;
	th->wait_seq = 1;
	th->wait_call = CTP_IN_POLL;
	th->wait_timeout_ns = -1;
	th->wait_since = SLEEPS;
	t.image.ext_table.time = COPIED;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static enum verdict verdict(void)
{
	tables_index(&t);
	assert_int_equal(unpolled_find(pass_find("CTP002"), &t.world, &t.image, &out), 0);
	assert_true(out.ncases <= 1);
	return out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
}

static void all_holds(void **state)
{
	(void)state;
	assert_int_equal(verdict(), VERDICT_SUSPECT); // it may be paused: nobody has searched memory
	assert_int_equal(out.cases[0].id, 41);
	assert_int_equal(out.cases[0].fd, 7);
	assert_int_equal(out.cases[0].gen, 3);
	assert_int_equal(out.cases[0].proof.items[PROOF_P2].holds, HOLDS_TRUE);
	assert_int_equal(out.cases[0].proof.items[PROOF_P6A].holds, HOLDS_OPEN);
}

// ------------------------------------------------------------- the descriptor

static void it_is_in_the_set_of_a_thread_that_sleeps(void **state)
{
	(void)state;
	f->polled = SLEEPS; // as of the wait in which the thread is
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_was_not_polled_since(void **state)
{
	(void)state;
	f->polled = SUSPENDED - 1;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_was_polled_for_the_other_direction(void **state)
{
	(void)state;
	wait_of->events = EPOLLOUT;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_is_closed(void **state)
{
	(void)state;
	f->life = CTP_FD_CLOSED;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_is_another_generation(void **state)
{
	(void)state;
	f->gen = 4;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_is_registered(void **state)
{
	(void)state;
	f->reg_epfd = 4;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void an_event_came_since(void **state)
{
	(void)state;
	f->event_time = SUSPENDED + 1;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void another_registration_leads_to_it(void **state)
{
	struct ctp_fd *other = tables_fd(&t, 8, 1);
	(void)state;
	other->reg_epfd = 4;
	other->adder = 41;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void another_woke_it_elsewhere(void **state)
{
	struct ctp_fd *other = tables_fd(&t, 8, 1);
	(void)state;
	other->reg_epfd = 4;
	other->learned = 41;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

// ------------------------------------------------------------- the threads

static void a_thread_is_awake(void **state)
{
	(void)state;
	th->wait_seq = 2;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void a_thread_entered_its_wait_before_the_descriptor_was_polled(void **state)
{
	struct ctp_thread *second = tables_thread(&t, 1, 2);
	(void)state;
	*second = *th; // it waits by epoll: what it polled says nothing of it
	second->sets = 0;
	second->polls = 1;
	second->wait_call = CTP_IN_EPOLL;
	second->wait_since = POLLED;
	assert_int_equal(verdict(), VERDICT_NONE);
}

// The one that polled it is gone, or waits by epoll now: whether it would poll it again is not known.
static void no_thread_sleeps_with_a_set(void **state)
{
	(void)state;
	th->sets = 0;
	th->polls = 1;
	th->wait_call = CTP_IN_EPOLL;
	f->learned = 0; // else that it may be polled is a registration that leads to it
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void a_thread_has_only_just_gone_to_sleep(void **state)
{
	(void)state;
	t.image.ext_table.time = SLEEPS + 1;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void a_loop_with_a_timeout_gets_a_second(void **state)
{
	(void)state;
	th->wait_timeout_ns = 5;
	assert_int_equal(verdict(), VERDICT_NONE);
	results_deinit(&out);
	image_close(&t.image);
	setup(state);
	th->wait_timeout_ns = 5;
	t.image.ext_table.time = POLLED + SECOND + 1;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

// ------------------------------------------------------------- the coroutine

static void only_a_try_is_known(void **state)
{
	(void)state;
	f->learned = 0;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void it_did_not_try_but_was_resumed_there(void **state)
{
	(void)state;
	s->nwaits = 0;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	assert_int_equal(out.cases[0].proof.items[PROOF_P2].holds, HOLDS_OPEN);
}

static void it_stands_elsewhere(void **state)
{
	(void)state;
	s->nwaits = 0;
	f->learned_stack = 6;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void events_of_a_listener_start_others(void **state)
{
	(void)state;
	s->nwaits = 0;
	f->flags = CTP_FD_LISTENS;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_waits_for_two(void **state)
{
	(void)state;
	tables_fd(&t, 8, 1);
	tables_wait(s, 8, 1, CTP_WAIT_EAGAIN);
	assert_int_equal(verdict(), VERDICT_NONE);
}

// ------------------------------------------------------------- the program

static void it_resumes_waiters_by_hand(void **state)
{
	(void)state;
	t.world.counts.hand = 1;
	tables_index(&t);
	t.world.counts.hand = 1;
	assert_int_equal(unpolled_find(pass_find("CTP002"), &t.world, &t.image, &out), 0);
	assert_int_equal(out.ncases, 1);
	assert_int_equal(out.cases[0].proof.verdict, VERDICT_SUSPECT);
}

static void tables_with_gaps_show_nothing(void **state)
{
	(void)state;
	t.image.ext.gaps = CTP_GAP_FDS;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_ends(void **state)
{
	(void)state;
	t.image.ext.exit_begun = SLEEPS;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_was_told_to_end(void **state)
{
	(void)state;
	t.image.ext.signal_taken = SLEEPS;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_drains(void **state)
{
	(void)state;
	t.image.ext.listener_closed = 1;
	assert_int_equal(verdict(), VERDICT_NONE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_holds),
		TEST(it_is_in_the_set_of_a_thread_that_sleeps),
		TEST(it_was_not_polled_since),
		TEST(it_was_polled_for_the_other_direction),
		TEST(it_is_closed),
		TEST(it_is_another_generation),
		TEST(it_is_registered),
		TEST(an_event_came_since),
		TEST(another_registration_leads_to_it), TEST(another_woke_it_elsewhere),
		TEST(a_thread_is_awake),
		TEST(a_thread_entered_its_wait_before_the_descriptor_was_polled),
		TEST(no_thread_sleeps_with_a_set),
		TEST(a_thread_has_only_just_gone_to_sleep),
		TEST(a_loop_with_a_timeout_gets_a_second),
		TEST(only_a_try_is_known),
		TEST(it_did_not_try_but_was_resumed_there),
		TEST(it_stands_elsewhere),
		TEST(events_of_a_listener_start_others),
		TEST(it_waits_for_two),
		TEST(it_resumes_waiters_by_hand),
		TEST(tables_with_gaps_show_nothing),
		TEST(it_ends),
		TEST(it_was_told_to_end),
		TEST(it_drains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
