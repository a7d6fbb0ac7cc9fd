// SPDX-License-Identifier: MIT
//
// Free lists of coroutines: blocks of this process's own memory are the coroutines'.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <unistd.h>

#include "engine/memory/free_list.h"

enum { MOST = 6 };

// A coroutine's memory: before its stack begins stands the link.
struct block {
	uint64_t head, next;
	char stack[512];
};

static struct { // what lies around is nobody's
	char before[256];
	struct block blocks[MOST];
	char behind[1024];
} memory;
#define blocks memory.blocks
static uint64_t heads[MOST + 2]; // words elsewhere
static struct free_list_coroutine all[MOST];
static struct free_list_member members[MOST];
static size_t n;

static uint64_t address(const void *at)
{
	return (uint64_t)(uintptr_t)at;
}

// Coroutine `i`, a member to which the word at `at` leads; each waited for a descriptor of its own.
static void add(unsigned i, uint64_t *at)
{
	*at = address(&blocks[i]);
	members[i] = (struct free_list_member){ .at = address(at), .value = address(&blocks[i]), .ended = i + 1 };
	all[n++] = (struct free_list_coroutine){ { address(&heads[0]) + 1000 + i, address(blocks[i].stack) }, i, false };
}

static void add_other(unsigned i, bool living)
{
	all[n++] = (struct free_list_coroutine){ { 0, address(blocks[i].stack) }, FREE_LIST_NO_MEMBER, living };
}

static int setup(void **state)
{
	(void)state;
	memset(blocks, 0, sizeof(blocks));
	memset(heads, 0, sizeof(heads));
	memset(members, 0, sizeof(members));
	n = 0;
	return 0;
}

// Those that were found, a bit each.
static unsigned found(void)
{
	unsigned bits = 0;
	free_list_find(getpid(), all, n, members);
	for (unsigned i = 0; i < MOST; i++)
		bits |= members[i].listed ? 1u << i : 0;
	return bits;
}

// heads[1] -> 0 -> 1 -> 2 -> null
static void three(void)
{
	add(0, &heads[1]);
	add(1, &blocks[0].next);
	add(2, &blocks[1].next);
}

static void test_chain(void **state)
{
	(void)state;
	three();
	assert_int_equal(found(), 7);
}

static void test_one_is_no_list(void **state)
{
	(void)state;
	add(0, &heads[1]);
	assert_int_equal(found(), 0);
}

static void test_goes_on_through_ended_ones(void **state)
{
	(void)state;
	add(0, &heads[1]);
	add_other(1, false);
	blocks[0].next = address(&blocks[1]);
	assert_int_equal(found(), 1);
}

// The list of all: one of them lives.
static void test_leads_to_a_living_one(void **state)
{
	(void)state;
	three();
	add_other(3, true);
	blocks[2].next = address(&blocks[3]);
	assert_int_equal(found(), 0);
}

static void test_led_to_by_a_living_one(void **state)
{
	(void)state;
	add_other(3, true);
	add(0, &blocks[3].next);
	add(1, &blocks[0].next);
	assert_int_equal(found(), 0);
}

static void test_leads_elsewhere(void **state)
{
	(void)state;
	three();
	blocks[2].next = address(&heads[0]);
	assert_int_equal(found(), 0);
}

static void test_ring(void **state)
{
	(void)state;
	three();
	blocks[2].next = address(&blocks[0]);
	assert_int_equal(found(), 0);
}

// The third is led to by another word than the second one's link.
static void test_another_word(void **state)
{
	(void)state;
	three();
	members[2].at = address(&heads[5]);
	assert_int_equal(found(), 0);
}

// All wait for one descriptor: its wait queue.
static void test_wait_queue(void **state)
{
	(void)state;
	three();
	for (unsigned i = 0; i < 3; i++)
		members[i].ended = 7;
	assert_int_equal(found(), 0);
}

static void test_array(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(i, &heads[1 + i]);
	assert_int_equal(found(), 7);
}

static void test_array_with_a_living_one(void **state)
{
	(void)state;
	add(0, &heads[1]);
	add(1, &heads[2]);
	add_other(2, true);
	heads[3] = address(&blocks[2]);
	assert_int_equal(found(), 0);
}

static void test_array_behind_a_living_one(void **state)
{
	(void)state;
	add_other(2, true);
	heads[1] = address(&blocks[2]);
	add(0, &heads[2]);
	add(1, &heads[3]);
	assert_int_equal(found(), 0);
}

static void test_array_of_waiters(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		add(i, &heads[1 + i]);
	members[0].ended = members[1].ended = members[2].ended = 7;
	assert_int_equal(found(), 0);
}

// Their contexts lie in it, and not their stacks.
static void test_by_context(void **state)
{
	(void)state;
	three();
	for (unsigned i = 0; i < 3; i++) {
		all[i].keys[0] = address(&blocks[i]) + 8;
		all[i].keys[1] = 4096 * (uint64_t)(i * i + 1);
	}
	assert_int_equal(found(), 7);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup(f, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_chain),
		TEST(test_one_is_no_list),
		TEST(test_goes_on_through_ended_ones),
		TEST(test_leads_to_a_living_one),
		TEST(test_led_to_by_a_living_one),
		TEST(test_leads_elsewhere),
		TEST(test_ring),
		TEST(test_another_word),
		TEST(test_wait_queue),
		TEST(test_array),
		TEST(test_array_with_a_living_one),
		TEST(test_array_behind_a_living_one),
		TEST(test_array_of_waiters),
		TEST(test_by_context),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
