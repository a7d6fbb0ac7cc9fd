// SPDX-License-Identifier: MIT
//
// The table of descriptors: generations, who opened and ended each, also by several threads and in signal
// handlers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>

#include "fds_entries.h"
#include "preload/fds/fds_plain.h"
#include "sanitized.h"

static void counts_generations(void **state)
{
	(void)state;
	int fd = open("/dev/null", O_RDONLY);
	assert_int_equal(entry(fd)->gen, 1);
	assert_int_equal(entry(fd)->life, CTP_FD_OPEN);
	assert_int_equal(entry(fd)->opener, co->id);
	assert_int_equal(entry(fd)->opener_stack, 7);
	assert_int_equal(close(fd), 0);
	assert_int_equal(entry(fd)->life, CTP_FD_CLOSED);
	assert_int_equal(entry(fd)->closed_gen, 1);
	assert_int_equal(entry(fd)->closed_how, CTP_CALL_CLOSE);
	assert_int_equal(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), fd);
	assert_int_equal(entry(fd)->gen, 2);
	assert_int_equal(entry(fd)->kind, CTP_FD_UNIX);
	assert_int_equal(close(fd), 0);
	assert_int_equal(opens, 2);
	assert_int_equal(closes, 2);
	assert_int_equal(reopens, 0);
	assert_int_equal(candidates(), 0);
}

static void duplicates_share_a_description(void **state)
{
	(void)state;
	int fd[2], copy, high;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(entry(fd[0])->peer_desc, entry(fd[1])->desc);
	assert_int_equal(entry(fd[1])->peer_desc, entry(fd[0])->desc);
	copy = dup(fd[0]);
	high = fcntl(fd[0], F_DUPFD_CLOEXEC, 200);
	assert_true(high >= 200);
	assert_int_equal(entry(copy)->desc, entry(fd[0])->desc);
	assert_int_equal(entry(high)->desc, entry(fd[0])->desc);
	assert_int_equal(entry(high)->kind, CTP_FD_PIPE);
	assert_int_equal(entry(high)->opened_how, CTP_CALL_FCNTL);
	assert_int_equal(tracer.region.ext->fd_high, high);
	assert_int_equal(close_range((unsigned)high, ~0U, 0), 0);
	assert_int_equal(entry(high)->closed_how, CTP_CALL_CLOSE_RANGE);
	assert_int_equal(close_range((unsigned)copy, (unsigned)copy, CLOSE_RANGE_CLOEXEC), 0);
	assert_int_equal(entry(copy)->life, CTP_FD_OPEN);
	close(copy);
	close(fd[0]);
	close(fd[1]);
}

static void meets_what_it_has_not_seen(void **state)
{
	(void)state;
	int fd = (int)syscall(SYS_eventfd2, 0, 0), ep = epoll_create1(0);
	struct epoll_event ev = {.events = EPOLLIN};
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev), 0);
	assert_int_equal(entry(fd)->gen, 1);
	assert_int_equal(entry(fd)->opened_how, CTP_CALL_NONE);
	fake_guest_switch(other);
	assert_int_equal(entry(fd)->kind, CTP_FD_EVENTFD);
	syscall(SYS_close, fd);
	int unseen = (int)syscall(SYS_eventfd2, 0, 0);
	assert_int_equal(unseen, fd);
	syscall(SYS_close, fd);
	close(ep);
	fd = (int)syscall(SYS_eventfd2, 0, 0);
	assert_int_equal(close(fd), 0); // closed at first sight
	assert_int_equal(entry(fd)->life, CTP_FD_CLOSED);
}

static void notices_an_end_that_went_unseen(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	syscall(SYS_close, fd[0]);
	assert_int_equal(open("/dev/null", O_RDONLY), fd[0]);
	assert_int_equal(entry(fd[0])->gen, 2);
	assert_int_equal(entry(fd[0])->closed_how, CTP_CALL_REOPENED);
	assert_int_equal(reopens, 1);
	assert_int_equal(candidates(), 1);
	assert_int_equal(tracer.region.cands[0].call, CTP_CALL_REOPENED);
	assert_int_equal(tracer.region.cands[0].gen, 1);
	close(fd[0]);
	close(keep);
}

// A close that was refused is none: an end that comes later unseen is noticed all the same.
static void an_end_that_failed_leaves_no_mark(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	assert_int_equal(dup2(1000, fd[0]), -1);
	assert_int_equal(candidates(), 0);
	syscall(SYS_close, fd[0]);
	assert_int_equal(open("/dev/null", O_RDONLY), fd[0]);
	assert_int_equal(reopens, 1);
	assert_int_equal(candidates(), 1);
	close(fd[0]);
	close(keep);
}

