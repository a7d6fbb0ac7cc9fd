// SPDX-License-Identifier: MIT
//
// What the engine asks of the kernel and of copies of the tables about a
// descriptor that is open: asked of this process itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/suspects/stuck_wait.h"

enum { F = 7, C = 41 };

static struct suspect waiter(uint32_t how, uint32_t events)
{
	struct suspect s = {.cand = STUCK_WAIT_NO_CAND, .c = {.fd = F, .gen = 1}, .s = {.id = C, .stack = 5, .since = 100, .nwaits = 1}};
	s.s.waits[0] = (struct ctp_wait){.fd = F, .gen = 1, .events = events, .how = how};
	return s;
}

static int next_number(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(fd);
	return fd;
}

static void ready_is_asked_of_the_kernel(void **state)
{
	(void)state;
	int fd[2], whole = 10, next;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	next = next_number();
	assert_int_equal(stuck_wait_ready(getpid(), fd[0], EPOLLIN), 0);
	assert_int_equal(stuck_wait_ready(getpid(), fd[0], EPOLLOUT), 1);
	assert_int_equal(stuck_wait_ready(getpid(), fd[0], EPOLLIN | EPOLLOUT), 0); // of both
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(stuck_wait_ready(getpid(), fd[0], EPOLLIN | EPOLLOUT), 1);
	assert_int_equal(stuck_wait_ready(getpid(), fd[0], 0), 0);
	if (!setsockopt(fd[0], SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole)) && stuck_wait_ready(getpid(), fd[0], EPOLLIN) == 1)
		print_message("SO_RCVLOWAT means nothing to poll on this kernel's Unix sockets\n");
	assert_int_equal(next_number(), next); // no copy is left
	assert_int_equal(stuck_wait_ready(getpid(), 1000, EPOLLIN), -1); // not open
	close(fd[0]);
	close(fd[1]);
}

static void whether_it_may_be_written(void **state)
{
	(void)state;
	int fd[2];
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(stuck_wait_takes(getpid(), fd[0]), 0);
	assert_int_equal(stuck_wait_takes(getpid(), fd[1]), 1);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(stuck_wait_takes(getpid(), 1000), -1);
}

static void whether_the_peer_has_ended(void **state)
{
	(void)state;
	int fd[2];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fd), 0);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(stuck_wait_ended(getpid(), fd[0]), 0);
	shutdown(fd[1], SHUT_WR);
	assert_int_equal(stuck_wait_ended(getpid(), fd[0]), 1);
	close(fd[0]);
	close(fd[1]);
	assert_int_equal(stuck_wait_ended(getpid(), 1000), -1);
}

static void whether_a_descriptor_is_free(void **state)
{
	(void)state;
	struct rlimit had, few;
	int more[16], n = 0;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &had), 0);
	few = had;
	assert_int_equal(stuck_wait_can_open(getpid()), 1);
	few.rlim_cur = (rlim_t)next_number() + 8;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	while (n < 16 && (more[n] = dup(0)) >= 0)
		n++;
	assert_in_range(n, 2, 8);
	close(more[--n]); // it looks through this one
	assert_int_equal(stuck_wait_can_open(getpid()), 0);
	close(more[--n]);
	assert_int_equal(stuck_wait_can_open(getpid()), 1);
	while (n > 0)
		close(more[--n]);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &had), 0);
}

static void a_timer_is_armed_or_not(void **state)
{
	(void)state;
	struct itimerspec hour = {.it_value.tv_sec = 3600}, now = {.it_value.tv_nsec = 1}, never = {0};
	struct itimerspec soon = {{7, 5}, {0, 1}};
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), epfd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev = {.events = EPOLLIN};
	assert_int_equal(stuck_wait_disarmed(getpid(), fd), 1);
	assert_int_equal(stuck_wait_expires_ns(getpid(), fd), 0);
	timerfd_settime(fd, 0, &hour, NULL);
	assert_int_equal(stuck_wait_disarmed(getpid(), fd), 0);
	assert_in_range(stuck_wait_expires_ns(getpid(), fd), 1000000000000, 3600000000000);
	timerfd_settime(fd, 0, &soon, NULL);
	assert_int_equal(stuck_wait_expires_ns(getpid(), fd), 7000000005);
	assert_int_equal(stuck_wait_expires_ns(getpid(), epfd), 0);
	timerfd_settime(fd, 0, &never, NULL);
	assert_int_equal(stuck_wait_disarmed(getpid(), fd), 1);
	timerfd_settime(fd, 0, &now, NULL);
	assert_int_equal(epoll_ctl(epfd, EPOLL_CTL_ADD, fd, &ev), 0);
	assert_int_equal(epoll_wait(epfd, &ev, 1, -1), 1);
	assert_int_equal(stuck_wait_disarmed(getpid(), fd), 0); // expired, and not read yet
	assert_int_equal(stuck_wait_disarmed(getpid(), epfd), -1);
	close(fd);
	close(epfd);
}

