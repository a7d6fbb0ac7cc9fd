// SPDX-License-Identifier: MIT
//
// What leads to a coroutine: two stacks in the memory of a process that has nothing else.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/epoll.h>
#include <sys/syscall.h>

#include "fake_image.h"
#include "find/lost.h"

enum { STACK = 0x400, OTHER = 0x800, STACK_BYTES = 0x400, LIVE = 0x200, HOLDER = 0x100 };

static struct fake_image f;
static struct context v[2];
static struct contexts c;
static struct image_thread thread;

static uint64_t at(unsigned offset)
{
	return (uintptr_t)f.data + offset;
}

static void hold(unsigned offset, uint64_t word)
{
	memcpy(f.data + offset, &word, sizeof(word));
}

static struct context suspended(unsigned stack)
{
	struct context x = {.id = at(stack), .lo = at(stack), .hi = at(stack + STACK_BYTES), .kind = SHAPE_ASSEMBLY};
	x.regs[CTP_REG_SP] = at(stack + LIVE);
	return x;
}

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	v[0] = suspended(STACK);
	v[1] = suspended(OTHER);
	c = (struct contexts){.image = &f.image, .v = v, .n = 2};
	thread = (struct image_thread){.tid = 1, .placed = true, .whole = true, .nr = -1};
	f.image.threads = &thread;
	f.image.nthreads = 1;
	return 0;
}

static int close_image(void **state)
{
	fake_image_close(&f);
	return 0;
}

// In two bits: which of them is reached, with these words that the kernel holds.
static unsigned reached_by(const uint64_t *held, size_t n)
{
	struct lost l;
	assert_int_equal(lost_mark(&l, &c, held, n), 0);
	assert_null(l.undecided);
	unsigned is = l.reached[0] | l.reached[1] << 1;
	lost_deinit(&l);
	return is;
}

static unsigned reached(void)
{
	return reached_by(NULL, 0);
}

static void by_a_word_of_memory(void **state)
{
	assert_int_equal(reached(), 0);
	hold(HOLDER, at(STACK + 8));
	assert_int_equal(reached(), 1);
	hold(HOLDER, at(STACK) - 1); // beside it
	assert_int_equal(reached(), 0);
	hold(HOLDER, at(OTHER + STACK_BYTES - 1));
	assert_int_equal(reached(), 2);
	hold(HOLDER + 3, at(STACK + 16)); // in a packed structure
	assert_int_equal(reached() & 1, 1);
}

static void by_another_ones_stack(void **state)
{
	hold(STACK + LIVE + 16, at(OTHER + 8));
	assert_int_equal(reached(), 0); // nothing leads to that one
	hold(HOLDER, at(STACK));
	assert_int_equal(reached(), 3);
	hold(STACK + LIVE + 16, 0);
	hold(STACK + LIVE - 16, at(OTHER + 8)); // what was left there is dead
	assert_int_equal(reached(), 1);
	v[0].shape.saved = at(STACK + LIVE - 32); // but for what the switch has stored below
	assert_int_equal(reached(), 3);
}

static void by_its_own_stack_alone_is_not(void **state)
{
	hold(STACK + LIVE + 8, at(STACK + 8));
	hold(OTHER + LIVE + 8, at(STACK + 8));
	hold(STACK + LIVE + 24, at(OTHER + 8));
	assert_int_equal(reached(), 0);
}

static void by_a_disguised_word(void **state)
{
	const uint64_t guard = 0x1122334455667788;
	uint64_t is = at(OTHER + 32) ^ guard;
	hold(HOLDER, is << 17 | is >> 47);
	assert_int_equal(reached(), 0);
	f.image.guard = guard;
	assert_int_equal(reached(), 2);
	hold(OTHER + LIVE + 8, (at(STACK) ^ guard) << 17 | (at(STACK) ^ guard) >> 47); // on a stack
	assert_int_equal(reached(), 3);
}

static void by_what_the_kernel_holds(void **state)
{
	const uint64_t held[] = {5, at(STACK)};
	assert_int_equal(reached_by(held, 1), 0);
	assert_int_equal(reached_by(held, 2), 1);
}

static void by_a_register(void **state)
{
	thread.regs[CTP_REG_S3] = at(OTHER);
	assert_int_equal(reached(), 2);
	thread.regs[CTP_REG_S3] = 0;
	thread.nr = SYS_read;
	thread.args[1] = at(STACK);
	assert_int_equal(reached(), 1);
	thread.scratch[2] = at(OTHER);
	assert_int_equal(reached(), 3);
}

// The events that an epoll_wait will fill in are those of the last one.
static void an_array_of_events_is_dead(void **state)
{
	hold(HOLDER + 4, at(STACK));
	thread.nr = SYS_epoll_wait;
	thread.args[1] = at(HOLDER);
	thread.args[2] = 1;
	assert_int_equal(reached(), 0);
	hold(HOLDER + 12, at(STACK)); // behind it
	assert_int_equal(reached(), 1);
}

static void by_where_it_lies(void **state)
{
	v[0].shape.block = at(HOLDER); // below its stack, in one mapping
	assert_int_equal(reached(), 0);
	f.maps[1].path = f.path; // in static storage
	assert_int_equal(reached(), 1);
	v[0].shape.block = at(STACK + LIVE); // on its own stack
	assert_int_equal(reached(), 0);
	v[0].shape.block = at(OTHER + LIVE); // on the other's
	assert_int_equal(reached(), 0);
	v[0].shape.block = 0;
	v[1].state = CONTEXT_RUNNING;
	assert_int_equal(reached(), 2);
	v[1].state = CONTEXT_SUSPENDED;
	v[1].hi = v[1].lo = 0; // nobody knows what leads there
	assert_int_equal(reached(), 2);
}

static void says_what_is_not_known(void **state)
{
	struct lost l;
	thread.whole = thread.placed = false;
	assert_int_equal(lost_mark(&l, &c, NULL, 0), 0);
	assert_non_null(l.undecided);
	assert_non_null(strstr(l.undecided, "a thread runs"));
	lost_deinit(&l);
	thread.whole = thread.placed = true;
	strcpy(c.partial, "not all was looked at");
	assert_int_equal(lost_mark(&l, &c, NULL, 0), 0);
	assert_string_equal(l.undecided, "not all was looked at");
	lost_deinit(&l);
}

static void by_a_registration_that_can_fire(void **state)
{
	assert_true(lost_row_leads(EPOLLIN | EPOLLONESHOT | EPOLLET));
	assert_true(lost_row_leads(EPOLLERR | EPOLLHUP)); // the kernel's, of one that is armed for nothing
	assert_false(lost_row_leads(EPOLLONESHOT));
	assert_false(lost_row_leads(EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE | EPOLLWAKEUP));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_image, close_image)
		TEST(by_a_word_of_memory),	    TEST(by_another_ones_stack), TEST(by_its_own_stack_alone_is_not),
		TEST(by_a_disguised_word),	    TEST(by_what_the_kernel_holds), TEST(by_a_register),
		TEST(an_array_of_events_is_dead), TEST(by_where_it_lies),	 TEST(says_what_is_not_known),
		TEST(by_a_registration_that_can_fire),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
