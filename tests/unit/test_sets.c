// SPDX-License-Identifier: MIT
//
// What the table of descriptors keeps for rules that speak of more than one
// descriptor: events of generations that have ended, the end of an epoll set,
// and who reads and writes. The real hooks under a fake guest.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/eventfd.h>

#include "fake_guest.h"
#include "preload/guest/real.h"

static struct ctp_fd *entry(int fd)
{
	return &tracer.region.fds[fd];
}

static const struct ctp_incident *incident(unsigned rule)
{
	for (uint32_t i = 0; i < tracer.region.incidents_max; i++) {
		const struct ctp_incident *e = &tracer.region.incidents[i];
		if (e->ready == CTP_CAND_READY && e->rule == rule)
			return e;
	}
	return NULL;
}

static int watch(int ep, int fd, uint64_t data)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u64 = data};
	return epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev);
}

// ------------------------------------------------------------- what an entry says of a wait

// The epoch is read before anything is noted of a wait: at that moment the handler looks at wait_seq.
static void *epoch_page;
static uint64_t seq_noted_at;
static unsigned faults;

static void at_epoch(int sig)
{
	(void)sig;
	faults++;
	seq_noted_at = ctp_load64(&self.thread->wait_seq);
	mprotect(epoch_page, 4096, PROT_READ | PROT_WRITE);
}

static void a_wait_within_a_wait_is_noted_when_that_one_has_ended(void **state)
{
	struct epoll_event ev;
	struct sigaction act = {.sa_handler = at_epoch}, old;
	(void)state;
	epoch_page = real_mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(epoch_page, MAP_FAILED);
	int ep = epoll_create1(0), ready = eventfd(1, 0);
	assert_int_equal(watch(ep, ready, 77), 0);
	assert_int_equal(watch(ep, eventfd(1, 0), 78), 0);
	struct ctp_thread *t = self.thread;
	faults = 0;
	for (unsigned round = 0; round < 2; round++) {
		t->wait_seq = 6 + round; // 7: in a wait from which the library has switched away
		self.ext = epoch_page;
		assert_int_equal(real_sigaction(SIGSEGV, &act, &old), 0);
		assert_int_equal(mprotect(epoch_page, 4096, PROT_NONE), 0);
		assert_int_equal(epoll_wait(ep, &ev, 1, -1), 1);
		assert_int_equal(real_sigaction(SIGSEGV, &old, NULL), 0);
		self.ext = tracer.region.ext;
		assert_int_equal(faults, round + 1);
		assert_int_equal(seq_noted_at, 6 + 2 * round);
		assert_int_equal(t->wait_seq, 8 + 2 * round);
	}
	real_munmap(epoch_page, 4096);
}

// ------------------------------------------------------------- events of the dead

static void events_of_the_dead_count(void **state)
{
	(void)state;
	struct epoll_event ev;
	int ep = epoll_create1(0), fds[2];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(watch(ep, fds[0], 77), 0);
	int keep = dup(fds[0]);
	assert_int_equal(write(fds[1], "a", 1), 1);
	assert_int_equal(epoll_wait(ep, &ev, 1, 0), 1);
	assert_null(incident(7)); // alive
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(entry(fds[0])->closed_owner, co->id);
	assert_int_equal(entry(fds[0])->closed_desc, entry(keep)->desc);
	for (uint64_t i = 1; i <= 3; i++) {
		assert_int_equal(write(fds[1], "b", 1), 1);
		assert_int_equal(epoll_wait(ep, &ev, 1, 0), 1);
		assert_int_equal(entry(fds[0])->stale, i);
		const struct ctp_incident *e = incident(7);
		assert_non_null(e);
		assert_int_equal(e->fd, fds[0]);
		assert_int_equal(e->gen, 1);
		assert_int_equal(e->who, co->id);
		assert_int_equal(e->other, co->id);
		assert_int_equal(e->value[0], i);
		assert_int_equal(e->value[1], entry(keep)->desc);
	}
}

