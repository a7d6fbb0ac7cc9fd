// SPDX-License-Identifier: MIT
//
// What a file has as extended attributes, when it is open; nothing is told of other descriptors.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "engine/stored/queues.h"

static unsigned told;
static char last[64];

static void on_bytes(void *ctx, const char *where, const unsigned char *bytes, size_t n)
{
	(void)ctx;
	assert_non_null(strstr(where, "attribute"));
	assert_true(n < sizeof(last));
	memcpy(last, bytes, n);
	last[n] = 0;
	told++;
}

static void look(int fd)
{
	struct queues q = {.bytes = on_bytes};
	struct stat st;
	char path[40];
	told = 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(stat(path, &st), 0);
	assert_true(queues_attributes(&q, path, fd, &st));
}

static void of_a_file(void **state)
{
	char path[] = "/var/tmp/test_attributes.XXXXXX";
	int file = mkstemp(path);
	(void)state;
	assert_true(file >= 0);
	unlink(path);
	look(file);
	assert_int_equal(told, 0);
	if (fsetxattr(file, "user.one", "first", 5, 0)) {
		close(file);
		print_message("no attributes in /var/tmp\n");
		skip();
	}
	look(file);
	assert_int_equal(told, 1);
	assert_string_equal(last, "first");
	assert_int_equal(fsetxattr(file, "user.two", "second", 6, 0), 0);
	assert_int_equal(fsetxattr(file, "user.none", "", 0, 0), 0);
	look(file);
	assert_int_equal(told, 2);
	close(file);
}

static void of_others(void **state)
{
	int fds[2];
	(void)state;
	assert_int_equal(pipe(fds), 0);
	look(fds[0]);
	assert_int_equal(told, 0);
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_file), cmocka_unit_test(of_others)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
