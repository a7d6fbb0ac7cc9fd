// SPDX-License-Identifier: MIT
//
// The hooks of poll and select over a fake guest: who was in a set, what came of
// it, what it teaches, and what must not touch the program. As test_fds.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "ctp/polled.h"
#include "fake_guest.h"
#include "preload/guest/real.h"

static int fd[2];

static struct ctp_fd *entry(int number)
{
	return &tracer.region.fds[number];
}

static int setup(void **state)
{
	int r = fake_guest_setup(state);
	self.native = other;
	other->entity = CTP_NATIVE;
	return r ? r : pipe2(fd, O_NONBLOCK);
}

static int teardown(void **state)
{
	traced = false;
	close(fd[0]);
	close(fd[1]);
	return fake_guest_teardown(state);
}

// `co` reads until EAGAIN and suspends; the loop runs.
static void suspend(void)
{
	char c;
	assert_int_equal(read(fd[0], &c, 1), -1);
	fake_guest_switch(other);
}

static uint64_t sum_of(const struct pollfd *p, int n)
{
	uint64_t sum = 0;
	for (int i = 0; i < n; i++)
		if (p[i].fd >= 0)
			sum = ctp_polled_sum(sum, p[i].fd, (unsigned short)p[i].events);
	return sum;
}

// ------------------------------------------------------------- who was in a set

static void marks_the_set(void **state)
{
	(void)state;
	struct pollfd p[] = {{.fd = fd[0], .events = POLLIN}, {.fd = -5, .events = POLLIN}, {.fd = fd[1]}};
	const struct ctp_thread *t = self.thread;
	suspend();
	assert_int_equal(poll(p, 3, 1), 0);
	assert_true(entry(fd[0])->polled > co->since);
	assert_int_equal(entry(fd[0])->polled, t->wait_since);
	assert_int_equal(entry(fd[0])->polled_out, 0);
	assert_int_equal(entry(fd[1])->polled, 0); // for nothing but its end
	assert_int_equal(t->wait_call, CTP_IN_POLL);
	assert_int_equal(t->wait_buf, (uint64_t)p);
	assert_int_equal(t->wait_buf_bytes, sizeof(p));
	assert_int_equal(t->set_sum, sum_of(p, 3));
	assert_int_equal(t->wait_timeout_ns, 1000000);
	assert_int_equal(t->wait_seq & 1, 0);
	assert_int_equal(t->turns, 1);
	assert_int_equal(t->sets, 1);
	assert_int_equal(t->polls, 0);
	p[0].events = POLLOUT;
	p[0].fd = fd[1];
	assert_int_equal(ppoll(p, 1, &(struct timespec){0}, NULL), 1);
	assert_int_equal(entry(fd[1])->polled_out, t->wait_since);
	assert_int_equal(t->turns, 1);
	assert_int_equal(poll(NULL, 0, 0), 0); // a mere sleep
	assert_int_equal(t->sets, 2);
}

static void marks_select(void **state)
{
	(void)state;
	fd_set in, out, except;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&except);
	FD_SET(fd[0], &in);
	FD_SET(fd[1], &out);
	FD_SET(fd[1], &except);
	uint64_t sum = ctp_polled_sum(0, fd[0], POLLIN);
	sum = ctp_polled_sum(sum, fd[1], POLLOUT);
	sum = ctp_polled_sum(sum, fd[1], POLLPRI);
	assert_int_equal(select(fd[1] + 1, &in, &out, &except, &(struct timeval){0}), 1);
	assert_int_equal(entry(fd[0])->polled, self.thread->wait_since);
	assert_int_equal(entry(fd[1])->polled_out, self.thread->wait_since);
	assert_int_equal(self.thread->wait_call, CTP_IN_SELECT);
	assert_int_equal(self.thread->wait_fd, fd[1] + 1);
	assert_int_equal(self.thread->set_sum, sum);
	assert_true(entry(fd[1])->event_time > self.thread->wait_since);
	assert_int_equal(entry(fd[0])->event_time, 0);
	assert_true(FD_ISSET(fd[1], &out) && !FD_ISSET(fd[0], &in));
	FD_ZERO(&in);
	FD_SET(fd[1], &in); // past the last bit that is asked for
	uint64_t was = entry(fd[1])->polled;
	assert_int_equal(pselect(fd[1], &in, NULL, NULL, &(struct timespec){0}, NULL), 0);
	assert_int_equal(entry(fd[1])->polled, was);
}

// ------------------------------------------------------------- what came

static void learns_what_was_alone(void **state)
{
	(void)state;
	struct pollfd p[] = {{.fd = fd[0], .events = POLLIN}, {.fd = fd[1], .events = POLLOUT}};
	suspend();
	assert_int_equal(real_write(fd[1], "x", 1), 1);
	assert_int_equal(poll(p, 2, 1), 2);
	assert_true(entry(fd[0])->event_time > co->since);
	assert_int_equal(self.batch_fd, -1);
	assert_int_equal(poll(p, 1, 0), 1); // would not have slept: others may run first
	assert_int_equal(self.batch_fd, -1);
	assert_int_equal(poll(p, 1, -1), 1);
	assert_int_equal(self.batch_fd, fd[0]);
	fake_guest_switch(co);
	assert_int_equal(entry(fd[0])->learned, co->id);
	assert_int_equal(self.thread->hand, 0);
}

