// SPDX-License-Identifier: MIT
//
// Lists with one link, in memory of this process: three objects, whose nodes are their third words, and a head.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sys/mman.h>
#include <unistd.h>

#include "search/disguise/xor_rings.h"

enum { PAGE = 4096, OBJECTS = 3, MEMBER = 2, HEAD = 0xf00 / 8 };
static uint64_t page[PAGE / 8] __attribute__((aligned(4096)));
static struct maps_line map = {.perms = "rw-p", .path = ""};
static struct memory memory;
static struct span objects[OBJECTS];
static size_t hits;
static uint64_t last_at;

static uint64_t node(int i) // OBJECTS: the head
{
	return (uintptr_t)&page[i == OBJECTS ? HEAD : 0x20 * (i + 1) + MEMBER];
}

static uint64_t *link_of(int i)
{
	return (uint64_t *)(uintptr_t)node(i);
}

static void on_hit(void *ctx, uint64_t at, uint64_t address)
{
	(void)ctx;
	hits++;
	last_at = at;
	assert_true(address == node(0) || address == node(1) || address == node(2));
}

static size_t found(size_t n)
{
	struct xor_rings r = {&memory, objects, n, on_hit, NULL};
	hits = 0;
	assert_true(xor_rings_find(&r));
	return hits;
}

static int begin(void **state)
{
	(void)state;
	memset(page, 0, sizeof(page));
	map.lo = (uintptr_t)page;
	map.hi = (uintptr_t)page + PAGE;
	memory_of_process(&memory, getpid());
	memory.maps = &map;
	memory.nmaps = 1;
	memory.deadline_ns = UINT64_MAX;
	for (int i = 0; i < OBJECTS; i++)
		objects[i] = (struct span){node(i) - 8 * MEMBER, node(i) + 64};
	for (int i = 0; i <= OBJECTS; i++)
		*link_of(i) = node((i + OBJECTS) % (OBJECTS + 1)) ^ node((i + 1) % (OBJECTS + 1));
	return 0;
}

static int end(void **state)
{
	(void)state;
	memory_close(&memory);
	return 0;
}

static void all_of_a_ring(void **state)
{
	(void)state;
	assert_in_range(found(OBJECTS), OBJECTS, 2 * OBJECTS); // from either side
	assert_int_equal(last_at, node(OBJECTS));
}

static void one_is_no_object(void **state)
{
	(void)state;
	assert_in_range(found(OBJECTS - 1), OBJECTS - 1, 4 * OBJECTS);
	assert_int_equal(found(1), 0);
}

static void a_ring_that_is_broken(void **state)
{
	(void)state;
	*link_of(OBJECTS) ^= 0x40;
	assert_int_equal(found(OBJECTS), 0);
}

static void what_is_no_ring(void **state)
{
	(void)state;
	for (int i = 0; i < OBJECTS; i++)
		*link_of(i) = node(i); // heads of lists that are empty
	assert_int_equal(found(OBJECTS), 0);
	for (int i = 0; i < OBJECTS; i++)
		*link_of(i) = 8; // flags
	assert_int_equal(found(OBJECTS), 0);
	for (int i = 0; i < OBJECTS; i++)
		*link_of(i) = 0;
	assert_int_equal(found(OBJECTS), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_of_a_ring, begin, end),
		cmocka_unit_test_setup_teardown(one_is_no_object, begin, end),
		cmocka_unit_test_setup_teardown(a_ring_that_is_broken, begin, end),
		cmocka_unit_test_setup_teardown(what_is_no_ring, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
