// SPDX-License-Identifier: MIT
//
// Which parts of a region belong in a core: those that are not left out of it, and no other mapping.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "find/image.h"
#include "find/save_tables.h"

enum { PAGE = 4096, PAGES = 8 };

static char *map(const char *name)
{
	int fd = memfd_create(name, 0);
	assert_int_equal(ftruncate(fd, PAGES * PAGE), 0);
	void *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(at, MAP_FAILED);
	close(fd);
	return at;
}

static void parts(void **state)
{
	(void)state;
	struct maps_line *v;
	size_t n;
	assert_int_equal(save_tables_find(getpid(), &v, &n), 0);
	assert_int_equal(n, 0);
	free(v);
	char *region = map("ctp"), *other = map("other");
	assert_int_equal(madvise(region + PAGE, 2 * PAGE, MADV_DONTDUMP), 0);
	assert_int_equal(save_tables_find(getpid(), &v, &n), 0);
	assert_int_equal(n, 2);
	assert_int_equal(v[0].lo, (uintptr_t)region);
	assert_int_equal(v[0].hi, (uintptr_t)region + PAGE);
	assert_int_equal(v[1].lo, (uintptr_t)region + 3 * PAGE);
	assert_int_equal(v[1].hi, (uintptr_t)region + PAGES * PAGE);
	assert_int_equal(v[1].offset, 3 * PAGE);
	assert_true(image_is_region(&v[1]) && v[1].perms[3] == 's');
	free(v);
	assert_int_equal(munmap(region, PAGES * PAGE) | munmap(other, PAGES * PAGE), 0);
}

static void nobody(void **state)
{
	(void)state;
	struct maps_line *v;
	size_t n;
	assert_int_equal(save_tables_find(-1, &v, &n), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(parts), cmocka_unit_test(nobody)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