// Its number has another registration with the same data: whose event it is cannot be told.
static void data_of_the_living_counts_for_them(void **state)
{
	(void)state;
	struct epoll_event ev;
	int ep = epoll_create1(0), fds[2];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(watch(ep, fds[0], 77), 0);
	assert_int_not_equal(dup(fds[0]), -1);
	assert_int_equal(close(fds[0]), 0);
	int again = eventfd(0, 0);
	assert_int_equal(again, fds[0]);
	assert_int_equal(watch(ep, again, 77), 0);
	assert_int_equal(write(fds[1], "b", 1), 1);
	assert_int_equal(epoll_wait(ep, &ev, 1, 0), 1);
	assert_null(incident(7));
}

struct sleeper {
	int ep;
	struct epoll_event ev;
	int n;
};

static void *sleep_in(void *arg)
{
	struct sleeper *s = arg;
	fake_guest_thread(1, other);
	s->n = epoll_wait(s->ep, &s->ev, 1, -1);
	return NULL;
}

// The wait began before the close: the event may have been taken before it, too.
static void an_event_of_before_is_none(void **state)
{
	(void)state;
	struct sleeper s = {.ep = epoll_create1(0)};
	pthread_t t;
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(watch(s.ep, fds[0], 77), 0);
	assert_int_not_equal(dup(fds[0]), -1);
	assert_int_equal(pthread_create(&t, NULL, sleep_in, &s), 0);
	while (!(ctp_load64(&tracer.region.threads[1].wait_seq) & 1))
		;
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(write(fds[1], "b", 1), 1);
	assert_int_equal(pthread_join(t, NULL), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(entry(fds[0])->stale, 0);
	assert_null(incident(7));
}

// ------------------------------------------------------------- the end of a set

static void end_of_a_set_is_posted(void **state)
{
	(void)state;
	int ep = epoll_create1(0), empty = epoll_create1(0), fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(watch(ep, fd, 1), 0);
	fake_guest_switch(other);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].epfd, ep);
	assert_int_equal(co->waits[0].epgen, 1);
	int moved = dup(ep);
	assert_int_equal(close(empty), 0);
	assert_int_equal(tracer.region.ext->cand_count, 0);
	assert_int_equal(close(ep), 0);
	assert_int_equal(close(moved), 0); // its dup is one as well
	assert_int_equal(tracer.region.ext->cand_count, 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tracer.region.cands[i].kind, CTP_CAND_SET);
		assert_int_equal(tracer.region.cands[i].fd, i ? moved : ep);
		assert_int_equal(tracer.region.cands[i].fd_kind, CTP_FD_EPOLL);
		assert_int_equal(tracer.region.cands[i].closer, other->id);
	}
}

// ------------------------------------------------------------- who reads, who writes

static void keeps_who_reads_and_writes(void **state)
{
	(void)state;
	char byte;
	int fds[2];
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "ab", 2), 2);
	assert_int_equal(entry(fds[1])->last_out, co->id);
	assert_int_equal(entry(fds[1])->last_in, 0);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(entry(fds[0])->last_in, co->id);
	fake_guest_switch(other);
	assert_int_equal(write(fds[1], "c", 1), 1);
	assert_int_equal(entry(fds[1])->last_out, other->id | CTP_FD_SEVERAL);
	self.current->id = 0;
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(entry(fds[0])->last_in, CTP_FD_UNNAMED | CTP_FD_SEVERAL);
	assert_int_equal(close(fds[0]), 0);
	int again = eventfd(0, 0);
	assert_int_equal(again, fds[0]);
	assert_int_equal(entry(again)->last_in, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_guest_setup, fake_guest_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_of_the_dead_count), TEST(data_of_the_living_counts_for_them), TEST(an_event_of_before_is_none),
		TEST(end_of_a_set_is_posted), TEST(keeps_who_reads_and_writes), TEST(a_wait_within_a_wait_is_noted_when_that_one_has_ended),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
