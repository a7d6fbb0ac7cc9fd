// SPDX-License-Identifier: MIT
//
// Events that came for who waits, and whom they resume, behind the real hooks.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/select.h>

#include "ctp/wait_inference.h"
#include "fds_entries.h"

static void await(int ep, unsigned n)
{
	struct epoll_event got[4];
	assert_int_equal(epoll_wait(ep, got, 4, 0), n);
}

// Once for each time that it suspends.
static void ready_is_told_once(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5};
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(read(fd[0], &c, 1), -1);
	fake_guest_switch(other);
	await(ep, 0);
	assert_int_equal(readies, 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	await(ep, 1);
	assert_int_equal(readies, 1);
	assert_int_equal(ready_id, co->id);
	assert_int_equal(ready_fd, (uint64_t)entry(fd[0])->gen << 32 | (uint32_t)fd[0]);
	await(ep, 1); // it is still there, and nobody has taken it
	assert_int_equal(readies, 1);
	fake_guest_switch(co);
	await(ep, 1); // who runs needs no event
	assert_int_equal(readies, 1);
	assert_int_equal(read(fd[0], &c, 1), 1);
	assert_int_equal(read(fd[0], &c, 1), -1);
	fake_guest_switch(other);
	assert_int_equal(write(fd[1], "x", 1), 1);
	await(ep, 1);
	assert_int_equal(readies, 2);
	close(fd[0]);
	close(fd[1]);
	close(ep);
}

static void ready_by_poll(void **state)
{
	(void)state;
	int fd[2];
	wait_on_pipe(fd);
	struct pollfd p = {.fd = fd[0], .events = POLLIN};
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(readies, 1);
	assert_int_equal(ready_id, co->id);
	fd_set in;
	FD_ZERO(&in);
	FD_SET(fd[0], &in);
	assert_int_equal(select(fd[0] + 1, &in, NULL, NULL, NULL), 1);
	assert_int_equal(readies, 1);
	close(fd[0]);
	close(fd[1]);
}

// Who registered it with the coroutine as its data need not say what that one waits for, unless it
// waits for something else.
static void ready_by_registration(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = LED_DATA};
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	led = co;
	fake_guest_switch(other);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	await(ep, 1);
	assert_int_equal(readies, 1);
	fake_guest_switch(co);
	int elsewhere[2];
	wait_on_pipe(elsewhere);
	await(ep, 1);
	assert_int_equal(readies, 1);
	led = NULL;
}

// An event came while co stood where its stack is `stack`: how often that was told.
static uint64_t told_at(int ep, int fd, int from, uint32_t stack)
{
	uint64_t before = readies, one = 1;
	co->stack = stack;
	fake_guest_switch(other);
	assert_int_equal(write(from, &one, sizeof(one)), sizeof(one));
	await(ep, 1);
	fake_guest_switch(co);
	assert_int_equal(entry(fd)->learned, co->id);
	return readies - before;
}

// What nobody but an earlier event leads to it: where it stands where that one woke it, and of what loops and
// servers have for themselves only if it takes it itself.
static void ready_by_what_was_learned(void **state)
{
	(void)state;
	uint64_t got;
	int ep = epoll_create1(EPOLL_CLOEXEC), bell = eventfd(0, EFD_NONBLOCK), pair[2];
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	co->runs = 1;
	fake_guest_switch(other);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, bell, &ev), 0);
	fake_guest_switch(co);
	assert_int_equal(told_at(ep, bell, bell, 9), 0); // learns
	assert_int_equal(told_at(ep, bell, bell, 9), 0);
	assert_int_equal(read(bell, &got, sizeof(got)), sizeof(got));
	assert_int_equal(told_at(ep, bell, bell, 9), 1);
	assert_int_equal(told_at(ep, bell, bell, 10), 0); // stands elsewhere
	assert_int_equal(read(bell, &got, sizeof(got)), sizeof(got));

	fake_guest_switch(other);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, pair[0],
				   &(struct epoll_event){.events = EPOLLIN, .data.u64 = 6}),
			 0);
	fake_guest_switch(co);
	assert_int_equal(told_at(ep, pair[0], pair[1], 9), 0);
	assert_int_equal(told_at(ep, pair[0], pair[1], 9), 1);
	entry(pair[0])->flags |= CTP_FD_LISTENS; // as if connections came
	assert_int_equal(told_at(ep, pair[0], pair[1], 9), 0);
	assert_int_equal(read(pair[0], &got, sizeof(got)), sizeof(got));
	assert_int_equal(told_at(ep, pair[0], pair[1], 9), 1);
	close(pair[0]);
	close(pair[1]);
	close(bell);
	close(ep);
}

