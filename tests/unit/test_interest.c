// SPDX-License-Identifier: MIT
//
// Interest in a descriptor that goes, and comes back, under its waiter: behind the real hooks, over a fake guest.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "fake_guest.h"
#include "preload/guest/real.h"

static int ep, fd[2];

static uint32_t flags(void)
{
	return tracer.region.fds[fd[0]].flags & (CTP_FD_PAUSED | CTP_FD_RESTORED | CTP_FD_REFUSED);
}

static int control(int op, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.fd = 1};
	return epoll_ctl(ep, op, fd[0], &ev);
}

static int begin(void **state)
{
	if (fake_guest_setup(state))
		return -1;
	ep = epoll_create1(EPOLL_CLOEXEC);
	return pipe2(fd, O_NONBLOCK);
}

static int end(void **state)
{
	close(fd[0]);
	close(fd[1]);
	close(ep);
	return fake_guest_teardown(state);
}

// `co` tries to read, registers, and suspends; `other` runs.
static void suspend_on_it(void)
{
	char c;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(control(EPOLL_CTL_ADD, EPOLLIN), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(flags(), 0);
}

static void taken_out_and_back(void **state)
{
	(void)state;
	suspend_on_it();
	control(EPOLL_CTL_DEL, 0);
	assert_int_equal(flags(), CTP_FD_PAUSED);
	control(EPOLL_CTL_ADD, EPOLLIN);
	assert_int_equal(flags(), CTP_FD_RESTORED);
}

static void masked_and_back(void **state)
{
	(void)state;
	suspend_on_it();
	control(EPOLL_CTL_MOD, 0);
	assert_int_equal(flags(), CTP_FD_PAUSED);
	control(EPOLL_CTL_MOD, EPOLLIN);
	assert_int_equal(flags(), CTP_FD_RESTORED);
}

// The waiter's own direction stays.
static void another_direction(void **state)
{
	(void)state;
	suspend_on_it();
	control(EPOLL_CTL_MOD, EPOLLIN | EPOLLOUT);
	control(EPOLL_CTL_MOD, EPOLLIN);
	assert_int_equal(flags(), 0);
}

// It was woken, and is queued.
static void after_an_event(void **state)
{
	(void)state;
	struct epoll_event got;
	suspend_on_it();
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(epoll_wait(ep, &got, 1, 0), 1);
	control(EPOLL_CTL_DEL, 0);
	assert_int_equal(flags(), 0);
}

// It went on by another's hand, and waits anew.
static void by_itself(void **state)
{
	(void)state;
	suspend_on_it();
	control(EPOLL_CTL_DEL, 0);
	fake_guest_switch(co);
	control(EPOLL_CTL_ADD, EPOLLIN);
	assert_int_equal(flags(), 0);
}

static void refused(void **state)
{
	char c;
	(void)state;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(control(EPOLL_CTL_MOD, EPOLLIN), -1);
	assert_int_equal(errno, ENOENT);
	assert_int_equal(flags(), CTP_FD_REFUSED);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN | CTP_WAIT_REFUSED);
}

static void refused_and_added(void **state)
{
	char c;
	(void)state;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(control(EPOLL_CTL_MOD, EPOLLIN), -1);
	assert_int_equal(control(EPOLL_CTL_ADD, EPOLLIN), 0);
	assert_int_equal(flags(), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED);
}

// It tried nothing: that it waits for it is not known.
static void refused_alone(void **state)
{
	(void)state;
	assert_int_equal(control(EPOLL_CTL_MOD, EPOLLIN), -1);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	assert_int_equal(tracer.region.fds[fd[0]].reg_by, co->id);
	assert_int_equal(tracer.region.fds[fd[0]].learned_stack, co->stack); // it may have meant that
}

// The scheduler does so on its behalf.
static void refused_afterwards(void **state)
{
	const struct ctp_fd *e = &tracer.region.fds[fd[0]];
	(void)state;
	fake_guest_switch(other);
	assert_int_equal(control(EPOLL_CTL_MOD, EPOLLIN), -1);
	assert_true(e->reg_time >= co->since && e->reg_by == other->id && e->reg_epfd < 0);
}

// A full pipe is waited for with these events.
static uint32_t how_after_a_full_pipe(uint32_t events)
{
	static char block[4096];
	struct epoll_event ev = {.events = events};
	while (write(fd[1], block, sizeof(block)) > 0)
		;
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[1], &ev), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	return co->waits[0].how;
}

