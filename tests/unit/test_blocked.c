// SPDX-License-Identifier: MIT
//
// How long a coroutine's thread was in a call (guest/blocked.c), over a fake guest: what is told, and what is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>

#include "fake_guest.h"
#include "preload/guest/blocked.h"
#include "preload/guest/real.h"

static int fd[2];
static ssize_t (*libc_read)(int fd, void *buf, size_t n);
static uint64_t lasts; // ticks, of the next read
static struct ctp_state *comes;  // and who runs when it has returned

static ssize_t slow_read(int from, void *buf, size_t n)
{
	ssize_t r = libc_read(from, buf, n);
	fake_guest_later(lasts);
	if (comes) {
		fake_guest_switch(comes);
		fake_guest_switch(co);
		self.slice = self.slice_fresh; // as each switch does
	}
	return r;
}

static int (*libc_poll)(struct pollfd *fds, nfds_t n, int timeout);

static int slow_poll(struct pollfd *fds, nfds_t n, int timeout)
{
	int r = libc_poll(fds, n, timeout);
	fake_guest_later(3 * BLOCKED_TICKS);
	return r;
}

static int setup(void **state)
{
	int r = fake_guest_setup(state);
	blockeds = 0;
	comes = NULL;
	blocked_event.info.u.by.on = CTP_EVENT_ON_RECORDED;
	real_read(-1, NULL, 0); // each is found at its first call
	real_poll(NULL, 0, 0);
	libc_read = real_read;
	real_read = slow_read;
	libc_poll = real_poll;
	real_poll = slow_poll;
	return r ? r : pipe(fd);
}

static int teardown(void **state)
{
	traced = false;
	real_read = libc_read;
	real_poll = libc_poll;
	blocked_event.info.u.by.on = 0;
	close(fd[0]);
	close(fd[1]);
	return fake_guest_teardown(state);
}

static void reads(uint64_t ticks)
{
	char c = 0;
	lasts = ticks;
	assert_int_equal(write(fd[1], &c, 1), 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
}

static void long_call_is_told(void **state)
{
	(void)state;
	reads(5 * BLOCKED_TICKS);
	assert_int_equal(blockeds, 1);
	assert_in_range(blocked_ticks, 5 * BLOCKED_TICKS, 5 * BLOCKED_TICKS + 10);
	assert_string_equal(blocked_in, "io");
	assert_int_equal(blocked_stack, 7);
	assert_false(self.timed);
}

static void short_call_is_not(void **state)
{
	(void)state;
	reads(BLOCKED_TICKS / 2);
	assert_int_equal(blockeds, 0);
	assert_false(self.timed);
}

static void call_in_which_others_ran_is_not(void **state)
{
	(void)state;
	comes = other;
	reads(5 * BLOCKED_TICKS);
	assert_int_equal(blockeds, 0);
}

static void call_that_does_not_block_is_not(void **state)
{
	(void)state;
	ctp_self = &self; // it is not asked of a thread that has none
	tracer.region.fds[fd[0]].flags |= CTP_FD_NONBLOCK;
	reads(5 * BLOCKED_TICKS);
	ctp_self = NULL;
	assert_int_equal(blockeds, 0);
}

static void nothing_is_told_where_nobody_listens(void **state)
{
	(void)state;
	blocked_event.info.u.by.on = 0;
	reads(5 * BLOCKED_TICKS);
	assert_int_equal(blockeds, 0);
	assert_false(self.timed);
	blocked_event.info.u.by.on = CTP_EVENT_ON_PROBED; // taken, and not recorded
	reads(5 * BLOCKED_TICKS);
	assert_int_equal(blockeds, 0);
	assert_false(self.timed);
}

// Its loop's own sleep has a record of its own; that of a thread that never switched has none.
static void polls_are_told_once(void **state)
{
	(void)state;
	struct pollfd p = {.fd = fd[0], .events = POLLIN};
	struct ctp_state nobody = {.entity = CTP_NATIVE};
	self.native = other;
	other->entity = CTP_NATIVE;
	self.current = other;
	assert_int_equal(poll(&p, 1, 1), 0);
	assert_int_equal(sleeps, 1);
	assert_int_equal(blockeds, 0);
	self.current = self.native = &nobody; // id 0
	assert_int_equal(poll(&p, 1, 1), 0);
	assert_int_equal(sleeps, 1);
	assert_int_equal(blockeds, 1);
	assert_string_equal(blocked_in, "poll");
	assert_int_equal(poll(&p, 1, 0), 0); // a look
	assert_int_equal(blockeds, 1);
}

static void goes_with_tasks_alone(void **state)
{
	(void)state;
	struct blocked_event e = {.text = "ctp\0task_begin\0file"};
	assert_true(blocked_goes_with(&e.info));
	e = (struct blocked_event){.text = "ctp\0task_beginner\0file"};
	assert_false(blocked_goes_with(&e.info));
	assert_false(blocked_goes_with(&blocked_event.info));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(long_call_is_told, setup, teardown),
		cmocka_unit_test_setup_teardown(short_call_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(call_in_which_others_ran_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(call_that_does_not_block_is_not, setup, teardown),
		cmocka_unit_test_setup_teardown(nothing_is_told_where_nobody_listens, setup, teardown),
		cmocka_unit_test_setup_teardown(polls_are_told_once, setup, teardown),
		cmocka_unit_test(goes_with_tasks_alone),
	};
	return cmocka_run_group_tests_name("blocked", tests, NULL, NULL);
}
