// SPDX-License-Identifier: MIT
//
// Which signals can reach a signalfd, as the kernel says of this process itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/suspects/signal_wait.h"

static sigset_t set;
static int fd;
static char why[160];

static int begin(void **state)
{
	(void)state;
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);
	sigemptyset(&set);
	fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	return fd < 0 ? -1 : 0;
}

static int end(void **state)
{
	(void)state;
	return close(fd);
}

static int deaf(int sig)
{
	if (sig) {
		sigaddset(&set, sig);
		signalfd(fd, &set, 0);
	}
	return signal_wait_deaf(getpid(), fd, why, sizeof(why));
}

static void nothing_is_asked_for(void **state)
{
	(void)state;
	assert_int_equal(deaf(0), 1);
	assert_string_equal(why, "");
}

static void nobody_blocks_it(void **state)
{
	(void)state;
	assert_int_equal(deaf(SIGUSR1), 1);
	assert_string_equal(why, "SIGUSR1 is blocked by no thread");
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(deaf(0), 0);
	signal(SIGUSR1, SIG_IGN); // it comes all the same
	assert_int_equal(deaf(0), 0);
	raise(SIGUSR1);
	struct signalfd_siginfo info;
	assert_int_equal(read(fd, &info, sizeof(info)), sizeof(info));
}

static void ends_of_children_are_ignored(void **state)
{
	(void)state;
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(deaf(SIGCHLD), 0);
	signal(SIGCHLD, SIG_IGN);
	assert_int_equal(deaf(0), 1);
	assert_string_equal(why, "SIGCHLD is ignored, so that the end of a child sends none");
	assert_int_equal(deaf(SIGUSR1), 1);
	assert_non_null(strstr(why, ", SIGUSR1 is blocked by no thread") ?: strstr(why, "SIGUSR1 is blocked by no thread, "));
	sigprocmask(SIG_BLOCK, &set, NULL);
	assert_int_equal(deaf(0), 0); // one can come
}

static void no_signalfd(void **state)
{
	(void)state;
	assert_int_equal(signal_wait_deaf(getpid(), 0, NULL, 0), -1);
	assert_int_equal(signal_wait_deaf(getpid(), 1000, NULL, 0), -1);
}

static void judged(void **state)
{
	(void)state;
	struct proc_task task = {.tid = 1, .state = 'S', .nr = SYS_epoll_pwait};
	struct suspect s = {.c = {.fd = fd, .gen = 1}};
	struct inspection l = {.pid = getpid(), .tasks = {&task, 1}};
	assert_int_equal(deaf(SIGUSR1), 1);
	signal_wait_judge(&l, &s, true);
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_TRUE);
	signal_wait_judge(&l, &s, false);
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_FALSE);
	task.args[4] = 8; // a mask for the wait alone
	signal_wait_judge(&l, &s, true);
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_OPEN);
	task.args[4] = 0;
	task.state = 'R';
	signal_wait_judge(&l, &s, true);
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_OPEN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal_wait_judge(&l, &s, true);
	assert_int_equal(s.a[PROOF_P3].holds, HOLDS_FALSE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_asked_for), TEST(nobody_blocks_it), TEST(ends_of_children_are_ignored), TEST(no_signalfd), TEST(judged),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
