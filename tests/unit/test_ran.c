// SPDX-License-Identifier: MIT
//
// Who ran at a time: by the switches, and near them by the stack.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/record/ran.h"

enum { TID = 77, NATIVE = 1, SLACK = 10 };

static struct ctp_region region;
static const struct ctp_region *const present = &region;
static struct ctp_thread threads[2];

// Switches of the thread, each to an entity at a time.
static void see(struct ran *r, struct ctp_cursor *c, const uint64_t (*turns)[2], uint32_t n)
{
	struct ctp_record slots[16] = { { 0 } };
	for (uint32_t i = 0; i < n; i++)
		slots[i] = (struct ctp_record){ .w0 = (CTP_EV_SHORT + CTP_HOW_SWAP) | turns[i][0] << 8,
						.w1 = turns[i][1] == NATIVE ? CTP_SHORT_NATIVE : turns[i][1] - c->near };
	struct writer_batch b = { .tid = TID, .slots = slots, .n = n, .records = n, .start = *c };
	ran_see(r, &b);
	for (uint32_t i = 0; i < n; i++)
		ctp_cursor_pass(c, slots + i);
}

static struct ran *begin(struct ctp_cursor *c)
{
	threads[0] = (struct ctp_thread){ .tid = TID, .life = CTP_THREAD_LIVE };
	region.threads = threads;
	*c = (struct ctp_cursor){ .native = NATIVE, .current = NATIVE };
	return ran_new(&present);
}

static void by_time(void **state)
{
	(void)state;
	struct ctp_cursor c;
	struct ran *r = begin(&c);
	assert_int_equal(ran_at(r, TID, 50, SLACK, 0), 0);
	static const uint64_t turns[][2] = { { 100, 5 }, { 200, 6 }, { 300, NATIVE } };
	see(r, &c, turns, 3);
	assert_int_equal(ran_at(r, TID, 50, SLACK, 0), NATIVE);
	assert_int_equal(ran_at(r, TID, 150, SLACK, 0), 5);
	assert_int_equal(ran_at(r, TID, 250, SLACK, 0), 6);
	assert_int_equal(ran_at(r, TID, 99999, SLACK, 0), NATIVE);
	assert_int_equal(ran_at(r, TID + 1, 150, SLACK, 0), 0);
	ran_forget(r, 250);
	assert_int_equal(ran_at(r, TID, 250, SLACK, 0), 6);
	static const uint64_t more[][2] = { { 400, 5 } };
	see(r, &c, more, 1);
	assert_int_equal(ran_at(r, TID, 350, SLACK, 0), NATIVE);
	assert_int_equal(ran_at(r, TID, 450, SLACK, 0), 5);
	threads[0].life = CTP_THREAD_FREE;
	ran_forget(r, 500);
	assert_int_equal(ran_at(r, TID, 450, SLACK, 0), 0);
	ran_free(r);
}

// Coroutines 5, 6 and 7 of the table of states; their stacks lie one after the other.
enum { STACK_BYTES = 0x1000, FIRST = 5, COROUTINES = 3 };
static struct ctp_state states[COROUTINES];
static struct ctp_header header;

static uint64_t stack_of(uint64_t who)
{
	return 0x10000 + (who - FIRST) * STACK_BYTES;
}

static struct ran *begin_with_stacks(struct ctp_cursor *c)
{
	for (uint64_t i = 0; i < COROUTINES; i++)
		states[i] = (struct ctp_state){ .id = FIRST + i, .entity = CTP_COROUTINE, .lo = stack_of(FIRST + i),
						.hi = stack_of(FIRST + i) + STACK_BYTES };
	header.allocated_count = COROUTINES;
	region.header = &header;
	region.states = states;
	region.stations_max = COROUTINES;
	return begin(c);
}

// Three turns closer to one another than the clocks are: the stack tells, and where it tells nothing the time does.
static void by_stack(void **state)
{
	(void)state;
	struct ctp_cursor c;
	struct ran *r = begin_with_stacks(&c);
	static const uint64_t turns[][2] = { { 1000, 5 }, { 2000, 6 }, { 2004, 7 }, { 2006, 5 }, { 3000, 6 } };
	see(r, &c, turns, 5);
	for (uint64_t who = FIRST; who < FIRST + COROUTINES; who++) {
		assert_int_equal(ran_at(r, TID, 2005, SLACK, stack_of(who) + STACK_BYTES / 2), who);
		assert_int_equal(ran_at(r, TID, 2005, SLACK, stack_of(who) + STACK_BYTES), who);
	}
	assert_int_equal(ran_at(r, TID, 2005, SLACK, stack_of(FIRST)), 7); // below the lowest: on none
	assert_int_equal(ran_at(r, TID, 1500, SLACK, stack_of(6) + 8), 5); // no switch is near
	ran_free(r);
}

// On no stack that is known, but the thread's own is one of those that may be: it was that.
static void by_what_is_left(void **state)
{
	(void)state;
	struct ctp_cursor c;
	struct ran *r = begin_with_stacks(&c);
	static const uint64_t turns[][2] = { { 2000, 5 }, { 2004, NATIVE }, { 2006, 6 } };
	see(r, &c, turns, 3);
	assert_int_equal(ran_at(r, TID, 2007, SLACK, 0x7fff0000), NATIVE);
	assert_int_equal(ran_at(r, TID, 2007, SLACK, stack_of(5) + 8), 5);
	ran_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(by_time), cmocka_unit_test(by_stack),
					    cmocka_unit_test(by_what_is_left) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
