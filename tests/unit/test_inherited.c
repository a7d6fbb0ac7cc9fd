// SPDX-License-Identifier: MIT
//
// What a child of ctp-run's keeps when it drops what an exec would close.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/target/inherited.h"

static bool open_here(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

// The program's own, and what it asks for. The lock is free as soon as the parent lets it go.
static void a_child_keeps_no_lock(void **state)
{
	int lock = memfd_create("lock", MFD_CLOEXEC), kept = memfd_create("kept", MFD_CLOEXEC), own = memfd_create("own", 0);
	int to[2], from[2], status;
	char c, path[40];
	(void)state;
	assert_true(lock >= 0 && kept >= 0 && own >= 0 && !pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	assert_int_equal(flock(lock, LOCK_EX), 0);
	pid_t child = fork();
	if (!child) {
		close(to[1]);
		inherited_drop((const int[]){kept, to[0], from[1]}, 3);
		bool right = open_here(kept) && open_here(own) && !open_here(lock);
		_exit(write(from[1], "x", 1) != 1 || read(to[0], &c, 1) || !right); // until the parent has looked
	}
	assert_int_equal(read(from[0], &c, 1), 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", lock);
	int other = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), -1);
	close(lock);
	assert_int_equal(flock(other, LOCK_EX | LOCK_NB), 0);
	close(to[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_child_keeps_no_lock)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
