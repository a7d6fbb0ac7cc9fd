// SPDX-License-Identifier: MIT
//
// In which calls a thread may be stopped: a child that sleeps in one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/inspect/restarts.h"

static void reads(int fd)
{
	char c;
	_exit(syscall(SYS_read, fd, &c, 1) < 0);
}

static void receives_all(int fd)
{
	char c[2];
	_exit(recv(fd, c, 2, MSG_WAITALL) < 0);
}

static void receives(int fd)
{
	char c[2];
	_exit(recv(fd, c, 2, 0) < 0);
}

static void waits_for_events(int fd)
{
	int ep = epoll_create1(0);
	struct epoll_event e = {.events = EPOLLIN};
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
	_exit(epoll_wait(ep, &e, 1, -1) < 0);
}

static void sleeps(int fd)
{
	(void)fd;
	pause();
}

static bool may_be_stopped(void (*in)(int fd), int fd, long nr)
{
	pid_t us = getpid(), child = fork();
	if (!child) {
		if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == us)
			in(fd);
		_exit(127);
	}
	struct proc_task t = {0};
	do {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		assert_true(proc_task_read(child, child, true, &t));
	} while (t.state != 'S' || t.nr != nr);
	bool may = restarts_call(child, &t);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return may;
}

static void sockets(void **state)
{
	int fd[2], two = 2, one = 1;
	struct timeval second = {.tv_sec = 1}, none = {0};
	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	assert_true(may_be_stopped(reads, fd[0], SYS_read));
	assert_true(may_be_stopped(receives, fd[0], SYS_recvfrom));
	assert_false(may_be_stopped(receives_all, fd[0], SYS_recvfrom));
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	assert_false(may_be_stopped(reads, fd[0], SYS_read));
	setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &none, sizeof(none));
	setsockopt(fd[0], SOL_SOCKET, SO_RCVLOWAT, &two, sizeof(two));
	assert_false(may_be_stopped(reads, fd[0], SYS_read));
	setsockopt(fd[0], SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
	assert_false(may_be_stopped(waits_for_events, fd[0], SYS_epoll_wait));
	assert_true(may_be_stopped(sleeps, fd[0], SYS_pause));
	close(fd[0]);
	close(fd[1]);
}

static void pipes(void **state)
{
	int fd[2];
	(void)state;
	assert_int_equal(pipe(fd), 0);
	assert_true(may_be_stopped(reads, fd[0], SYS_read));
	close(fd[0]);
	close(fd[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sockets), cmocka_unit_test(pipes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
