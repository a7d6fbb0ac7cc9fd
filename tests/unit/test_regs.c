// SPDX-License-Identifier: MIT
//
// Threads that are stopped for their registers. One in vfork sleeps where no stop reaches
// it: it stops when its child has ended, long after whoever asked has given up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/target/regs.h"

enum { SOON_NS = 1000000, NAP_NS = 1000000, NAPS = 20000 };

static void nap(void)
{
	nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
}

static char state_of(pid_t pid)
{
	struct proc_task t;
	return proc_task_read(pid, pid, false, &t) ? t.state : 0;
}

static void until(pid_t pid, char state)
{
	for (int i = 0; i < NAPS && state_of(pid) != state; i++)
		nap();
	assert_int_equal(state_of(pid), state);
}

// vfork as the kernel knows it, but with memory of its own: ThreadSanitizer makes vfork a fork.
static long vforked(void)
{
	return syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
}

// A process that waits in vfork until `go` is written to or closed, and ends with 7.
static pid_t in_vfork(int go[2])
{
	assert_int_equal(pipe(go), 0);
	pid_t pid = fork();
	if (!pid) {
		char byte;
		close(go[1]);
		if (!vforked()) {
			ssize_t n = read(go[0], &byte, 1);
			_exit(n < 0);
		}
		_exit(7);
	}
	close(go[0]);
	until(pid, 'D');
	return pid;
}

static void ends_with_7(pid_t pid, bool (*step)(pid_t pid))
{
	siginfo_t si = {0};
	for (int i = 0; i < NAPS && !si.si_pid; i++) {
		step(pid);
		assert_int_equal(waitid(P_PID, (id_t)pid, &si, WEXITED | WNOHANG), 0);
		nap();
	}
	if (!si.si_pid)
		kill(pid, SIGKILL);
	assert_int_equal(si.si_code, CLD_EXITED);
	assert_int_equal(si.si_status, 7);
}

static bool reap(pid_t pid)
{
	regs_reap(pid);
	return true;
}

// Somebody else's wait may hear of the stop first.
static bool hear(pid_t pid)
{
	siginfo_t si = {0};
	bool heard = !waitid(P_PID, (id_t)pid, &si, WSTOPPED | WNOHANG) && si.si_pid; // -1: it has ended
	return heard && regs_stopped(pid, si.si_status);
}

static void too_late(bool (*step)(pid_t pid))
{
	int go[2];
	struct proc_task t = {.tid = in_vfork(go)};
	assert_false(regs_take(&t, true, proc_now_ns() + SOON_NS));
	assert_false(t.got_regs);
	close(go[1]);
	ends_with_7(t.tid, step);
}

static void who_stops_late_is_let_go(void **state)
{
	(void)state;
	too_late(reap);
	too_late(hear);
}

static void who_is_gone_is_forgotten(void **state)
{
	(void)state;
	int go[2];
	struct proc_task t = {.tid = in_vfork(go)};
	assert_false(regs_take(&t, true, proc_now_ns() + SOON_NS));
	kill(t.tid, SIGKILL);
	assert_int_equal(waitpid(t.tid, NULL, 0), t.tid);
	close(go[1]);
	regs_reap(0);
	assert_false(regs_stopped(t.tid, SIGTRAP));
}

static void registers_of_a_sleeper(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (!pid)
		for (;;)
			pause();
	until(pid, 'S');
	struct proc_task t = {.tid = pid};
	assert_true(regs_take(&t, true, UINT64_MAX));
	assert_true(t.got_regs);
	assert_int_equal(state_of(pid), 't');
	regs_release(&t);
	free(t.vectors);
	until(pid, 'S');
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

// It may have come to a wait that a stop ends since it was looked at.
static void a_wait_is_not_seen_to_end(void **state)
{
	(void)state;
	int event = eventfd(0, 0);
	pid_t pid = fork();
	if (!pid) {
		struct epoll_event e = {.events = EPOLLIN};
		int set = epoll_create1(0);
		_exit(epoll_ctl(set, EPOLL_CTL_ADD, event, &e) || epoll_wait(set, &e, 1, -1) != 1);
	}
	struct proc_task seen;
	while (!proc_task_read(pid, pid, true, &seen) || seen.nr != SYS_epoll_wait)
		nap();
	struct proc_task t = {.tid = pid};
	assert_true(regs_take(&t, false, UINT64_MAX));
	assert_true(t.got_regs);
	free(t.vectors);
	uint64_t one = 1;
	int status;
	assert_int_equal(write(event, &one, sizeof(one)), sizeof(one));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(event);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_stops_late_is_let_go),
		cmocka_unit_test(who_is_gone_is_forgotten),
		cmocka_unit_test(registers_of_a_sleeper),
		cmocka_unit_test(a_wait_is_not_seen_to_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