// A socket that another opens and has events of; its end to write to.
static int others_socket(int ep, uint64_t data, int fd[2])
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = data};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	return fd[1];
}

// Events of what it has nothing to do with resume it: from one place twice, or one that was not there when it
// came.
static void resumed_by_whatever_comes(void **state)
{
	(void)state;
	int ep = epoll_create1(EPOLL_CLOEXEC), fd[4][2];
	co->runs = 1;
	fake_guest_switch(other);
	for (int i = 0; i < 3; i++)
		others_socket(ep, (uint64_t)i + 5, fd[i]);
	fake_guest_switch(co);
	told_at(ep, fd[0][0], fd[0][1], 9);
	assert_int_equal(co->called, 9);
	assert_false(ctp_in_pool(co));
	told_at(ep, fd[0][0], fd[0][1], 9); // no other than before
	assert_false(ctp_in_pool(co));
	told_at(ep, fd[1][0], fd[1][1], 9);
	assert_true(ctp_in_pool(co));
	told_at(ep, fd[2][0], fd[2][1], 10); // elsewhere, once
	assert_false(ctp_in_pool(co));
	co->stack = 9;
	assert_true(ctp_in_pool(co));

	co->flags = 0;
	co->called = 0;
	fake_guest_switch(other);
	assert_int_equal(write(others_socket(ep, 8, fd[3]), "a", 1), 1);
	await(ep, 1);
	fake_guest_switch(co);
	assert_true(ctp_in_pool(co));
	for (int i = 0; i < 4; i++) {
		close(fd[i][0]);
		close(fd[i][1]);
	}
	close(ep);
}

// It registered two, and then tried one of them: what it tried is what it waits for.
static void ready_for_what_was_tried(void **state)
{
	(void)state;
	int a[2], b[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5};
	char c;
	assert_int_equal(pipe2(a, O_NONBLOCK), 0);
	assert_int_equal(pipe2(b, O_NONBLOCK), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, a[0], &ev), 0);
	ev.data.u64 = 6;
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, b[0], &ev), 0);
	assert_int_equal(read(b[0], &c, 1), -1);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 2);
	assert_int_equal(write(a[1], "x", 1), 1);
	await(ep, 1);
	assert_int_equal(readies, 0);
	assert_int_equal(write(b[1], "x", 1), 1);
	await(ep, 2);
	assert_int_equal(readies, 1);
	assert_int_equal(ready_fd & UINT32_MAX, b[0]);
}

struct sleeper {
	int fd;
	uint64_t ticks, moves;
};

// While the test waits: time goes by, and maybe somebody else runs there.
static void *wakes_it(void *arg)
{
	const struct sleeper *s = arg;
	struct ctp_thread *t = &tracer.region.threads[0];
	while (!(ctp_load64(&t->wait_seq) & 1))
		sched_yield();
	fake_guest_later(s->ticks);
	ctp_store64(&t->wait_seq, t->wait_seq + s->moves);
	assert_int_equal(write(s->fd, "x", 1), 1);
	return NULL;
}

static void sleep_once(int ep, const int fd[2], uint64_t ticks, uint64_t moves)
{
	struct epoll_event got[4];
	struct sleeper s = {fd[1], ticks, moves};
	pthread_t thread;
	char c;
	assert_int_equal(pthread_create(&thread, NULL, wakes_it, &s), 0);
	assert_int_equal(epoll_wait(ep, got, 4, -1), 1);
	pthread_join(thread, NULL);
	assert_int_equal(read(fd[0], &c, 1), 1);
}

static void a_sleep_is_told_if_it_was_one(void **state)
{
	(void)state;
	int fd[2], ep = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 5};
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	sleep_once(ep, fd, 1 << 20, 0);
	assert_int_equal(sleeps, 1);
	assert_true(slept >= 1 << 20 && slept < (1 << 20) + 1000);
	sleep_once(ep, fd, 10, 0); // it hardly waited
	assert_int_equal(sleeps, 1);
	sleep_once(ep, fd, 1 << 20, 1); // another coroutine ran there, and the wait is over
	assert_int_equal(sleeps, 1);
	await(ep, 0); // asked without waiting
	assert_int_equal(sleeps, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ready_is_told_once),
		TEST(ready_by_poll),
		TEST(ready_by_registration),
		TEST(ready_by_what_was_learned),
		TEST(resumed_by_whatever_comes),
		TEST(ready_for_what_was_tried),
		TEST(a_sleep_is_told_if_it_was_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
