// SPDX-License-Identifier: MIT
//
// Whose timer was taken with another's: it armed it last of all, suspended without a known wait, and another disarmed
// it before it expired.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/pass/timer_taken.h"
#include "tables.h"

#define S 1000000000ULL
enum { SLEEPER = 4, OTHER = 5, TIMER = 7 };

static struct tables t;
static struct results out;
static struct ctp_state *sleeper;
static struct ctp_fd *timer;
static struct ctp_thread *loop;
static struct descriptor kernel_says;

// The sleeper suspends at 20 s, another sets the timer, the kernel was asked at 90 s, and the end is at 100 s.
static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	t.image.has_tables = true;
	t.image.snapshot_ns = 100 * S;
	sleeper = tables_suspended(&t, SLEEPER, 9, 20 * S);
	sleeper->changes = 0x307;
	sleeper->armed_in = 6;
	sleeper->armed = TIMER + 1;
	timer = tables_fd(&t, TIMER, 2);
	timer->kind = CTP_FD_TIMERFD;
	timer->opened = S;
	timer->opened_how = CTP_CALL_TIMERFD;
	timer->opener = 1;
	timer->last_out = OTHER | CTP_FD_SEVERAL;
	timer->set_stack = 11;
	loop = tables_thread(&t, 0, 1);
	loop->switches = 100;
	loop->wait_since = 99 * S;
	kernel_says = (struct descriptor){.fd = TIMER, .gen = 2, .disarmed = true, .ns = 90 * S};
	t.image.descriptors = (struct descriptors){.v = &kernel_says, .n = 1};
	return 0;
}

static int end(void **state)
{
	(void)state;
	t.image.descriptors = (struct descriptors){0};
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static size_t found(void)
{
	results_deinit(&out);
	out = (struct results){0};
	tables_index(&t);
	assert_int_equal(timer_taken(pass_find("CTP027"), &t.world, &t.image, &out), 0);
	return out.ncases;
}

#define UNLESS(change)                                                                                       \
	do {                                                                                                 \
		assert_int_equal(found(), 1);                                                                \
		change;                                                                                      \
		assert_int_equal(found(), 0);                                                                \
	} while (0)

static void named(void **state)
{
	(void)state;
	assert_int_equal(found(), 1);
	const struct verdict_case *c = &out.cases[0];
	assert_int_equal(c->id, SLEEPER);
	assert_int_equal(c->fd, TIMER);
	assert_int_equal(c->proof.verdict, VERDICT_SUSPECT);
	assert_int_equal(c->actor.id, OTHER);
	assert_int_equal(c->actor.stack, 11);
}

static void by_a_thread_without_an_id(void **state)
{
	(void)state;
	timer->last_out = CTP_FD_UNNAMED | 3 | CTP_FD_SEVERAL;
	assert_int_equal(found(), 1);
	assert_int_equal(out.cases[0].actor.id, 0);
}

static void armed_in_another_slice(void **state)
{
	(void)state;
	UNLESS(sleeper->armed_in = 7);
}

static void armed_none(void **state)
{
	(void)state;
	UNLESS(sleeper->armed = 0);
}

static void waits_for_more(void **state)
{
	(void)state;
	tables_fd(&t, 8, 1);
	UNLESS(tables_wait(sleeper, 8, 1, CTP_WAIT_EAGAIN));
}

static void is_armed(void **state)
{
	(void)state;
	UNLESS(kernel_says.disarmed = false);
}

static void was_not_asked(void **state)
{
	(void)state;
	UNLESS(kernel_says.gen = 1);
}

static void asked_too_early(void **state)
{
	(void)state;
	UNLESS(kernel_says.ns = 21 * S);
}

static void disarmed_by_itself(void **state)
{
	(void)state;
	UNLESS(timer->last_out = SLEEPER | CTP_FD_SEVERAL);
}

static void expired(void **state)
{
	(void)state;
	UNLESS(timer->event_time = 30 * S);
}

static void opened_since(void **state)
{
	(void)state;
	UNLESS(timer->opened = 30 * S);
}

static void no_timer(void **state)
{
	(void)state;
	UNLESS(timer->kind = CTP_FD_EVENTFD);
}

static void pooled(void **state)
{
	(void)state;
	UNLESS(sleeper->flags |= CTP_STATE_POOLED; sleeper->called = sleeper->stack);
}

static void no_loop_has_slept(void **state)
{
	(void)state;
	UNLESS(loop->wait_since = 19 * S);
}

static void of_another_image(void **state)
{
	(void)state;
	UNLESS(t.image.replaced = true);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(named),	       TEST(by_a_thread_without_an_id), TEST(armed_in_another_slice), TEST(armed_none),	   TEST(waits_for_more),
		TEST(is_armed),	       TEST(was_not_asked),	       TEST(asked_too_early),	     TEST(disarmed_by_itself), TEST(expired),
		TEST(opened_since),    TEST(no_timer),		       TEST(pooled),		     TEST(no_loop_has_slept),  TEST(of_another_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