// Where a thread has descriptors of its own, a number that is handed out again may be another table's.
static void no_end_where_tables_have_parted(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	tracer.region.ext->gaps = CTP_GAP_OWN_FDS;
	syscall(SYS_close, fd[0]);
	assert_int_equal(open("/dev/null", O_RDONLY), fd[0]);
	assert_int_equal(entry(fd[0])->gen, 2);
	assert_int_equal(candidates(), 0);
	close(fd[0]);
	close(keep);
}

static void two_that_wait_for_the_same(void **state)
{
	(void)state;
	int fd[2];
	char byte;
	int keep = wait_on_pipe(fd);
	assert_int_equal(read(fd[0], &byte, 1), -1);
	fake_guest_switch(co); // as the other one waits, too
	assert_true(entry(fd[0])->flags & CTP_FD_MANY);
	close(fd[0]);
	close(keep);
}

static void what_nobody_has_seen_is_not_overwritten(void **state)
{
	(void)state;
	int fd[2];
	int keep = wait_on_pipe(fd);
	tracer.region.cands[0].ready = CTP_CAND_READY;
	tracer.region.cands[0].gen = 77;
	assert_int_equal(close(fd[0]), 0);
	assert_int_equal(tracer.region.cands[0].gen, 77);
	assert_true(tracer.region.ext->gaps & CTP_GAP_CANDS);
	close(keep);
}

static void streams_and_directories(void **state)
{
	(void)state;
	FILE *s = fopen("/dev/null", "r");
	int fd = fileno(s);
	assert_int_equal(entry(fd)->opened_how, CTP_CALL_FOPEN);
	fclose(s);
	assert_int_equal(entry(fd)->closed_how, CTP_CALL_FCLOSE);
	DIR *d = opendir("/");
	assert_int_equal(dirfd(d), fd);
	assert_int_equal(entry(fd)->gen, 2);
	closedir(d);
	assert_int_equal(entry(fd)->closed_how, CTP_CALL_CLOSEDIR);
	assert_int_equal(reopens, 0);
}

// The kernel gives the number to another thread before close has returned.
static void opener_overtakes_closer(void **state)
{
	(void)state;
	int fd[2];
	struct fd_ends x;
	struct fd_birth b = {.call = CTP_CALL_OPEN};
	int keep = wait_on_pipe(fd);
	fds_ending(&self, &x, fd[0], fd[0]);
	fds_opened(&self, fd[0], &b);
	assert_int_equal(entry(fd[0])->gen, 2);
	fds_ended(&self, &x, CTP_CALL_CLOSE, &b.frame, true);
	assert_int_equal(entry(fd[0])->gen, 2);
	assert_int_equal(entry(fd[0])->life, CTP_FD_OPEN);
	assert_int_equal(entry(fd[0])->closed_gen, 1);
	assert_int_equal(reopens, 0);
	assert_int_equal(candidates(), 1);
	assert_int_equal(tracer.region.cands[0].gen, 1);
	close(fd[0]);
	close(keep);
}

// A library's fclose may call close, its fopen open: one generation, one end.
static void call_inside_a_call_counts_once(void **state)
{
	(void)state;
	int fd[2];
	struct fd_ends outer;
	struct fd_birth b = {.call = CTP_CALL_FOPEN, .since = fds_births()};
	int keep = wait_on_pipe(fd);
	fds_ending(&self, &outer, fd[0], fd[0]);
	assert_int_equal(close(fd[0]), 0);
	fds_ended(&self, &outer, CTP_CALL_FCLOSE, &b.frame, true);
	assert_int_equal(entry(fd[0])->gen, 1);
	assert_int_equal(candidates(), 1);
	b.since = fds_births();
	assert_int_equal(open("/dev/null", O_RDONLY), fd[0]);
	fds_opened(&self, fd[0], &b);
	assert_int_equal(entry(fd[0])->gen, 2);
	assert_int_equal(entry(fd[0])->opened_how, CTP_CALL_FOPEN);
	assert_int_equal(reopens, 0);
	close(fd[0]);
	close(keep);
}

// ------------------------------------------------------------- threads

enum { ROUNDS = 20000, THREADS = 3 };

static void *open_and_close(void *arg)
{
	uint32_t seen[64] = {0};
	fake_guest_thread((uint32_t)(uintptr_t)arg, &tracer.region.states[3 + (uintptr_t)arg]);
	for (int i = 0; i < ROUNDS; i++) {
		int fd = open("/dev/null", O_RDONLY);
		uint32_t gen = entry(fd)->gen;
		if (fd >= 64 || gen <= seen[fd] || entry(fd)->life != CTP_FD_OPEN)
			return "not a new generation";
		seen[fd] = gen;
		if (close(fd) != 0)
			return "close failed";
	}
	traced = false;
	ctp_self = NULL;
	return NULL;
}

