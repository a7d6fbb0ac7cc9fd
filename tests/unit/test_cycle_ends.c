// SPDX-License-Identifier: MIT
//
// Who could move a queue from inside the program: by who used its ends.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/pass/cycle.h"

enum { HERE = 10, THERE = 20 }; // descriptions: the two ends of one channel

static struct ctp_fd fds[4];
static struct cycle_end ends[4];
static struct cycle_waiter waiters[2];
static struct ctp_state sitters[2];
static struct cycle c;

static int setup(void **state)
{
	(void)state;
	memset(fds, 0, sizeof(fds));
	memset(ends, 0, sizeof(ends));
	c = (struct cycle){ .ends = ends, .v = waiters };
	return 0;
}

static struct ctp_fd *add(uint64_t desc, uint64_t last_in, uint64_t last_out)
{
	struct ctp_fd *f = &fds[c.nends];
	*f = (struct ctp_fd){ .desc = desc, .peer_desc = desc == HERE ? THERE : HERE, .last_in = last_in, .last_out = last_out };
	ends[c.nends++] = (struct cycle_end){ .desc = desc, .fd = f };
	return f;
}

static void sits(uint64_t id, const struct ctp_fd *f)
{
	sitters[c.n].id = id;
	waiters[c.n] = (struct cycle_waiter){ .state = &sitters[c.n], .fd = f };
	c.n++;
}

static void users_by_direction(void **state)
{
	(void)state;
	add(THERE, 3, 4);
	add(HERE, 1, 2);
	cycle_sort_ends(&c);
	assert_int_equal(cycle_user(&c, HERE, false), 1);
	assert_int_equal(cycle_user(&c, HERE, true), 2);
	assert_int_equal(cycle_user(&c, THERE, false), 3);
	assert_int_equal(cycle_user(&c, THERE, true), 4);
	assert_int_equal(cycle_user(&c, 15, true), 0);
}

static void two_users_are_nobody(void **state)
{
	(void)state;
	add(HERE, 1, 2);
	add(HERE, 1, 3);
	add(HERE, 0, 0); // a number that nobody used says nothing
	cycle_sort_ends(&c);
	assert_int_equal(cycle_user(&c, HERE, false), 1);
	assert_true(cycle_user(&c, HERE, true) == CYCLE_NOBODY);
}

// The library keeps one name for each direction, and notes that there were more.
static void more_users_of_one_number_are_nobody(void **state)
{
	(void)state;
	add(HERE, 1 | CTP_FD_SEVERAL, 2);
	assert_true(cycle_user(&c, HERE, false) == CYCLE_NOBODY);
	assert_int_equal(cycle_user(&c, HERE, true), 2);
}

static void a_reader_waits_for_who_wrote_at_the_other_end(void **state)
{
	struct ctp_fd *here = add(HERE, 0, 0);
	(void)state;
	add(THERE, 7, 8);
	cycle_sort_ends(&c);
	assert_int_equal(cycle_mover(&c, here, false), 8);
	assert_int_equal(cycle_mover(&c, here, true), 7); // a writer for who read there
}

// Never used in that direction: whoever uses the other end at all, or sits in a wait for it.
static void an_unused_channel_is_its_users(void **state)
{
	struct ctp_fd *here = add(HERE, 0, 0), *there = add(THERE, 7, 0);
	(void)state;
	cycle_sort_ends(&c);
	assert_int_equal(cycle_mover(&c, here, false), 7);
	there->last_in = 0;
	assert_true(cycle_mover(&c, here, false) == CYCLE_NOBODY);
	sits(9, there);
	assert_int_equal(cycle_mover(&c, here, false), 9);
	there->last_in = 7;
	assert_true(cycle_mover(&c, here, false) == CYCLE_NOBODY); // one reads, another sits
	sits(9, here); // at this end it is no matter
	there->last_in = 9;
	assert_int_equal(cycle_mover(&c, here, false), 9);
}

static void the_other_end_is_outside(void **state)
{
	struct ctp_fd *here = add(HERE, 7, 8);
	(void)state;
	here->peer_desc = 0;
	cycle_sort_ends(&c);
	assert_true(cycle_mover(&c, here, false) == CYCLE_NOBODY);
}

// An eventfd has one end: whoever writes to it.
static void a_counter_has_one_end(void **state)
{
	struct ctp_fd *f = add(HERE, 7, 8);
	(void)state;
	f->kind = CTP_FD_EVENTFD;
	f->peer_desc = 0;
	cycle_sort_ends(&c);
	assert_int_equal(cycle_mover(&c, f, false), 8);
	f->last_out = 0;
	sits(9, f); // who waits for it will not write to it
	assert_true(cycle_mover(&c, f, false) == CYCLE_NOBODY);
}

#define TEST(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(users_by_direction),
		TEST(two_users_are_nobody),
		TEST(more_users_of_one_number_are_nobody),
		TEST(a_reader_waits_for_who_wrote_at_the_other_end),
		TEST(an_unused_channel_is_its_users),
		TEST(the_other_end_is_outside),
		TEST(a_counter_has_one_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
