// SPDX-License-Identifier: MIT
//
// A process whose first thread has ended, and one that is as usual.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/living.h"
#include "base/maps.h"

static char word[] = "first";
static int report[2];

static char state_of(pid_t pid)
{
	char path[40], text[256] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strrchr(text, ')')[2];
}

static void *lives_on(void *arg)
{
	(void)arg;
	if (write(report[1], "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

// A child that goes on without its first thread.
static pid_t begin(void)
{
	assert_int_equal(pipe(report), 0);
	pid_t pid = fork();
	if (!pid) {
		pthread_t t;
		if (pthread_create(&t, NULL, lives_on, NULL))
			_exit(1);
		pthread_exit(NULL);
	}
	char c;
	assert_int_equal(read(report[0], &c, 1), 1);
	while (state_of(pid) != 'Z')
		usleep(1000);
	close(report[0]);
	close(report[1]);
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void its_own_number_where_all_is_as_usual(void **state)
{
	(void)state;
	errno = E2BIG;
	assert_int_equal(living_of(getpid()), getpid());
	assert_int_equal(living_of(INT_MAX), INT_MAX);
	assert_int_equal(errno, E2BIG);
	siginfo_t all;
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &all, WEXITED | WNOWAIT), 0);
	assert_int_equal(living_of(pid), pid); // all of it has ended
	end(pid);
}

static void another_threads_where_the_first_has_ended(void **state)
{
	(void)state;
	pid_t pid = begin();
	char path[64];
	errno = E2BIG;
	pid_t tid = living_of(pid);
	assert_int_equal(errno, E2BIG);
	assert_int_not_equal(tid, pid);
	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_not_equal(state_of(tid), 'Z');
	end(pid);
}

static void memory_of_it(void **state)
{
	(void)state;
	pid_t pid = begin();
	char got[sizeof(word)] = "", other[sizeof(word)] = "other";
	struct iovec here = {got, sizeof(got)}, there = {word, sizeof(word)};
	assert_int_equal(living_read(pid, &here, 1, &there, 1), sizeof(got));
	assert_string_equal(got, word);
	assert_int_equal(living_write(pid, &(struct iovec){other, sizeof(other)}, 1, &there, 1), sizeof(other));
	assert_int_equal(living_read(pid, &here, 1, &there, 1), sizeof(got));
	assert_string_equal(got, other);
	end(pid);
	assert_int_equal(living_read(pid, &here, 1, &there, 1), -1);
	assert_int_equal(errno, ESRCH);
}

static int count(void *arg, const struct maps_line *m)
{
	(void)m;
	++*(unsigned *)arg;
	return 0;
}

static void mappings_of_it(void **state)
{
	(void)state;
	pid_t pid = begin();
	unsigned n = 0;
	assert_int_equal(maps_each(pid, count, &n), 0);
	assert_true(n > 5);
	end(pid);
}

static void descriptors_of_it(void **state)
{
	(void)state;
	pid_t pid = begin();
	int pidfd = living_pidfd(pid);
	if (pidfd >= 0) { // a kernel that has them
		int copy = (int)syscall(SYS_pidfd_getfd, pidfd, 0, 0);
		assert_true(copy >= 0);
		close(copy);
		close(pidfd);
	}
	end(pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_own_number_where_all_is_as_usual), cmocka_unit_test(another_threads_where_the_first_has_ended),
		cmocka_unit_test(memory_of_it), cmocka_unit_test(mappings_of_it), cmocka_unit_test(descriptors_of_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
