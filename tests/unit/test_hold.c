// SPDX-License-Identifier: MIT
//
// That nobody ran between two looks at a process's threads: a child that sleeps, and a first
// look that was made different by hand, as if it had run since.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "engine/inspect/hold.h"
#include "sanitized.h"

static pid_t child;
static struct suspect s, *who = &s;
static struct inspection l;

static void look_at_it(void)
{
	proc_tasks_deinit(&l.tasks);
	do { // until it sleeps there
		proc_tasks_deinit(&l.tasks);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		assert_int_equal(proc_tasks_read(child, true, &l.tasks), 0);
		assert_int_equal(l.tasks.n, 1);
	} while (l.tasks.v[0].state != 'S' || l.tasks.v[0].nr != SYS_futex);
	l.tasks.v[0].hooked = true;
}

static int begin(void **state)
{
	(void)state;
	pid_t us = getpid();
	child = fork();
	if (!child) {
		static uint32_t word;
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != us)
			_exit(127);
		for (;;)
			syscall(SYS_futex, &word, FUTEX_WAIT, 0, NULL, NULL, 0);
	}
	s = (struct suspect){.nmine = 1};
	l = (struct inspection){.pid = child, .who = &who, .n = 1, .deadline_ns = UINT64_MAX};
	look_at_it();
	return 0;
}

static int end(void **state)
{
	(void)state;
	proc_tasks_deinit(&l.tasks);
	kill(child, SIGKILL);
	return waitpid(child, NULL, 0) == child ? 0 : -1;
}

static bool take(void)
{
	struct proc_tasks base = {0};
	bool taken = hold_take(&l, &base);
	proc_tasks_deinit(&base);
	return taken;
}

static void one_that_sleeps_in_a_hook_has_not_run(void **state)
{
	(void)state;
	struct proc_task *t = &l.tasks.v[0];
	while (!take()) // it may have been on its way to sleep still
		look_at_it();
	t = &l.tasks.v[0];
	l.disturbed = false;
	t->switches--;
	assert_false(take());
	assert_true(l.disturbed);
	assert_int_equal(s.a[PROOF_P6A].holds, HOLDS_OPEN);
	t->switches++;
	assert_true(take());
	t->run_ns--;
	assert_false(take());
	t->run_ns++;
	t->state = 'R';
	assert_false(take());
	t->state = 'S';
	t->tid++;
	assert_false(take());
	t->tid--;
	assert_true(take());
}

// Elsewhere than in a hook it is stopped for its registers, and let go: two context switches, and no more.
static void one_that_was_stopped_has_not_run_either(void **state)
{
	(void)state;
	enum { TRIES = 200 };
	bool taken = false;
	int tries = 0;
	while (!taken && tries++ < TRIES) { // stopping takes too long where the machine is busy
		look_at_it();
		l.tasks.v[0].hooked = false;
		taken = take();
	}
	if (!taken)
		skip(); // it cannot be stopped here
	for (int by = -1; by <= 1; by += 2) {
		do {
			look_at_it();
			l.tasks.v[0].hooked = false;
			l.tasks.v[0].switches += (uint64_t)by;
			assert_false(take());
		} while (!l.tasks.v[0].got_regs);
	}
}

static void nobody_ran_since(void **state)
{
	(void)state;
	while (!hold_rested(&l, &l.tasks))
		look_at_it();
	struct proc_task *t = &l.tasks.v[0];
	t->switches--;
	assert_false(hold_rested(&l, &l.tasks));
	t->switches++;
	t->run_ns--;
	assert_false(hold_rested(&l, &l.tasks));
	t->run_ns++;
	t->state = 'R';
	assert_false(hold_rested(&l, &l.tasks));
	t->state = 'S';
	assert_true(hold_rested(&l, &l.tasks));
	l.tasks.n = 0;
	assert_false(hold_rested(&l, &l.tasks));
	l.tasks.n = 1;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	if (not_under(SANITIZED_THREAD, "the sanitizer has a thread of its own, and one is looked at here"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {
		TEST(one_that_sleeps_in_a_hook_has_not_run), TEST(one_that_was_stopped_has_not_run_either), TEST(nobody_ran_since),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
