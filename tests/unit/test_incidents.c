// SPDX-License-Identifier: MIT
//
// What the hooks note of numbers that are no longer what they were (fd_bad.c),
// of reads of what another waits for (fd_taken.c), and of wakeups in vain (fd_spurious.c): the real hooks under a fake guest.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "fake_guest.h"
#include "preload/guest/real.h"

static struct ctp_fd *entry(int fd)
{
	return &tracer.region.fds[fd];
}

// The n-th incident of a rule; NULL if there are not so many.
static const struct ctp_incident *incident(unsigned rule, unsigned n)
{
	for (uint32_t i = 0; i < tracer.region.incidents_max; i++) {
		const struct ctp_incident *e = &tracer.region.incidents[i];
		if (e->ready == CTP_CAND_READY && e->rule == rule && n-- == 0)
			return e;
	}
	return NULL;
}

static void run(struct ctp_state *s)
{
	if (self.current != s)
		fake_guest_switch(s);
}

// ------------------------------------------------------------- closed before

static void closes_twice(void **state)
{
	(void)state;
	int fd = open("/dev/null", O_RDONLY);
	close(fd);
	run(other);
	errno = 0;
	assert_int_equal(close(fd), -1);
	assert_int_equal(errno, EBADF);
	const struct ctp_incident *i = incident(24, 0);
	assert_non_null(i);
	assert_int_equal(i->who, other->id);
	assert_int_equal(i->other, co->id);
	assert_int_equal(i->other_stack, 7);
	assert_int_equal(i->fd, fd);
	assert_int_equal(i->gen, 1);
	assert_int_equal(i->flags, CTP_BAD_CLOSE);
	assert_int_equal(i->call, CTP_CALL_CLOSE);
	close(fd);
	assert_int_equal(i->count, 2);
	assert_null(incident(24, 1));
}

static void never_open(void **state)
{
	(void)state;
	close(-1);
	close(700);
	char c;
	assert_int_equal(read(701, &c, 1), -1);
	assert_null(incident(24, 0));
}

static void loops_are_told(void **state)
{
	(void)state;
	int fd[4];
	for (int i = 0; i < 4; i++)
		fd[i] = open("/dev/null", O_RDONLY);
	close(fd[1]);
	run(other);
	for (int i = 0; i < 4; i++)
		close(fd[i]);
	const struct ctp_incident *i = incident(24, 0);
	assert_non_null(i); // the pass finds the numbers beside it in the table
	for (int k = 0; k < 4; k++)
		close(fd[k]);
	assert_true(i->value[0] >= 3);
}

static void uses_closed(void **state)
{
	(void)state;
	char c;
	struct epoll_event ev = {.events = EPOLLIN};
	int fd[2], ep = epoll_create1(0);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	close(fd[0]);
	run(other);
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(incident(24, 0)->flags, CTP_BAD_IO);
	assert_int_equal(incident(24, 0)->count, 1);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_DEL, fd[0], NULL), -1); // many do so
	assert_int_equal(incident(24, 0)->count, 1);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(incident(24, 0)->count, 2);
	close(fd[1]);
	close(ep);
}

// Who waited for it when it was closed, and is resumed, is told so by EBADF.
static void is_told(void **state)
{
	(void)state;
	char c;
	int fd[2];
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	read(fd[0], &c, 1);
	run(other);
	close(fd[0]);
	run(co);
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_null(incident(24, 0));
	close(fd[1]);
}

// ------------------------------------------------------------- another generation

// `co` waits for a pipe; `by` closes it and opens another with the same numbers.
static void replaced(int fd[2], struct ctp_state *by)
{
	char c;
	int again[2];
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	read(fd[0], &c, 1);
	run(other);
	run(by);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(pipe2(again, O_NONBLOCK), 0);
	assert_int_equal(again[0], fd[0]);
}