static void threads_keep_generations_apart(void **state)
{
	(void)state;
	pthread_t t[THREADS];
	void *wrong = NULL;
	for (uintptr_t i = 0; i < THREADS; i++) {
		fake_guest_state(4 + (uint32_t)i, CTP_NATIVE);
		pthread_create(&t[i], NULL, open_and_close, (void *)(i + 1));
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], &wrong);
		if (wrong)
			fail_msg("%s", (const char *)wrong);
	}
	assert_int_equal(tracer.region.ext->gaps & CTP_GAP_FDS, 0);
	uint64_t generations = 0;
	for (int fd = 0; fd < 64; fd++) {
		generations += entry(fd)->gen;
		assert_int_not_equal(entry(fd)->life, CTP_FD_OPEN);
	}
	assert_int_equal(generations, ROUNDS * THREADS);
	assert_int_equal(opens, ROUNDS * THREADS);
	assert_int_equal(closes, ROUNDS * THREADS);
	assert_int_equal(reopens, 0);
	assert_int_equal(candidates(), 0);
	assert_int_equal(tracer.region.ext->gaps, 0);
}

static void threads_keep_ordinary_generations_apart(void **state)
{
	fake_guest_plainly = true;
	threads_keep_generations_apart(state);
}

// ------------------------------------------------------------- what nearly every one is

enum { ORDINARY = 40 };

// Opens and closes it, plainly or not, and takes what differs each time out of what the entry says then.
static struct ctp_fd opened_and_closed(bool plainly)
{
	struct fd_birth b = {.call = CTP_CALL_EVENTFD,
			     .kind = CTP_FD_EVENTFD,
			     .frame = {0x1234, 0x5678, 0},
			     .nonblock = true};
	struct fd_ends x;
	if (!plainly)
		memset(self.named, 0, sizeof(self.named));
	fds_opened(&self, ORDINARY, &b);
	assert_int_equal(entry(ORDINARY)->life, CTP_FD_OPEN);
	assert_int_equal(entry(ORDINARY)->opener_stack, 7);
	if (plainly) {
		assert_true(fds_ending_plainly(&self, ORDINARY, &x.gen));
		assert_true(fds_ended_plainly(&self, ORDINARY, x.gen, CTP_CALL_CLOSE, &b.frame));
	} else {
		fds_ending(&self, &x, ORDINARY, ORDINARY);
		fds_ended(&self, &x, CTP_CALL_CLOSE, &b.frame, true);
	}
	struct ctp_fd is = *entry(ORDINARY);
	assert_true(is.closed_gen == is.gen && is.closed_desc == is.desc && is.opened < is.closed);
	is.gen = is.closed_gen = is.seq = 0;
	is.desc = is.closed_desc = is.opened = is.closed = 0;
	memset(is.guest, 0, sizeof(is.guest));
	return is;
}

static void what_is_done_plainly_is_the_same(void **state)
{
	(void)state;
	fake_guest_plainly = true;
	struct ctp_fd first = opened_and_closed(false), plain = opened_and_closed(true),
		      third = opened_and_closed(false);
	assert_memory_equal(&first, &plain, sizeof(first));
	assert_memory_equal(&first, &third, sizeof(first));
	assert_int_equal(opens, 3);
	assert_int_equal(closes, 3);
	assert_int_equal(entry(ORDINARY)->gen, 3);
}

// A place of which it is not known by what stack it is called, a set, a listener, a waiter, a number from
// before.
static void what_is_not_plain_is_left_alone(void **state)
{
	(void)state;
	struct frame known = {0x1234, 0x5678, 0}, unknown = {0x4321, 0x5678, 0};
	struct fd_birth b = {.call = CTP_CALL_EVENTFD, .frame = known};
	struct fd_ends x;
	fake_guest_plainly = true;
	assert_false(fds_ending_plainly(&self, ORDINARY, &x.gen)); // not open
	assert_false(fds_ending_plainly(&self, -1, &x.gen));
	fds_opened(&self, ORDINARY, &b);
	struct ctp_fd *e = entry(ORDINARY);
	for (uint32_t flag = CTP_FD_LISTENS; flag <= CTP_FD_ROWS; flag <<= 1) {
		e->flags = flag;
		bool plain = flag == CTP_FD_NONBLOCK || flag == CTP_FD_MANYREGS;
		assert_int_equal(fds_ending_plainly(&self, ORDINARY, &x.gen), plain);
	}
	e->flags = 0;
	e->reg_epfd = 5;
	assert_false(fds_ending_plainly(&self, ORDINARY, &x.gen));
	e->reg_epfd = -1;
	assert_true(fds_ending_plainly(&self, ORDINARY, &x.gen));
	assert_false(fds_ended_plainly(&self, ORDINARY, x.gen, CTP_CALL_CLOSE, &unknown));
	e->waiter[0] = 1; // since
	assert_false(fds_ended_plainly(&self, ORDINARY, x.gen, CTP_CALL_CLOSE, &known));
	e->waiter[0] = 0;
	assert_int_equal(e->seq & 1, 0);
	assert_null(self.taken);
	assert_int_equal(closes, 0);
	x = (struct fd_ends){.first = ORDINARY, .last = ORDINARY, .gen = x.gen, .open = true};
	fds_ended(&self, &x, CTP_CALL_CLOSE, &known, true);
	assert_int_equal(closes, 1);
	assert_int_equal(e->life, CTP_FD_CLOSED);
}

