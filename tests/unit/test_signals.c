// SPDX-License-Identifier: MIT
//
// When a look's time is over: at its deadline, and, where it hurries, as soon
// as somebody else sends SIGTERM; until that is taken.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/target/signals.h"
#include "sanitized.h"

static void by_another(int sig)
{
	pid_t self = getpid(), child = fork();
	if (!child)
		_exit(kill(self, sig));
	int status;
	pid_t ended;
	while ((ended = waitpid(child, &status, 0)) < 0 && errno == EINTR) // by the signal itself
		;
	assert_int_equal(ended, child);
	assert_int_equal(status, 0);
	while (!signals_pending()) // a sanitizer may hand the signal over later, when this thread sleeps
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static void late_at_its_deadline(void **state)
{
	(void)state;
	assert_true(signals_late(clock_mono_ns() - 1));
	assert_false(signals_late(UINT64_MAX));
}

static void sigterm_ends_what_hurries(void **state)
{
	(void)state;
	by_another(SIGTERM);
	assert_true(signals_waiting());
	assert_false(signals_hurried() || signals_late(UINT64_MAX)); // a look of half a second takes its time
	signals_hurry(true);
	assert_true(signals_hurried() && signals_late(UINT64_MAX));
	assert_int_equal(signals_take(SIGTERM, 1).sent, 1);
	assert_false(signals_hurried() || signals_late(UINT64_MAX));
	by_another(SIGHUP);
	assert_false(signals_late(UINT64_MAX)); // that goes on to the program afterwards
	by_another(SIGTERM);
	assert_true(signals_late(UINT64_MAX));
	signals_hurry(false);
	assert_false(signals_late(UINT64_MAX));
	signals_take(SIGTERM, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(late_at_its_deadline), cmocka_unit_test(sigterm_ends_what_hurries),
	};
	if (not_under(SANITIZED_THREAD, "it has one thread, and the sanitizer may hand signals over never"))
		return SKIPPED_PROGRAM;
	signals_init();
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	signals_restore();
	return failed;
}