static void closed_number_is_an_event(void **state)
{
	(void)state;
	struct pollfd p = {.fd = fd[0], .events = POLLIN};
	suspend();
	close(fd[0]);
	assert_int_equal(tracer.region.ext->cand_count, 1);
	assert_int_equal(poll(&p, 1, -1), 1);
	assert_int_equal(p.revents, POLLNVAL);
	assert_int_equal(self.batch_fd, -1);
	assert_int_equal(entry(fd[0])->life, CTP_FD_CLOSED);
	assert_true(entry(fd[0])->event_time > co->since);
	fake_guest_switch(co); // resumed by it, not by hand
	assert_int_equal(self.thread->hand, 0);
}

// Asked of one descriptor without waiting: as a read that said EAGAIN.
static void probe_is_a_wait(void **state)
{
	(void)state;
	struct pollfd p = {.fd = fd[0], .events = POLLIN};
	assert_int_equal(poll(&p, 1, 0), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].fd, fd[0]);
	assert_int_equal(co->waits[0].how, CTP_WAIT_EAGAIN);
	fake_guest_switch(co);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 0);
	struct epoll_event ev = {.events = EPOLLIN};
	fake_guest_switch(co);
	assert_int_equal(poll(&p, 1, 0), 0); // then it registers another: that is its wait
	int ep = epoll_create1(0);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[1], &ev), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].fd, fd[1]);
	close(ep);
}

// ------------------------------------------------------------- whose wait it is

static void poll_inside_a_coroutine_is_no_turn(void **state)
{
	(void)state;
	struct pollfd p = {.fd = fd[0], .events = POLLIN};
	assert_int_equal(poll(&p, 1, 1), 0); // nobody else has: a scheduler may be a coroutine
	assert_int_equal(self.thread->turns, 1);
	fake_guest_switch(other);
	assert_int_equal(poll(&p, 1, 1), 0); // the thread's own stack loops
	assert_int_equal(self.thread->turns, 2);
	fake_guest_switch(co);
	self.thread->slept_epoch = 0;
	tracer.region.ext->epoch = 5;
	assert_int_equal(poll(&p, 1, 1), 0);
	assert_int_equal(self.thread->turns, 2);
	assert_int_equal(self.thread->slept_epoch, 0);
	fake_guest_switch(other);
	assert_int_equal(poll(&p, 1, 1), 0);
	assert_int_equal(self.thread->slept_epoch, 5);
}

// ------------------------------------------------------------- manners

static void bad_pointers_are_the_kernels(void **state)
{
	(void)state;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
	struct pollfd *half = (struct pollfd *)(void *)(page + 4096 - sizeof(*half));
	*half = (struct pollfd){.fd = fd[0], .events = POLLIN};
	errno = 0;
	assert_int_equal(poll(half, 2, 0), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(poll(half, 1, 0), 0);
	assert_int_equal(select(fd[0] + 1, (fd_set *)(void *)(page + 4096), NULL, NULL, NULL), -1);
	assert_int_equal(errno, EFAULT);
	struct pollfd *volatile bad = (struct pollfd *)16; // what the compiler must not look at
	assert_int_equal(poll(bad, 1, 0), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(self.thread->wait_seq & 1, 0);
	munmap(page, 8192);
}

// What could be read a moment ago: given back by a way that nobody sees.
static void memory_that_went_away(void **state)
{
	(void)state;
	struct pollfd *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	*p = (struct pollfd){.fd = fd[0], .events = POLLIN};
	assert_int_equal(poll(p, 1, 0), 0);
	assert_int_equal(entry(fd[0])->polled, self.thread->wait_since);
	assert_int_equal(syscall(SYS_munmap, p, 4096), 0);
	errno = 0;
	assert_int_equal(poll(p, 1, 0), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(select(fd[0] + 1, (fd_set *)(void *)p, NULL, NULL, &(struct timeval){0}), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(self.thread->wait_seq & 1, 0);
}

// More bits than there are descriptors, and than the set has: the kernel stops at its table.
static void more_bits_than_the_set(void **state)
{
	(void)state;
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(mprotect(page + 4096, 4096, PROT_NONE), 0);
	fd_set *set = (fd_set *)(void *)(page + 4096 - 64);
	FD_SET(fd[0], set);
	assert_int_equal(select(fd[0] + 1, set, NULL, NULL, &(struct timeval){0}), 0);
	FD_SET(fd[0], set);
	int bare = real_select(4096, set, NULL, NULL, &(struct timeval){0});
	FD_SET(fd[0], set);
	assert_int_equal(select(4096, set, NULL, NULL, &(struct timeval){0}), bare);
	assert_int_equal(entry(fd[0])->polled, self.thread->wait_since);
	munmap(page, 8192);
}

static void huge_set(void **state)
{
	(void)state;
	enum { MANY = 700 };
	static struct pollfd p[MANY];
	for (int i = 0; i < MANY; i++)
		p[i] = (struct pollfd){.fd = i == MANY - 1 ? fd[0] : -1, .events = POLLIN};
	assert_int_equal(poll(p, MANY, 0), 0);
	assert_int_equal(entry(fd[0])->polled, self.thread->wait_since);
	assert_int_equal(self.thread->wait_buf_bytes, sizeof(p));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(marks_the_set), TEST(marks_select), TEST(learns_what_was_alone), TEST(closed_number_is_an_event),
		TEST(probe_is_a_wait), TEST(poll_inside_a_coroutine_is_no_turn), TEST(bad_pointers_are_the_kernels),
		TEST(memory_that_went_away), TEST(more_bits_than_the_set), TEST(huge_set),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
