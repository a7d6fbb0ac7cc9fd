// SPDX-License-Identifier: MIT
//
// Which ends of descriptors are posted as candidates of a lost wakeup, behind the real hooks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "fds_entries.h"

static void close_under_a_waiter_is_posted(void **state)
{
	(void)state;
	int fd[2];
	struct stat st;
	int keep = wait_on_pipe(fd);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN);
	assert_int_equal(co->waits[0].events, EPOLLIN);
	fstat(fd[0], &st);
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(candidates(), 1);
	const struct ctp_cand *c = &tracer.region.cands[0];
	assert_int_equal(c->ready, 1);
	assert_int_equal(c->kind, CTP_CAND_CLOSE);
	assert_int_equal(c->gen, 1);
	assert_int_equal(c->closer, other->id);
	assert_int_equal(c->closer_stack, 7);
	assert_int_equal(c->ino, st.st_ino);
	assert_int_equal(c->fd_kind, CTP_FD_PIPE);
	assert_int_equal(c->epoch, 1);
	assert_int_equal(c->was.waiter[0] & CTP_ID_MASK, co->id);
	assert_int_equal(entry(fd[0])->closed_epoch, 1);
	fake_guest_switch(co);
	assert_int_equal(self.thread->hand, 1);
	close(keep);
}

// Registered by its scheduler, and it says nothing itself: the registration leads to it.
static void close_under_whom_a_registration_leads_to(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = LED_DATA};
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	fake_guest_switch(other); // co is suspended, with no wait of its own
	led = co;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(entry(fd[0])->leads & CTP_ID_MASK, co->id);
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(candidates(), 1);
	assert_int_equal(tracer.region.cands[0].was.leads & CTP_ID_MASK, co->id);
	led = NULL;
	close(fd[1]);
	close(ep);
}

// `co` registers fd[0], reads what is there and suspends; somebody closes it. How many candidates does that
// make?
static uint32_t closed_after_a_read(int fd[2], ssize_t expected)
{
	int ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.fd = fd[0]};
	uint32_t before = candidates();
	char c;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(read(fd[0], &c, 1), expected);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	assert_int_equal(close(fd[0]), 0);
	uint32_t posted = candidates() - before;
	fake_guest_switch(co);
	close(fd[1]);
	close(ep);
	return posted;
}

// It may wait for more, which the registration would tell, unless there cannot be more.
static void close_under_who_read_at_once(void **state)
{
	(void)state;
	int fd[2];
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(write(fd[1], "a", 1), 1);
	assert_int_equal(closed_after_a_read(fd, 1), 1);
	assert_int_equal(tracer.region.cands[0].was.leads & CTP_ID_MASK, co->id);
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(close(fd[1]), 0);
	assert_int_equal(closed_after_a_read(fd, 0), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(shutdown(fd[1], SHUT_WR), 0);
	assert_int_equal(closed_after_a_read(fd, 0), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(send(fd[1], "", 0, 0), 0);
	assert_int_equal(closed_after_a_read(fd, 0), 1); // empty, and no end
}

static void close_by_the_waiter_is_not(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	fake_guest_switch(co);
	assert_int_equal(close(fd[0]), 0);
	close(keep);
	assert_int_equal(candidates(), 0);
	assert_int_equal(tracer.region.ext->epoch, 0);
}

static void close_of_nothing_is_not(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	syscall(SYS_close, fd[0]);
	assert_int_equal(close(fd[0]), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(candidates(), 0);
	assert_int_equal(entry(fd[0])->life, CTP_FD_OPEN);
	assert_int_equal(fd_private(entry(fd[0]))->ending & UINT32_MAX, 0);
	assert_int_equal(close(-1), -1);
	assert_int_equal(close(INT32_MAX), -1);
	assert_int_equal(close(INT32_MIN), -1);
	assert_int_equal(tracer.region.ext->gaps, 0);
	close(keep);
}

static void dup_onto_a_waiter(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd), copy = dup(fd[0]), null = open("/dev/null", O_RDONLY);
	assert_int_equal(dup2(fd[0], fd[0]), fd[0]);
	assert_int_equal(dup2(copy, fd[0]), fd[0]);
	assert_int_equal(dup2(-1, fd[0]), -1);
	assert_int_equal(candidates(), 0);
	assert_int_equal(entry(fd[0])->gen, 1);
	assert_int_equal(dup3(null, fd[0], O_CLOEXEC), fd[0]);
	assert_int_equal(candidates(), 1);
	assert_int_equal(tracer.region.cands[0].call, CTP_CALL_DUP3);
	assert_int_equal(entry(fd[0])->gen, 2);
	assert_int_equal(entry(fd[0])->desc, entry(null)->desc);
	assert_int_equal(reopens, 0);
	close(copy);
	close(null);
	close(fd[0]);
	close(keep);
}

static void range_under_waiters(void **state)
{
	(void)state;
	int fd[2], more[2];
	wait_on_pipe(fd);
	assert_int_equal(pipe(more), 0);
	assert_int_equal(close_range((unsigned)fd[0], (unsigned)more[1], 0), 0);
	assert_int_equal(candidates(), 1);
	for (int i = fd[0]; i <= more[1]; i++)
		if (entry(i)->gen)
			assert_int_equal(entry(i)->life, CTP_FD_CLOSED);
	assert_int_equal(entry(more[0])->closed_epoch, 0);
	assert_int_equal(entry(fd[0])->closed_epoch, 1);
}

static void listener_closed(void **state)
{
	(void)state;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(entry(fd)->flags & CTP_FD_LISTENS, CTP_FD_LISTENS);
	close(fd);
	assert_int_equal(tracer.region.ext->listener_closed, 0); // no coroutine was there to be drained
	tracer.region.ext->next_id = 1;
	fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(listen(fd, 1), 0);
	close(fd);
	uint64_t closed = tracer.region.ext->listener_closed;
	assert_true(closed != 0);
	int first = socket(AF_INET, SOCK_STREAM, 0), second = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(listen(first, 1), 0);
	assert_int_equal(tracer.region.ext->listener_closed, 0); // begins to listen: no drain
	assert_int_equal(listen(second, 1), 0);
	close(first);
	assert_true((closed = tracer.region.ext->listener_closed) != 0);
	assert_int_equal(listen(second, 2), 0); // does so already
	assert_int_equal(tracer.region.ext->listener_closed, closed);
	close(second);
}

static void removal_under_a_waiter_is_posted(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = 1};
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev);
	epoll_ctl(ep, EPOLL_CTL_DEL, fd[0], NULL);
	assert_int_equal(self.nwaits, 0); // its own
	epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev);
	fake_guest_switch(other);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_DEL, fd[0], NULL), 0);
	assert_int_equal(candidates(), 1);
	assert_int_equal(tracer.region.cands[0].kind, CTP_CAND_DEL);
	assert_int_equal(tracer.region.cands[0].was.reg_epfd, ep);
	assert_int_equal(entry(fd[0])->reg_epfd, -1);
	close(fd[0]);
	close(fd[1]);
	close(ep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(close_under_a_waiter_is_posted),
		TEST(close_under_whom_a_registration_leads_to),
		TEST(close_under_who_read_at_once),
		TEST(close_by_the_waiter_is_not),
		TEST(close_of_nothing_is_not),
		TEST(dup_onto_a_waiter),
		TEST(range_under_waiters),
		TEST(listener_closed),
		TEST(removal_under_a_waiter_is_posted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
