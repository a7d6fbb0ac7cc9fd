// SPDX-License-Identifier: MIT
//
// A trace is copied as long as its files are at the start, though they grow meanwhile; manifests stay behind.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/record/tree.h"

static char top[] = "/tmp/ctp-copy-XXXXXX";
static int from, to;

static void put(int at, const char *name, const char *text)
{
	int fd = openat(at, name, O_WRONLY | O_CREAT | O_APPEND, 0600);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void grow(void *arg)
{
	++*(int *)arg;
	put(from, "a", "more");
	put(from, "ctp/b", "more");
	unlinkat(from, "z", 0);
}

static long bytes_of(int at, const char *name)
{
	struct stat st;
	return fstatat(at, name, &st, 0) ? -errno : (long)st.st_size;
}

static int begin(void **state)
{
	int dir = mkdtemp(top) ? open(top, O_RDONLY | O_DIRECTORY) : -1;
	mkdirat(dir, "from", 0700);
	mkdirat(dir, "to", 0700);
	from = openat(dir, "from", O_RDONLY | O_DIRECTORY);
	to = openat(dir, "to", O_RDONLY | O_DIRECTORY);
	close(dir);
	return from < 0 || to < 0;
}

static int end(void **state)
{
	close(from);
	close(to);
	tree_remove(AT_FDCWD, top);
	return access(top, F_OK) == 0;
}

static void files_are_as_long_as_they_were(void **state)
{
	int calls = 0;
	put(from, "a", "12345");
	mkdirat(from, "ctp", 0700);
	put(from, "ctp/b", "123");
	put(from, "ctp/trace.json", "{}");
	assert_int_equal(symlinkat("a", from, "link"), 0);
	assert_int_equal(tree_copy(from, to, 3, grow, &calls), 0);
	assert_true(calls >= 2);
	assert_int_equal(bytes_of(to, "a"), 5);
	assert_int_equal(bytes_of(to, "ctp/b"), 3);
	assert_int_equal(bytes_of(to, "ctp/trace.json"), -ENOENT);
	assert_int_equal(bytes_of(to, "link"), -ENOENT);
	assert_int_equal(tree_copy(from, to, 3, NULL, NULL), -EEXIST); // nothing is overwritten
}

static void sizes_add_up(void **state)
{
	uint64_t before = tree_bytes(from);
	put(from, "ctp/c", "a block on the disk");
	fsync(from);
	assert_true(tree_bytes(from) >= before);
	assert_int_equal(tree_bytes(-1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_as_long_as_they_were),
		cmocka_unit_test(sizes_add_up),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
