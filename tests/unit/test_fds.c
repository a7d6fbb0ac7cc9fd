// SPDX-License-Identifier: MIT
//
// The table of descriptors behind the real hooks: this program defines close,
// open, epoll_ctl ... as libctp.so does, over a fake guest, so that what is
// tested is what runs. Only while `traced` is set does a hook do anything.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "ctp/wait_inference.h"
#include "fake_guest.h"
#include "preload/fds/fd_map.h"
#include "preload/fds/fds_plain.h"
#include "preload/guest/real.h"
#include "sanitized.h"

static struct ctp_fd *entry(int fd)
{
	return &tracer.region.fds[fd];
}

static uint32_t candidates(void)
{
	return tracer.region.ext->cand_count;
}

// `co` reads until EAGAIN and suspends; `other` runs. Returns the other end.
static int wait_on_pipe(int fd[2])
{
	char c;
	assert_int_equal(pipe2(fd, O_NONBLOCK), 0);
	errno = 0;
	assert_int_equal(read(fd[0], &c, 1), -1);
	assert_int_equal(errno, EAGAIN);
	fake_guest_switch(other);
	return fd[1];
}

// ------------------------------------------------------------- generations

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

// ------------------------------------------------------------- candidates

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

// ------------------------------------------------------------- epoll

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
	struct fd_birth b = {.call = CTP_CALL_EVENTFD, .kind = CTP_FD_EVENTFD, .frame = {0x1234, 0x5678, 0}, .nonblock = true};
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
	struct ctp_fd first = opened_and_closed(false), plain = opened_and_closed(true), third = opened_and_closed(false);
	assert_memory_equal(&first, &plain, sizeof(first));
	assert_memory_equal(&first, &third, sizeof(first));
	assert_int_equal(opens, 3);
	assert_int_equal(closes, 3);
	assert_int_equal(entry(ORDINARY)->gen, 3);
}

// A place of which it is not known by what stack it is called, a set, a listener, a waiter, a number from before.
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
	raise(SIGHUP);
	uint64_t first = tracer.region.ext->asked_first;
	assert_true(first && tracer.region.ext->asked_last == first);
	raise(SIGHUP);
	assert_int_equal(tracer.region.ext->asked_first, first);
	assert_true(tracer.region.ext->asked_last > first);
	assert_int_equal(tracer.region.ext->signal_taken, taken);
	assert_true(signal(SIGHUP, SIG_DFL) == plain);
	assert_true(signal(SIGTERM, SIG_DFL) == SIG_IGN);
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

// ------------------------------------------------------------- ready, slept

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

#define TEST(f) cmocka_unit_test_setup_teardown(f, fake_guest_setup, fake_guest_teardown)

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
		TEST(close_under_a_waiter_is_posted),
		TEST(close_under_whom_a_registration_leads_to),
		TEST(close_under_who_read_at_once),
		TEST(close_by_the_waiter_is_not),
		TEST(close_of_nothing_is_not),
		TEST(dup_onto_a_waiter),
		TEST(range_under_waiters),
		TEST(listener_closed),
		TEST(registers_harvests_learns),
		TEST(removal_under_a_waiter_is_posted),
		TEST(same_data_twice_is_ambiguous),
		TEST(what_does_not_block_is_no_wait),
		TEST(what_fcntl_says_holds_for_duplicates),
		TEST(what_gives_up_after_a_time_blocks),
		TEST(same_registration_again),
		TEST(threads_keep_generations_apart),
		TEST(threads_keep_ordinary_generations_apart),
		TEST(what_is_done_plainly_is_the_same),
		TEST(what_is_not_plain_is_left_alone),
		TEST(handlers_are_theirs),
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
