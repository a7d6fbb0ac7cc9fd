// SPDX-License-Identifier: MIT
//
// What counts as a wait and as a registration, behind the real hooks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>

#include "fds_entries.h"
#include "preload/fds/fd_map.h"

static void registers_harvests_learns(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = co}, got[4];
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(entry(fd[0])->reg_epfd, ep);
	assert_int_equal(entry(fd[0])->adder, co->id);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_REGISTERED);
	assert_int_equal(epoll_wait(ep, got, 4, 1), 0);
	assert_int_equal(self.thread->turns, 1);
	assert_int_equal(self.thread->wait_seq & 1, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(epoll_wait(ep, got, 4, 0), 1);
	assert_int_equal(self.thread->turns, 1);
	assert_int_equal(self.thread->polls, 2);
	assert_int_equal(self.batch_fd, fd[0]);
	assert_true(entry(fd[0])->event_time > co->since);
	fake_guest_switch(co);
	assert_int_equal(entry(fd[0])->learned, co->id);
	assert_int_equal(self.thread->hand, 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	close(fd[0]);
	close(fd[1]);
	close(ep);
	assert_int_equal(candidates(),
			 2); // learned: the close of fd[0] left co behind; and a set in which it was
	assert_int_equal(tracer.region.cands[0].kind, CTP_CAND_CLOSE);
	assert_int_equal(tracer.region.cands[1].kind, CTP_CAND_SET);
}

static void same_data_twice_is_ambiguous(void **state)
{
	(void)state;
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(0), a = eventfd(0, 0), b = eventfd(0, 0);
	ev.data.u64 = 42;
	epoll_ctl(ep, EPOLL_CTL_ADD, a, &ev);
	assert_int_equal(fd_map_find(ep, 42), a);
	epoll_ctl(ep, EPOLL_CTL_ADD, b, &ev);
	assert_int_equal(fd_map_find(ep, 42), -1);
	ev.data.u64 = 43;
	epoll_ctl(ep, EPOLL_CTL_MOD, a, &ev);
	assert_int_equal(fd_map_find(ep, 42), b);
	assert_int_equal(fd_map_find(ep, 43), a);
	close(b);
	assert_int_equal(fd_map_find(ep, 42), -1);
	for (uint64_t i = 0; i < 300000; i++) { // stale slots give way
		ev.data.u64 = i * 64;
		epoll_ctl(ep, EPOLL_CTL_MOD, a, &ev);
	}
	assert_int_equal(fd_map_find(ep, 299999 * 64), a);
	close(a);
	close(ep);
}

// ------------------------------------------------------------- what does not block

static bool is_nonblock(int fd)
{
	return entry(fd)->flags & CTP_FD_NONBLOCK;
}

// Whether a call on what does not block is taken for a wait all the same. In libctp.so the
// thread's area is found by its thread-local pointer, which the other tests do without.
static bool waits(int fd)
{
	char c[8];
	uint64_t seq = self.thread->wait_seq;
	ctp_self = &self;
	ssize_t r = read(fd, c, sizeof(c));
	ctp_self = NULL;
	assert_true(r >= 0 || errno == EAGAIN);
	assert_int_equal(self.thread->wait_seq & 1, 0);
	assert_int_equal(self.guard, 1);
	assert_int_equal(self.eagain, r < 0);
	return self.thread->wait_seq != seq;
}

static void what_does_not_block_is_no_wait(void **state)
{
	(void)state;
	int fd[2], event = eventfd(1, EFD_NONBLOCK);
	assert_true(is_nonblock(event));
	assert_false(waits(event)); // who reads it is new: the slow path
	assert_false(waits(event)); // EAGAIN
	assert_int_equal(entry(event)->last_in, co->id);
	assert_int_equal(eventfd_write(event, 1), 0);
	assert_false(waits(event)); // the fast path
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], "abc", 3), 3);
	assert_false(is_nonblock(fd[0]));
	assert_true(waits(fd[0]));
	assert_int_equal(close(event), 0);
	assert_false(is_nonblock(event));
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(close(fd[1]), 0);
}

static void what_fcntl_says_holds_for_duplicates(void **state)
{
	(void)state;
	int fd[2], copy;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(fcntl(fd[0], F_SETFL, O_NONBLOCK), 0);
	copy = dup(fd[0]);
	assert_true(is_nonblock(fd[0]) && is_nonblock(copy));
	assert_int_equal(fcntl(copy, F_SETFL, 0), 0);
	assert_false(is_nonblock(fd[0]) || is_nonblock(copy));
	assert_false(is_nonblock(fd[1]));
	assert_int_equal(fcntl(copy, F_SETFL, O_NONBLOCK), 0);
	assert_true(is_nonblock(copy));
	assert_true(waits(fd[0])); // EAGAIN, and now the kernel was asked
	assert_true(is_nonblock(fd[0]));
	assert_false(waits(fd[0]));
	assert_int_equal(close(copy), 0);
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(close(fd[1]), 0);
}

static void what_gives_up_after_a_time_blocks(void **state)
{
	(void)state;
	int fd[2];
	struct timeval soon = {.tv_usec = 1};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	assert_int_equal(setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)), 0);
	assert_true(waits(fd[0])); // EAGAIN, but it may sleep
	assert_true(waits(fd[0]));
	assert_false(is_nonblock(fd[0]));
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(close(fd[1]), 0);
}

// Another place, or other data: all of it is written anew.
static void same_registration_again(void **state)
{
	(void)state;
	int set = epoll_create1(0), fd = eventfd(0, EFD_NONBLOCK);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = 77};
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_ADD, fd, &ev), 0);
	uint64_t first = entry(fd)->reg_time;
	uint32_t seq = entry(fd)->seq;
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev), 0);
	assert_true(entry(fd)->reg_time > first);
	assert_int_equal(entry(fd)->seq, seq); // nothing else was
	assert_int_equal(fd_map_find(set, 77), fd);
	ev.data.u64 = 78;
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev), 0);
	assert_int_equal(entry(fd)->reg_data, 78);
	assert_int_equal(fd_map_find(set, 78), fd);
	assert_int_equal(fd_map_find(set, 77), -1);
	fake_guest_switch(other);
	assert_int_equal(epoll_ctl(set, EPOLL_CTL_MOD, fd, &ev), 0);
	assert_int_equal(entry(fd)->reg_by, other->id);
	assert_int_equal(entry(fd)->adder, other->id);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(set), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(registers_harvests_learns),         TEST(same_data_twice_is_ambiguous),
		TEST(what_does_not_block_is_no_wait),    TEST(what_fcntl_says_holds_for_duplicates),
		TEST(what_gives_up_after_a_time_blocks), TEST(same_registration_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