// ------------------------------------------------------------- signals

static int caught;
static void *info_address;

static void with_info(int sig, siginfo_t *info, void *context)
{
	caught = sig;
	info_address = context ? info : NULL;
}

static void plain(int sig)
{
	caught = -sig;
}

static void handlers_are_theirs(void **state)
{
	(void)state;
	if (not_under(SANITIZED_THREAD, "ThreadSanitizer puts handlers of its own in the place of ours"))
		skip();
	struct sigaction act = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO | SA_RESTART}, old;
	assert_int_equal(sigaction(SIGTERM, &act, NULL), 0);
	assert_int_equal(sigaction(SIGTERM, NULL, &old), 0);
	assert_ptr_equal(old.sa_sigaction, with_info);
	assert_int_equal(old.sa_flags & (SA_SIGINFO | SA_RESTART), SA_SIGINFO | SA_RESTART);
	assert_int_equal(tracer.region.ext->signal_taken, 0);
	raise(SIGTERM);
	assert_int_equal(caught, SIGTERM);
	assert_non_null(info_address);
	assert_true(tracer.region.ext->signal_taken != 0);
	assert_true(signal(SIGTERM, plain) == (sighandler_t)(void *)with_info);
	raise(SIGTERM);
	assert_int_equal(caught, -SIGTERM);
	assert_int_equal(sigaction(SIGTERM, NULL, &old), 0);
	assert_ptr_equal(old.sa_handler, plain);
	assert_int_equal(old.sa_flags & (SA_SIGINFO | SA_RESTART), SA_RESTART);
	act = (struct sigaction){.sa_handler = plain, .sa_flags = SA_RESETHAND};
	assert_int_equal(sigaction(SIGTERM, &act, NULL), 0);
	raise(SIGTERM);
	assert_true(signal(SIGTERM, SIG_IGN) == SIG_DFL);
	raise(SIGTERM);
	uint64_t taken = tracer.region.ext->signal_taken;
	assert_int_equal(tracer.region.ext->asked_first, 0);
	signal(SIGHUP, SIG_DFL); // nohup ignores it
	assert_true(signal(SIGHUP, plain) == SIG_DFL);
	raise(SIGHUP); // a reload, mostly
	uint64_t reload = tracer.region.ext->asked_last;
	assert_true(reload && !tracer.region.ext->asked_first);
	assert_true(signal(SIGINT, plain) == SIG_DFL);
	raise(SIGINT);
	uint64_t first = tracer.region.ext->asked_first;
	assert_true(first > reload && tracer.region.ext->asked_last == first);
	raise(SIGINT);
	assert_int_equal(tracer.region.ext->asked_first, first);
	assert_true(tracer.region.ext->asked_last > first);
	assert_true(signal(SIGINT, SIG_DFL) == plain);
	assert_int_equal(tracer.region.ext->signal_taken, taken);
	assert_true(signal(SIGHUP, SIG_DFL) == plain);
	assert_true(signal(SIGTERM, SIG_DFL) == SIG_IGN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(counts_generations),
		TEST(duplicates_share_a_description),
		TEST(meets_what_it_has_not_seen),
		TEST(notices_an_end_that_went_unseen),
		TEST(an_end_that_failed_leaves_no_mark),
		TEST(no_end_where_tables_have_parted),
		TEST(what_nobody_has_seen_is_not_overwritten),
		TEST(two_that_wait_for_the_same),
		TEST(streams_and_directories),
		TEST(opener_overtakes_closer),
		TEST(call_inside_a_call_counts_once),
		TEST(threads_keep_generations_apart),
		TEST(threads_keep_ordinary_generations_apart),
		TEST(what_is_done_plainly_is_the_same),
		TEST(what_is_not_plain_is_left_alone),
		TEST(handlers_are_theirs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
