// SPDX-License-Identifier: MIT
//
// Which pages around an address belong to one stack: those that were touched, and below them those that were not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "find/touched.h"

enum { PAGE = 4096, PAGES = 16 };

static unsigned char *bytes;
static struct image image;
static struct maps_line line;
static struct touched t;

static uint64_t at(unsigned page)
{
	return (uintptr_t)bytes + (uint64_t)page * PAGE;
}

// Pages 3 and 4, 8, 9 and 10, and 15 were touched.
static int open_image(void **state)
{
	static const unsigned touched[] = {3, 4, 8, 9, 10, 15};
	bytes = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (bytes == MAP_FAILED || madvise(bytes, PAGES * PAGE, MADV_NOHUGEPAGE))
		return -1;
	for (size_t i = 0; i < sizeof(touched) / sizeof(*touched); i++)
		bytes[touched[i] * PAGE + 100] = 1;
	line = (struct maps_line){.lo = at(0), .hi = at(PAGES), .perms = "rw-p", .path = ""};
	image = (struct image){.pid = getpid()};
	memory_of_process(&image.memory, getpid());
	image.memory.maps = &line;
	image.memory.nmaps = 1;
	t = (struct touched){.n = 0};
	return 0;
}

static int close_image(void **state)
{
	touched_deinit(&t);
	memory_close(&image.memory);
	return munmap(bytes, PAGES * PAGE);
}

static void run(uint64_t addr, unsigned lo, unsigned hi)
{
	struct span s = touched_run(&t, &image, addr);
	if (!t.n)
		skip(); // the kernel does not show which pages were touched
	assert_true(s.lo == at(lo) && s.hi == at(hi));
}

static void from_the_stack_below_to_its_own_end(void **state)
{
	run(at(3), 0, 5);
	run(at(4) + 4095, 0, 5);
	run(at(8), 5, 11);
	run(at(10) + 8, 5, 11);
	run(at(9), 5, 11);
	run(at(15) + 64, 11, 16);
	run(at(4), 0, 5); // back again
}

static void an_address_that_was_never_touched(void **state)
{
	run(at(9), 5, 11);
	run(at(5), 0, 5); // what lies above a stack is not its own, nor another's
	run(at(7), 5, 7);
	run(at(9), 5, 11);
}

static void no_mapping_no_run(void **state)
{
	struct span s = touched_run(&t, &image, at(PAGES));
	assert_true(!s.lo && !s.hi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(from_the_stack_below_to_its_own_end, open_image, close_image),
		cmocka_unit_test_setup_teardown(an_address_that_was_never_touched, open_image, close_image),
		cmocka_unit_test_setup_teardown(no_mapping_no_run, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