// Others made where it was made: of a timer that has expired, and was not read since, the kernel says that no time is left.
static void others_like_it_tick(void **state)
{
	(void)state;
	enum { FDS = 1024, TICKERS = 3, STACK = 12 };
	static struct ctp_fd fds[FDS];
	struct ctp_header header = {0};
	struct ctp_ext ext = {.fd_high = FDS - 1};
	struct ctp_region r = {.header = &header, .ext = &ext, .fds = fds, .fds_max = FDS};
	struct itimerspec hours = {.it_value.tv_sec = 3600, .it_interval.tv_sec = 3600}, often = {.it_value.tv_nsec = 1, .it_interval.tv_sec = 3600},
			  off = {.it_interval.tv_sec = 3600};
	struct epoll_event ev = {.events = EPOLLIN};
	int timer[TICKERS], epfd = epoll_create1(EPOLL_CLOEXEC);
	for (int i = 0; i < TICKERS; i++) {
		timer[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
		assert_in_range(timer[i], 0, FDS - 1);
		fds[timer[i]] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_TIMERFD, .opener_stack = STACK};
	}
	struct suspect s = {.c = {.fd = timer[0], .was = fds[timer[0]]}};
	timerfd_settime(timer[1], 0, &hours, NULL);
	timerfd_settime(timer[2], 0, &hours, NULL);
	assert_int_equal(stuck_wait_ticking(&r, &s, getpid()), 2);
	timerfd_settime(timer[2], 0, &often, NULL);
	assert_int_equal(epoll_ctl(epfd, EPOLL_CTL_ADD, timer[2], &ev), 0);
	assert_int_equal(epoll_wait(epfd, &ev, 1, -1), 1);
	assert_int_equal(stuck_wait_ticking(&r, &s, getpid()), 2);
	timerfd_settime(timer[2], 0, &off, NULL);
	assert_int_equal(stuck_wait_ticking(&r, &s, getpid()), 0);
	for (int i = 0; i < TICKERS; i++)
		close(timer[i]);
	close(epfd);
}

static void a_row_is_the_open_files(void **state)
{
	(void)state;
	int fd[2], epfd = epoll_create1(EPOLL_CLOEXEC), other;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT};
	struct registrations rows;
	assert_int_equal(pipe(fd), 0);
	assert_int_equal(epoll_ctl(epfd, EPOLL_CTL_ADD, fd[0], &ev), 0);
	assert_int_equal(registrations_read(getpid(), 0, UINT64_MAX, &rows), 0);
	assert_int_equal(rows.n, 1);
	if (registrations_is_open_as(getpid(), &rows.v[0], fd[0]) < 0) {
		registrations_deinit(&rows);
		skip(); // no kcmp here
	}
	assert_true(stuck_wait_registered(&rows.v[0], getpid(), fd[0]));
	assert_true(rows.v[0].events & CTP_REG_EVENTS);
	registrations_deinit(&rows);
	assert_int_equal(write(fd[1], "x", 1), 1);
	assert_int_equal(epoll_wait(epfd, &ev, 1, -1), 1);
	assert_int_equal(registrations_read(getpid(), 0, UINT64_MAX, &rows), 0);
	assert_false(rows.v[0].events & CTP_REG_EVENTS); // it has fired
	other = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup2(other, fd[0]), fd[0]);
	assert_false(stuck_wait_registered(&rows.v[0], getpid(), fd[0])); // the number is another's now
	registrations_deinit(&rows);
	close(other);
	close(fd[0]);
	close(fd[1]);
	close(epfd);
}