static void reads_anothers(void **state)
{
	(void)state;
	char c;
	int fd[2];
	replaced(fd, other);
	read(fd[0], &c, 1); // and waits for it
	assert_null(incident(6, 0));
	run(co);
	write(fd[1], "x", 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
	const struct ctp_incident *i = incident(6, 0);
	assert_non_null(i);
	assert_int_equal(i->who, co->id);
	assert_int_equal(i->gen, 2);
	assert_int_equal(i->value[0], 1);
	assert_int_equal(i->value[1], other->id);
	assert_int_equal(i->value[2], other->id);
	assert_int_equal(i->other, other->id);
	assert_null(incident(6, 1));
	close(fd[0]);
	close(fd[1]);
}

static void reopens_its_own(void **state)
{
	(void)state;
	char c;
	int fd[2];
	struct ctp_state *third = fake_guest_state(3, CTP_COROUTINE);
	replaced(fd, co);
	read(fd[0], &c, 1);
	run(third);
	run(co);
	read(fd[0], &c, 1);
	assert_null(incident(6, 0));
	close(fd[0]);
	close(fd[1]);
}

// ------------------------------------------------------------- read by another

// `co` waits for a pipe by a registration of its own, and `other` reads what came.
static void taken(int fd[2], bool registers)
{
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	run(co);
	assert_int_equal(read(fd[0], &c, 1), -1);
	entry(fd[0])->reg_by = registers ? co->id : other->id;
	run(other);
	write(fd[1], "x", 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
}

static void anothers_read_is_noted(void **state)
{
	(void)state;
	int fd[2];
	char c;
	taken(fd, true);
	const struct ctp_incident *i = incident(9, 0);
	assert_non_null(i);
	assert_int_equal(i->who, co->id);
	assert_int_equal(i->other, other->id);
	assert_int_equal(i->fd, fd[0]);
	assert_int_equal(i->gen, entry(fd[0])->gen);
	assert_int_equal(i->other_time, co->since);
	assert_true(i->value[0] > co->since);
	assert_int_equal(i->value[1], other->id);
	run(co);
	write(fd[1], "x", 1);
	assert_int_equal(read(fd[0], &c, 1), 1); // its own
	assert_int_equal(i->count, 1);
	assert_null(incident(9, 1));
	close(fd[0]);
	close(fd[1]);
}

static void anothers_registration_is_no_wait_of_its_own(void **state)
{
	(void)state;
	int fd[2];
	taken(fd, false);
	assert_null(incident(9, 0));
	close(fd[0]);
	close(fd[1]);
}

static void of_several_waiters_one_reads(void **state)
{
	(void)state;
	int fd[2];
	char c;
	struct ctp_state *third = fake_guest_state(3, CTP_COROUTINE);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	run(third);
	assert_int_equal(read(fd[0], &c, 1), -1);
	run(co);
	assert_int_equal(read(fd[0], &c, 1), -1);
	entry(fd[0])->reg_by = co->id;
	run(other);
	write(fd[1], "x", 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
	assert_null(incident(9, 0));
	close(fd[0]);
	close(fd[1]);
}

// It is suspended elsewhere by then, or has nothing to do with it any more.
static void who_does_not_wait_loses_nothing(void **state)
{
	(void)state;
	int fd[2];
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	run(co);
	assert_int_equal(read(fd[0], &c, 1), -1);
	entry(fd[0])->reg_by = co->id;
	run(other);
	run(co);
	run(other);
	write(fd[1], "x", 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
	assert_null(incident(9, 0));
	close(fd[0]);
	close(fd[1]);
}

static void the_end_is_not_taken(void **state)
{
	(void)state;
	int fd[2];
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	run(co);
	assert_int_equal(read(fd[0], &c, 1), -1);
	entry(fd[0])->reg_by = co->id;
	run(other);
	close(fd[1]);
	assert_int_equal(read(fd[0], &c, 1), 0);
	assert_null(incident(9, 0));
	close(fd[0]);
}

// ------------------------------------------------------------- woken in vain

static int busy[2];

// An event resumes it, it tries, and suspends.
static void wakes(struct ctp_state *s, bool event)
{
	char c;
	if (event)
		entry(busy[0])->event_time = guest_now();
	run(s);
	read(busy[0], &c, 1);
	run(other);
}

static void counts_busy(void **state)
{
	(void)state;
	assert_int_equal(pipe2(busy, O_NONBLOCK), 0);
	for (int i = 0; i < 100; i++) // the first suspends, and was not woken
		wakes(co, true);
	assert_null(incident(22, 0));
	wakes(co, true);
	assert_non_null(incident(22, 0));
	assert_int_equal(incident(22, 0)->value[0], 100);
	for (int i = 0; i < 100; i++)
		wakes(co, true);
	assert_int_equal(incident(22, 0)->value[0], 200);
	close(busy[0]);
	close(busy[1]);
}

static void polls_and_successes_do_not_count(void **state)
{
	(void)state;
	assert_int_equal(pipe2(busy, O_NONBLOCK), 0);
	for (int i = 0; i < 300; i++)
		wakes(co, false);
	for (int i = 0; i < 300; i++) {
		if (i % 50 == 0)
			write(busy[1], "x", 1);
		wakes(co, true);
	}
	assert_null(incident(22, 0));
	close(busy[0]);
	close(busy[1]);
}

static void counts_herds(void **state)
{
	(void)state;
	struct ctp_state *herd[5];
	assert_int_equal(pipe2(busy, O_NONBLOCK), 0);
	for (int i = 0; i < 5; i++)
		wakes(herd[i] = fake_guest_state(3 + (uint32_t)i, CTP_COROUTINE), false);
	for (int round = 0; round < 2; round++) {
		write(busy[1], "x", 1);
		for (int i = 0; i < 5; i++)
			wakes(herd[i], true);
		wakes(herd[0], false);
		assert_int_equal(incident(23, 0) != NULL, true);
		assert_int_equal(incident(23, 0)->value[0] >> 16, 4);
		assert_int_equal(incident(23, 0)->value[0] & 0xffff, round + 1);
	}
	assert_null(incident(22, 0));
	close(busy[0]);
	close(busy[1]);
}

static void three_are_no_herd(void **state)
{
	(void)state;
	struct ctp_state *few[4];
	assert_int_equal(pipe2(busy, O_NONBLOCK), 0);
	for (int i = 0; i < 4; i++)
		wakes(few[i] = fake_guest_state(3 + (uint32_t)i, CTP_COROUTINE), false);
	for (int round = 0; round < 5; round++) {
		write(busy[1], "x", 1);
		for (int i = 0; i < 4; i++)
			wakes(few[i], true);
	}
	assert_null(incident(23, 0));
	close(busy[0]);
	close(busy[1]);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_guest_setup, fake_guest_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(closes_twice), TEST(never_open), TEST(loops_are_told), TEST(uses_closed), TEST(is_told),
		TEST(reads_anothers), TEST(reopens_its_own), TEST(anothers_read_is_noted),
		TEST(anothers_registration_is_no_wait_of_its_own),
		TEST(of_several_waiters_one_reads),
		TEST(who_does_not_wait_loses_nothing),
		TEST(the_end_is_not_taken),
		TEST(counts_busy),
		TEST(polls_and_successes_do_not_count), TEST(counts_herds), TEST(three_are_no_herd),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
