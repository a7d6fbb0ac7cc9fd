// SPDX-License-Identifier: MIT
//
// Threads are stopped for their registers, and notice nothing: a child waits, in a call that a stop ends, or runs and is
// sent signals.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "find/registers.h"
#include "sanitized.h"

enum { LONG_MS = 1 << 30, SIGNALS = 300 };

static atomic_int *handled;
static int event;

static void wait_by_epoll(int timeout)
{
	struct epoll_event e = {.events = EPOLLIN};
	int set = epoll_create1(0);
	_exit(epoll_ctl(set, EPOLL_CTL_ADD, event, &e) || epoll_wait(set, &e, 1, timeout) != 1);
}

static void without_end(void)
{
	wait_by_epoll(-1);
}

static void for_long(void)
{
	wait_by_epoll(LONG_MS);
}

static void for_a_signal(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	_exit(sigwaitinfo(&set, NULL) != SIGUSR1);
}

static void on_signal(int sig)
{
	atomic_fetch_add(handled, 1);
}

static void spin(void)
{
	signal(SIGUSR1, on_signal);
	for (atomic_store(handled, 0);;)
		;
}

static pid_t start(void (*child)(void))
{
	event = eventfd(0, 0);
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		child();
	}
	return pid;
}

static long call_of(pid_t pid)
{
	char path[32], text[64] = "";
	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
	int fd = open(path, O_RDONLY);
	if (fd < 0)
		skip();
	if (read(fd, text, sizeof(text) - 1) < 0)
		skip(); // nothing may be traced here
	close(fd);
	return strtol(text, NULL, 10);
}

// Stops its only thread, which was seen like this, and lets it go. How many were stopped.
static size_t stop(pid_t pid, enum registers_which which, struct image_thread seen)
{
	struct registers_hold held;
	seen.tid = pid;
	struct image im = {.threads = &seen, .nthreads = 1, .pid = pid};
	int e = registers_take(&im, which, &held);
	if (e == -EPERM)
		skip();
	assert_int_equal(e, 0);
	size_t n = held.n;
	registers_release(&held);
	return n;
}

static int end(pid_t pid)
{
	int status;
	uint64_t one = 1;
	assert_int_equal(write(event, &one, sizeof(one)), sizeof(one));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(event);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static pid_t asleep(void (*child)(void), long nr)
{
	pid_t pid = start(child);
	while (call_of(pid) != nr)
		sched_yield();
	return pid;
}

static const struct image_thread ran = {.on_cpu = true, .nr = -1};

// It ran when it was looked at, and has come to a wait since.
static void came_to_a_wait(void **state)
{
	void (*const waits[])(void) = {without_end, for_long};
	for (int i = 0; i < 2; i++) {
		pid_t pid = asleep(waits[i], SYS_epoll_wait);
		stop(pid, REGISTERS_GLANCE, ran);
		stop(pid, REGISTERS_QUIET, (struct image_thread){.nr = SYS_futex});
		assert_int_equal(end(pid), 0);
	}
}

static void came_to_wait_for_signals(void **state)
{
	pid_t pid = asleep(for_a_signal, SYS_rt_sigtimedwait);
	stop(pid, REGISTERS_GLANCE, ran);
	kill(pid, SIGUSR1);
	assert_int_equal(end(pid), 0);
}

static void waits_are_left_alone(void **state)
{
	pid_t pid = asleep(without_end, SYS_epoll_wait);
	const struct image_thread seen = {.nr = SYS_epoll_wait, .args = {0, 0, 1, UINT64_MAX}};
	assert_int_equal(stop(pid, REGISTERS_QUIET, seen), 0);
	assert_int_equal(stop(pid, REGISTERS_ALL, seen), 1);
	assert_int_equal(end(pid), 0);
}

// To wait as long again would be worse than an interrupted call.
static void a_timeout_is_not_begun_anew(void **state)
{
	pid_t pid = asleep(for_long, SYS_epoll_wait);
	assert_int_equal(stop(pid, REGISTERS_ALL, (struct image_thread){.nr = SYS_epoll_wait, .args = {0, 0, 1, LONG_MS}}), 1);
	assert_int_equal(end(pid), 1);
}

static void what_is_read(void **state)
{
	pid_t pid = asleep(without_end, SYS_epoll_wait);
	struct image_thread t = {.tid = pid, .on_cpu = true, .nr = -1};
	struct image im = {.threads = &t, .nthreads = 1, .pid = pid};
	struct registers_hold held;
	assert_int_equal(registers_take(&im, REGISTERS_QUIET, &held), 0);
	assert_false(t.on_cpu);
	assert_true(t.placed && t.whole && t.regs[CTP_REG_SP] && t.regs[CTP_REG_PC]);
	registers_release(&held);
	assert_int_equal(held.n, 0);
	assert_int_equal(end(pid), 0);
}

// Woken, but not on: what the call gives is alive.
static void who_was_woken_does_not_wait(void **state)
{
	struct image_thread t = {.tid = 1};
	struct user_regs_struct u = {.orig_rax = SYS_epoll_wait, .rax = (unsigned long long)-EINTR};
	image_take_regs(&t, &u);
	assert_int_equal(t.nr, SYS_epoll_wait);
	u.rax = 1;
	image_take_regs(&t, &u);
	assert_int_equal(t.nr, -1);
}

// Each of them is handled, whichever comes first: it or the stop.
static void no_signal_is_lost(void **state)
{
	if (not_under(SANITIZED_THREAD, "its signals wait for a call"))
		skip();
	handled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(handled, -1);
	pid_t pid = start(spin);
	while (atomic_load(handled))
		sched_yield();
	for (int i = 1; i <= SIGNALS; i++) {
		kill(pid, SIGUSR1);
		stop(pid, REGISTERS_GLANCE, ran);
		while (atomic_load(handled) != i)
			sched_yield();
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(event);
	munmap(handled, 4096);
}

static void who_has_gone(void **state)
{
	pid_t pid = start(without_end);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(event);
	assert_int_equal(stop(pid, REGISTERS_GLANCE, ran), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(came_to_a_wait),
		cmocka_unit_test(came_to_wait_for_signals),
		cmocka_unit_test(waits_are_left_alone),
		cmocka_unit_test(a_timeout_is_not_begun_anew),
		cmocka_unit_test(what_is_read),
		cmocka_unit_test(who_was_woken_does_not_wait),
		cmocka_unit_test(no_signal_is_lost),
		cmocka_unit_test(who_has_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
