// SPDX-License-Identifier: MIT
//
// Mutexes of State Threads that an ended thread has, in a memory of our own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/memory/st_mutexes.h"
#include "hubs_memory.h"

// Stacks, each with its thread's block above what is declared; then mutexes.
enum { MEMBERS = 4, STACK = 0x1000, CONTEXT = 0x78, LINK = 0x38, GONE = 77 };
enum { RUNNING = 0, IO_WAIT = 2, LOCK_WAIT = 3, COND_WAIT = 4, ZOMBIE = 6 };
#define STACKS (BASE + 0x4000)
#define MUTEX (BASE + 0x1000)
#define GONE_BLOCK (BASE + 0x3000)

static struct hubs_member members[MEMBERS];
static struct hubs_query query;
static struct hub_holder found[2];

static uint64_t block(unsigned i)
{
	return STACKS + STACK * i + 0xe00;
}

static uint64_t link_of(unsigned i)
{
	return block(i) + LINK;
}

static uint64_t who(void *ctx, uint64_t at, bool top, bool *lives)
{
	(void)ctx;
	*lives = true;
	for (unsigned i = 0; i < MEMBERS; i++)
		if (!top && at == members[i].slot)
			return members[i].id;
	*lives = false;
	return !top && at == GONE_BLOCK + CONTEXT ? GONE : 0;
}

// A ring of one leads to itself.
static void join(uint64_t ring, uint64_t node)
{
	uint64_t next = *word(ring);
	*word(node) = next;
	*word(node + 8) = ring;
	*word(next + 8) = node;
	*word(ring) = node;
}

static void waits(unsigned i)
{
	*word(block(i)) = LOCK_WAIT;
	join(MUTEX + 8, link_of(i));
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i] = (struct hubs_member){.id = i + 1, .slot = block(i) + CONTEXT, .stack = {block(i) - 0x400, block(i) - 0x80}, .sp = block(i) - 0x400};
		*word(members[i].sp + 0x20) = block(i);
		*word(block(i)) = IO_WAIT;
		*word(link_of(i)) = *word(link_of(i) + 8) = link_of(i);
	}
	*word(MUTEX + 8) = *word(MUTEX + 16) = MUTEX + 8;
	query = (struct hubs_query){.v = members, .n = MEMBERS, .is_data = is_data, .peek = peek, .late = late, .who = who};
	waits(1);
	waits(2);
	return 0;
}

static size_t find(uint64_t owner)
{
	struct hubs h;
	*word(MUTEX) = owner;
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i].n = 64;
		peek(NULL, members[i].sp, members[i].words, 64 * sizeof(uint64_t));
	}
	assert_int_equal(hubs_init(&h, &query), 0);
	size_t n = st_mutexes_find(&h, found, 2);
	hubs_deinit(&h);
	return n;
}

static void owner_is_kept(void **state)
{
	(void)state;
	*word(block(0)) = RUNNING;
	assert_int_equal(find(block(0)), 1);
	assert_int_equal(found[0].hub, MUTEX);
	assert_int_equal(found[0].ended, 1);
	assert_int_equal(found[0].kept, 0);
	assert_int_equal(found[0].n, 2);
	assert_true(found[0].waiters[0] + found[0].waiters[1] == 3);
	*word(block(0)) = ZOMBIE;
	assert_int_equal(find(block(0)), 1);
}

static void owner_is_gone(void **state)
{
	(void)state;
	assert_int_equal(find(GONE_BLOCK), 1);
	assert_int_equal(found[0].ended, GONE);
	assert_int_equal(found[0].kept, HUBS_NOBODY);
}

static void owner_lives(void **state)
{
	(void)state;
	assert_int_equal(find(block(0)), 0); // it waits for a descriptor
	assert_int_equal(find(block(2)), 0); // for itself
	assert_int_equal(find(0), 0);
	assert_int_equal(find(block(0) + 8), 0);
}

// A condition has no owner: what lies before its ring is another's.
static void waits_for_something_else(void **state)
{
	(void)state;
	*word(block(0)) = RUNNING;
	*word(block(1)) = *word(block(2)) = COND_WAIT;
	assert_int_equal(find(block(0)), 0);
	*word(block(1)) = LOCK_WAIT; // of one ring, all wait for a mutex
	assert_int_equal(find(block(0)), 0);
}

static void a_ring_that_is_none(void **state)
{
	(void)state;
	*word(block(0)) = RUNNING;
	*word(link_of(1) + 8) = BASE + 0x200;
	assert_int_equal(find(block(0)), 0);
	*word(link_of(1) + 8) = MUTEX + 8;
	*word(link_of(2)) = BASE + 0x300;
	assert_int_equal(find(block(0)), 0);
}

static void two_nodes_of_nobody(void **state)
{
	(void)state;
	*word(block(0)) = RUNNING;
	join(MUTEX + 8, BASE + 0x400);
	*word(BASE + 0x400 - 8) = block(0); // either could be the mutex
	assert_int_equal(find(block(0)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(owner_is_kept, begin),
		cmocka_unit_test_setup(owner_is_gone, begin),
		cmocka_unit_test_setup(owner_lives, begin),
		cmocka_unit_test_setup(waits_for_something_else, begin),
		cmocka_unit_test_setup(a_ring_that_is_none, begin),
		cmocka_unit_test_setup(two_nodes_of_nobody, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
