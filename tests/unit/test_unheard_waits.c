// SPDX-License-Identifier: MIT
//
// Who is not healthy, though registered: what it waits for is there, and nothing tells it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tables.h"
#include "trace/manifest.h"

#define S 1000000000ULL
enum { ID = 41 };

static struct tables t;
static struct ctp_fd *f;
static struct ctp_state *s;
static struct ctp_wait *wait;
static struct descriptor asked;

// It waits since 10 s for a connection that is registered; at 13 s and 15 s there was something to read.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	s = tables_suspended(&t, ID, 5, 10 * S);
	wait = tables_wait(s, 7, 1, CTP_WAIT_EAGAIN);
	f = tables_fd(&t, 7, 1);
	f->reg_epfd = 3;
	asked = (struct descriptor){.fd = 7, .gen = 1, .asked = true, .ready = true, .unread = 2, .ready_ns = 13 * S, .ns = 15 * S};
	t.image.descriptors = (struct descriptors){.v = &asked, .n = 1};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	t.image.descriptors = (struct descriptors){0};
	tables_close(&t);
	return 0;
}

static void healthy(uint64_t n)
{
	tables_index(&t);
	image_settle_unheard(&t.image, &t.world.manifest);
	assert_int_equal(t.image.counts.healthy, n);
	assert_int_equal((t.image.row_flags[0] & IMAGE_ROW_UNHEARD) != 0, !n);
}

static void it_is_there_for_long(void **state)
{
	(void)state;
	healthy(0);
}

static void it_came_just_now(void **state)
{
	(void)state;
	asked.ready_ns = 15 * S - S / 2;
	healthy(1);
}

static void it_is_not_there(void **state)
{
	(void)state;
	asked.ready_ns = 0;
	healthy(1);
}

static void it_was_there_before_it_suspended(void **state)
{
	(void)state;
	asked.ready_ns = 9 * S;
	healthy(1);
}

static void an_event_has_told(void **state)
{
	(void)state;
	f->event_time = 11 * S;
	healthy(1);
}

static void it_waits_to_write(void **state)
{
	(void)state;
	wait->events = EPOLLOUT;
	f->reg_events = EPOLLOUT;
	healthy(1);
}

static void it_listens(void **state)
{
	(void)state;
	f->flags = CTP_FD_LISTENS;
	healthy(1);
}

static void it_said_nothing_but_reads_this(void **state)
{
	(void)state;
	s->nwaits = 0;
	f->adder = ID;
	f->last_in = ID;
	healthy(0);
}

static void it_said_nothing_and_another_reads_this(void **state)
{
	(void)state;
	s->nwaits = 0;
	f->adder = ID;
	f->last_in = ID | CTP_FD_SEVERAL;
	healthy(1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(it_is_there_for_long), TEST(it_came_just_now), TEST(it_is_not_there), TEST(it_was_there_before_it_suspended),
					   TEST(an_event_has_told), TEST(it_waits_to_write), TEST(it_listens), TEST(it_said_nothing_but_reads_this),
					   TEST(it_said_nothing_and_another_reads_this)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
