// SPDX-License-Identifier: MIT
//
// What a process does that holds the end of a pipe: in which call it sleeps, and since which look at least.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/sets/set_outside.h"

static struct set_outside_seen seen;
static struct set_outside_does does;
static pid_t pid;
static int asks[2];

// A child that sleeps in read, and goes back to it after each byte.
static int begin(void **state)
{
	char byte;
	bool stopped;
	(void)state;
	if (pipe(asks))
		return -1;
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			if (read(asks[0], &byte, 1) < 0)
				_exit(1);
	}
	while (!proc_asleep(pid, &stopped))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return 0;
}

static int end(void **state)
{
	(void)state;
	set_outside_deinit(&seen);
	close(asks[0]);
	close(asks[1]);
	kill(pid, SIGKILL);
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

static void where_it_sleeps(void **state)
{
	(void)state;
	assert_true(set_outside_ask(&seen, getpid(), pid, &does));
	assert_true(does.child && does.sleeps);
	assert_string_equal(does.call, "read");
	assert_int_equal(does.still_ns, 0); // it has been seen but once
	assert_true(set_outside_ask(&seen, pid, pid, &does));
	assert_false(does.child);
	assert_true(does.still_ns > 0);
	assert_int_equal(seen.n, 1);
}

static uint64_t switches(void)
{
	struct proc_tasks now = {0};
	assert_int_equal(proc_tasks_read(pid, false, &now), 0);
	uint64_t n = now.v[0].switches;
	proc_tasks_deinit(&now);
	return n;
}

static void it_has_run_since(void **state)
{
	bool stopped;
	(void)state;
	assert_true(set_outside_ask(&seen, getpid(), pid, &does));
	uint64_t before = switches();
	assert_int_equal(write(asks[1], "x", 1), 1);
	while (switches() == before || !proc_asleep(pid, &stopped))
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	assert_true(set_outside_ask(&seen, getpid(), pid, &does));
	assert_int_equal(does.still_ns, 0);
	assert_true(set_outside_ask(&seen, getpid(), pid, &does));
	assert_true(does.still_ns > 0);
}

static void it_is_gone(void **state)
{
	(void)state;
	assert_false(set_outside_ask(&seen, getpid(), INT32_MAX, &does));
	assert_int_equal(seen.n, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(where_it_sleeps), TEST(it_has_run_since), TEST(it_is_gone)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