static void directions_are_of_the_wait(void **state)
{
	(void)state;
	struct suspect s = waiter(CTP_WAIT_EAGAIN, EPOLLOUT);
	assert_int_equal(stuck_wait_directions(&s), EPOLLOUT);
	s = waiter(CTP_WAIT_REGISTERED, EPOLLRDHUP | EPOLLET);
	assert_int_equal(stuck_wait_directions(&s), EPOLLIN);
	s.wait = -1;
	s.c.was.reg_events = EPOLLIN | EPOLLOUT | EPOLLET;
	assert_int_equal(stuck_wait_directions(&s), EPOLLIN | EPOLLOUT);
}

static void a_try_alone_is_not_firm(void **state)
{
	(void)state;
	struct suspect s = waiter(CTP_WAIT_REGISTERED, EPOLLIN);
	assert_true(stuck_wait_firm(&s, -1));
	s = waiter(CTP_WAIT_EAGAIN, EPOLLIN);
	assert_false(stuck_wait_firm(&s, -1));
	s.c.was.learned = C;
	assert_false(stuck_wait_firm(&s, -1)); // woken by it, but from another place
	s.c.was.learned_stack = 5;
	assert_true(stuck_wait_firm(&s, -1));
	s.wait = -1; // it said nothing, and never read: it was woken, and left alone what had come
	s.c.was.reg_events = EPOLLIN | EPOLLET;
	assert_false(stuck_wait_firm(&s, -1));
	s.c.was.last_in = C;
	assert_true(stuck_wait_firm(&s, -1));
	s.s.tried = (uint64_t)(uint32_t)s.c.fd << 32 | s.c.was.gen; // nothing since EAGAIN
	assert_false(stuck_wait_firm(&s, -1));
	s.c.was.event_time = s.s.since; // it has not run since
	assert_true(stuck_wait_firm(&s, -1));
	s.wait = 0;
	s.s.flags = CTP_STATE_POOLED;
	s.s.called = s.s.stack;
	assert_false(stuck_wait_firm(&s, -1));
	s = waiter(CTP_WAIT_EAGAIN, EPOLLIN);
	s.c.was.leads = C;
	s.c.was.reg_by = 2;
	s.c.was.reg_time = 99;
	assert_false(stuck_wait_firm(&s, -1));
	s.c.was.reg_time = 101; // the scheduler did it, after the switch
	assert_true(stuck_wait_firm(&s, -1));
}

static void what_is_refuted_is_dropped(void **state)
{
	(void)state;
	struct suspect s = waiter(CTP_WAIT_EAGAIN, EPOLLIN);
	s.rule = RULE_LOST_WAKEUP;
	assert_false(stuck_wait_refuted(&s)); // not one of ours
	s.rule = RULE_ONESHOT;
	s.ready = 1;
	s.a[PROOF_P2].holds = HOLDS_OPEN;
	s.a[PROOF_P3].holds = HOLDS_TRUE;
	assert_false(stuck_wait_refuted(&s));
	s.ready = 0; // it tried, and there is nothing to read: it may wait for anything
	assert_true(stuck_wait_refuted(&s));
	s.a[PROOF_P2].holds = HOLDS_OPEN;
	s.ready = -1;
	assert_false(stuck_wait_refuted(&s)); // that is not known: no yes, and no no
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_OPEN);
	s.a[PROOF_P3].holds = HOLDS_TRUE;
	s.ready = 0;
	s.a[PROOF_P6A].holds = HOLDS_TRUE; // but nobody has it
	assert_false(stuck_wait_refuted(&s));
	s.a[PROOF_P3].holds = HOLDS_FALSE;
	assert_true(stuck_wait_refuted(&s) && s.gone);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ready_is_asked_of_the_kernel), cmocka_unit_test(a_timer_is_armed_or_not), cmocka_unit_test(others_like_it_tick),
		cmocka_unit_test(whether_it_may_be_written),
		cmocka_unit_test(whether_the_peer_has_ended),
		cmocka_unit_test(whether_a_descriptor_is_free), cmocka_unit_test(a_row_is_the_open_files),      cmocka_unit_test(directions_are_of_the_wait),
		cmocka_unit_test(a_try_alone_is_not_firm),      cmocka_unit_test(what_is_refuted_is_dropped),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
