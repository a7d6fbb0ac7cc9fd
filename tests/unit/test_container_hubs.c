// SPDX-License-Identifier: MIT
//
// Locks with a std::vector, std::deque or std::list of those who wait, in a memory of our own: what is a circle
// of them, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/memory/container_hubs.h"
#include "hubs_memory.h"

enum { MEMBERS = 4, STACK = 0x1000 };
#define STATIC (BASE + 0x1000)
#define HEAP (BASE + 0x3000)
#define BLOCKS (BASE + 0x6000)
#define STACKS (BASE + 0x8000)

static struct hubs_member members[MEMBERS];
static struct hubs_query query;
static struct cycle_hubs_circle found[2];
static struct span areas = { STATIC, STATIC + 0x1000 };

static uint64_t handle(unsigned i)
{
	return BLOCKS + 0x400 * i;
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = (struct hubs_member){ .id = i + 1, .slot = handle(i) + 0x80, .stack = { STACKS + STACK * i, STACKS + STACK * (i + 1) },
							 .sp = STACKS + STACK * i + STACK / 2, .pc = 0x401000, .n = 8 };
	query = (struct hubs_query){ members, MEMBERS, NULL, is_data, peek, NULL, NULL, late, NULL };
	return 0;
}

static int find(void)
{
	struct hubs h;
	assert_int_equal(hubs_init(&h, &query), 0);
	int n = container_hubs_find(&h, &areas, 1, found, 2);
	hubs_deinit(&h);
	return n;
}

// { owner, first, end, end of the block }
static void vector(uint64_t at, unsigned owner, unsigned waiter, uint64_t block)
{
	*word(at) = handle(owner);
	*word(at + 8) = block;
	*word(at + 16) = block + 8;
	*word(at + 24) = block + 16;
	*word(block) = handle(waiter);
}

static void deque(uint64_t at, unsigned owner, unsigned waiter, uint64_t block)
{
	*word(at) = handle(owner);
	*word(at + 8) = block + 0x300; // the map
	*word(at + 16) = 8;
	for (unsigned i = 0; i < 2; i++) {
		*word(at + 24 + 32 * i) = block + 0x10 + 8 * i;
		*word(at + 32 + 32 * i) = block;
		*word(at + 40 + 32 * i) = block + 512;
		*word(at + 48 + 32 * i) = block + 0x318;
	}
	*word(block + 0x10) = handle(waiter);
}

static void list(uint64_t at, unsigned owner, unsigned waiter, uint64_t node)
{
	*word(at) = handle(owner);
	*word(at + 8) = *word(at + 16) = node;
	*word(at + 24) = 1;
	*word(node) = *word(node + 8) = at + 8;
	*word(node + 16) = handle(waiter);
}

static void two_vectors(void **state)
{
	(void)state;
	vector(STATIC, 0, 1, HEAP);
	assert_int_equal(find(), 0);
	vector(STATIC + 0x100, 1, 0, HEAP + 0x100);
	assert_int_equal(find(), 1);
	assert_true(found[0].firm && found[0].container);
	assert_int_equal(found[0].n, 2);
	assert_int_equal(found[0].at[0].member, 0);
	assert_int_equal(found[0].at[0].hub, STATIC + 0x100);
	assert_int_equal(found[0].at[1].hub, STATIC);
}

static void what_a_vector_keeps_when_it_is_empty(void **state)
{
	(void)state;
	vector(STATIC, 0, 1, HEAP);
	vector(STATIC + 0x100, 1, 0, HEAP + 0x100);
	*word(STATIC + 0x110) = HEAP + 0x100;
	assert_int_equal(find(), 0);
	*word(STATIC + 0x110) = HEAP + 0x110; // who waits comes second
	*word(HEAP + 0x100) = handle(2);
	*word(HEAP + 0x108) = handle(0);
	assert_int_equal(find(), 1);
	*word(HEAP + 0x100) = 0x1234560; // but it is no queue of handles
	assert_int_equal(find(), 0);
}

static void two_deques(void **state)
{
	(void)state;
	deque(STATIC, 0, 1, HEAP);
	deque(STATIC + 0x100, 1, 0, HEAP + 0x400);
	assert_int_equal(find(), 1);
	*word(STATIC + 24) = HEAP + 0x18; // taken out
	assert_int_equal(find(), 0);
}

static void two_lists(void **state)
{
	(void)state;
	list(STATIC, 0, 1, HEAP);
	list(STATIC + 0x100, 1, 0, HEAP + 0x400);
	assert_int_equal(find(), 1);
	*word(HEAP + 8) = HEAP + 0x800; // a record that has three words
	assert_int_equal(find(), 0);
}

static void three_in_a_ring(void **state)
{
	(void)state;
	vector(STATIC, 0, 1, HEAP);
	vector(STATIC + 0x100, 1, 2, HEAP + 0x100);
	assert_int_equal(find(), 0);
	vector(STATIC + 0x200, 2, 0, HEAP + 0x200);
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].n, 3);
}

static void locks_must_be_alike(void **state)
{
	(void)state;
	vector(STATIC, 0, 1, HEAP);
	deque(STATIC + 0x100, 1, 0, HEAP + 0x400);
	assert_int_equal(find(), 0);
	memset(word(STATIC + 0x100), 0, 0x100);
	vector(STATIC + 0x108, 1, 0, HEAP + 0x100);
	*word(STATIC + 0x100) = *word(STATIC + 0x108); // a word further away
	*word(STATIC + 0x108) = 0;
	assert_int_equal(find(), 0);
}

// A partner's record is no container.
static void partners(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		*word(STATIC + 0x100 * i) = handle(i);
		*word(STATIC + 0x100 * i + 8) = HEAP + 0x100 * i;
		*word(HEAP + 0x100 * i) = handle(1 - i);
		*word(HEAP + 0x100 * i + 16) = handle(1 - i);
	}
	assert_int_equal(find(), 0);
}

static void locks_in_the_heap(void **state)
{
	(void)state;
	vector(HEAP + 0x800, 0, 1, HEAP);
	vector(HEAP + 0x900, 1, 0, HEAP + 0x100);
	assert_int_equal(find(), 0);
	members[1].words[2] = HEAP + 0x800; // a frame has the lock, or its queue
	members[0].words[2] = HEAP + 0x908;
	assert_int_equal(find(), 1);
}

static void handles_must_be_of_one_kind(void **state)
{
	(void)state;
	vector(STATIC, 0, 1, HEAP);
	vector(STATIC + 0x100, 1, 0, HEAP + 0x100);
	*word(HEAP) += 8; // a field of it
	*word(HEAP + 0x100) += 8;
	assert_int_equal(find(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_vectors, begin),
		cmocka_unit_test_setup(what_a_vector_keeps_when_it_is_empty, begin),
		cmocka_unit_test_setup(two_deques, begin),
		cmocka_unit_test_setup(two_lists, begin),
		cmocka_unit_test_setup(three_in_a_ring, begin),
		cmocka_unit_test_setup(locks_must_be_alike, begin),
		cmocka_unit_test_setup(partners, begin),
		cmocka_unit_test_setup(locks_in_the_heap, begin),
		cmocka_unit_test_setup(handles_must_be_of_one_kind, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
