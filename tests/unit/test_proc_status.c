// SPDX-License-Identifier: MIT
//
// Numbers of /proc/PID/status.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <limits.h>
#include <unistd.h>

#include "base/proc_status.h"

static void numbers_of_this_process(void **state)
{
	(void)state;
	assert_int_equal(proc_status_number(getpid(), "Tgid:", false), getpid());
	assert_int_equal(proc_status_number(getpid(), "PPid:", true), getppid());
	assert_int_equal(proc_status_number(getpid(), "NSpid:", true), getpid()); // the innermost namespace is this one
	assert_int_equal(proc_status_number(getpid(), "Uid:", false), getuid());
}

static void none_is_minus_one(void **state)
{
	(void)state;
	assert_int_equal(proc_status_number(getpid(), "Nothing:", false), -1);
	assert_int_equal(proc_status_number(getpid(), "Name:", false), -1); // no number
	assert_int_equal(proc_status_number(INT_MAX, "Tgid:", false), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers_of_this_process), cmocka_unit_test(none_is_minus_one)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
