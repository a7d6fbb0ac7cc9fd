// SPDX-License-Identifier: MIT
//
// A moment at which a program sleeps that is awake most of the time; and one that never sleeps.
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "engine/witness/pauses.h"

enum { LOOKS = 32 };

static uint64_t used_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

// Computes for `ns` between any two sleeps; 0: for ever.
static pid_t start(uint64_t ns)
{
	pid_t parent = getpid(), pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (getppid() == parent) {
		uint64_t begun = used_ns();
		while (!ns || used_ns() - begun < ns)
			;
		nanosleep(&(struct timespec){.tv_nsec = 4000000}, NULL);
	}
	_exit(0);
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void of_one_that_ticks(void **state)
{
	struct pauses p = {0};
	unsigned found = 0;
	pid_t pid = start(4000000);
	(void)state;
	for (unsigned i = 0; i < LOOKS; i++) {
		p.missed = 0;
		found += pauses_await(&p, pid);
		nanosleep(&(struct timespec){.tv_nsec = 3000000}, NULL);
	}
	end(pid);
	assert_true(found > LOOKS / 4 * 3); // by chance half of them, or fewer
}

static void of_one_that_never_sleeps(void **state)
{
	struct pauses p = {0};
	pid_t pid = start(0);
	(void)state;
	while (p.missed < 3)
		pauses_await(&p, pid);
	uint64_t begun = used_ns();
	for (unsigned i = 0; i < 100; i++)
		assert_false(pauses_await(&p, pid)); // at once: a hundred waits would take eight seconds
	assert_true(used_ns() - begun < 1000000000);
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_one_that_ticks), cmocka_unit_test(of_one_that_never_sleeps)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