static void wrote_and_reads(void **state)
{
	(void)state;
	assert_int_equal(how_after_a_full_pipe(EPOLLIN), CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED | CTP_WAIT_WROTE);
	assert_int_equal(tracer.region.fds[fd[1]].flags & CTP_FD_WROTE, CTP_FD_WROTE);
}

static void wrote_and_writes(void **state)
{
	(void)state;
	assert_int_equal(how_after_a_full_pipe(EPOLLIN | EPOLLOUT), CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED);
	assert_int_equal(tracer.region.fds[fd[1]].flags & CTP_FD_WROTE, 0);
}

// What it read in vain it may leave for what it has to write.
static void read_and_writes(void **state)
{
	char c;
	(void)state;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(control(EPOLL_CTL_ADD, EPOLLOUT), 0);
	fake_guest_switch(other);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED);
}

// accept, where no descriptor is free.
static int accept_without_room(int listener)
{
	struct rlimit had, none;
	getrlimit(RLIMIT_NOFILE, &had);
	none = had;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	int r = accept4(listener, NULL, NULL, SOCK_NONBLOCK), why = errno;
	setrlimit(RLIMIT_NOFILE, &had);
	assert_int_equal(r, -1);
	return why;
}

static void no_descriptor_is_free(void **state)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	(void)state;
	assert_int_equal(bind(s, (struct sockaddr *)&at, len), 0);
	assert_int_equal(listen(s, 1), 0);
	assert_int_equal(getsockname(s, (struct sockaddr *)&at, &len), 0);
	assert_int_equal(accept_without_room(s), EMFILE);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].fd, s);
	assert_int_equal(co->waits[0].how, CTP_WAIT_FULL);
	fake_guest_switch(co);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, s, &ev), 0);
	assert_int_equal(accept_without_room(s), EMFILE);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_REGISTERED | CTP_WAIT_FULL);
	fake_guest_switch(co);
	int client = socket(AF_INET, SOCK_STREAM, 0); // it finds room, and one is there
	assert_int_equal(accept_without_room(s), EMFILE);
	assert_int_equal(connect(client, (struct sockaddr *)&at, len), 0);
	int connection = accept4(s, NULL, NULL, 0);
	assert_true(connection >= 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	close(connection);
	close(client);
	close(s);
}

// A candidate, as for EPOLL_CTL_DEL, which says by which call.
static void a_mask_is_posted(void **state)
{
	(void)state;
	suspend_on_it();
	control(EPOLL_CTL_MOD, EPOLLOUT);
	assert_int_equal(tracer.region.ext->cand_count, 1);
	const struct ctp_cand *c = &tracer.region.cands[0];
	assert_int_equal(c->kind, CTP_CAND_DEL);
	assert_int_equal(c->call, CTP_CALL_EPOLL_MOD);
	assert_int_equal(c->fd, fd[0]);
	assert_int_equal(c->was.reg_events, EPOLLIN);
	control(EPOLL_CTL_MOD, EPOLLIN);
	assert_int_equal(tracer.region.ext->cand_count, 1);
}

// It tried, and then wants no more of it.
static void masked_by_itself(void **state)
{
	char c;
	(void)state;
	assert_int_equal(control(EPOLL_CTL_ADD, EPOLLIN), 0);
	assert_int_equal(read(fd[0], &c, 1), -1);
	control(EPOLL_CTL_MOD, 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	assert_int_equal(tracer.region.ext->cand_count, 0);
}

// Its registration was masked before, and it tries all the same.
static void tried_behind_a_mask(void **state)
{
	char c;
	(void)state;
	assert_int_equal(control(EPOLL_CTL_ADD, 0), 0);
	assert_int_equal(read(fd[0], &c, 1), -1);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(taken_out_and_back), TEST(masked_and_back), TEST(another_direction), TEST(after_an_event),
		TEST(by_itself), TEST(refused), TEST(refused_and_added), TEST(refused_alone), TEST(refused_afterwards), TEST(wrote_and_reads), TEST(wrote_and_writes), TEST(read_and_writes),
		TEST(no_descriptor_is_free),
		TEST(a_mask_is_posted), TEST(masked_by_itself), TEST(tried_behind_a_mask),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
