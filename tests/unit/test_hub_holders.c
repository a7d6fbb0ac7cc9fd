// SPDX-License-Identifier: MIT
//
// Locks that nobody gives back, in a memory of our own: what is one, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/memory/hub_holders.h"
#include "hubs_memory.h"

// The program's memory: hubs and control blocks first, then a stack for each.
enum { MEMBERS = 3, STACK = 0x1000, GONE = 77, LIVES = 78 };
#define HUB (BASE + 0x1000)
#define BLOCKS (BASE + 0x2000)
#define GONE_BLOCK (BASE + 0x3800)
#define STACKS (BASE + 0x4000)

static struct hubs_member members[MEMBERS];
static struct hubs_query query;
static struct hub_holder found[2];
static uint64_t gone_slot, gone_top, own_hub, lives_slot, hub_bytes;

static bool is_own(void *ctx, uint64_t hub, const struct hubs_member *m)
{
	(void)ctx;
	(void)m;
	return hub == own_hub;
}

static uint64_t who(void *ctx, uint64_t at, bool top, bool *lives)
{
	(void)ctx;
	*lives = !top && at == lives_slot;
	return *lives ? LIVES : at == (top ? gone_top : gone_slot) ? GONE : 0;
}

static uint64_t extent(void *ctx, uint64_t hub)
{
	(void)ctx;
	return HUB + hub_bytes - hub;
}

static uint64_t begin_of(void *ctx, uint64_t at)
{
	(void)ctx;
	return at - BLOCKS < 0x400 * MEMBERS ? BLOCKS + (at - BLOCKS) / 0x400 * 0x400 : 0;
}

static uint64_t block(unsigned i)
{
	return BLOCKS + 0x400 * i;
}

static uint64_t sp(unsigned i)
{
	return STACKS + STACK * i + STACK / 2;
}

static uint64_t node(unsigned i)
{
	return sp(i) + 0x40;
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	gone_slot = gone_top = own_hub = lives_slot = 0;
	hub_bytes = 64;
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = (struct hubs_member){ .id = i + 1, .slot = block(i) + 0x80, .stack = { STACKS + STACK * i, STACKS + STACK * (i + 1) },
						   .sp = sp(i), .pc = 0x401000 };
	query = (struct hubs_query){ .v = members, .n = MEMBERS, .is_data = is_data, .peek = peek, .is_own = is_own, .late = late, .extent = extent, .who = who };
	return 0;
}

static struct hub_queue queues[2];

static size_t find_queues(void)
{
	struct hubs h;
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i].n = 64;
		peek(NULL, members[i].sp, members[i].words, 64 * sizeof(uint64_t));
	}
	assert_int_equal(hubs_init(&h, &query), 0);
	size_t n = hub_queues_find(&h, queues, 2);
	hubs_deinit(&h);
	return n;
}

static size_t find(void)
{
	struct hubs h;
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i].n = 64;
		peek(NULL, members[i].sp, members[i].words, 64 * sizeof(uint64_t));
	}
	assert_int_equal(hubs_init(&h, &query), 0);
	size_t n = hub_holders_find(&h, found, 2);
	hubs_deinit(&h);
	return n;
}

// { next, itself } on the waiter's stack, and the hub's address in a frame of it.
static void queue(unsigned i, uint64_t next)
{
	*word(node(i)) = next;
	*word(node(i) + 8) = block(i);
	*word(sp(i) + 16) = HUB;
}

static void held(uint64_t owner, uint64_t first)
{
	*word(HUB) = owner;
	*word(HUB + 8) = first;
}

// A list through the control blocks: the hub leads to a link in the first one's, before its context or behind.
static void linked_through_their_blocks(void **state)
{
	(void)state;
	query.begin = begin_of;
	gone_slot = GONE_BLOCK + 0x80;
	*word(sp(0) + 16) = *word(sp(1) + 16) = HUB;
	members[2].pc = 0x402000;
	*word(sp(2) + 16) = HUB; // knows it, and stands elsewhere
	for (unsigned i = 0; i < 2; i++) {
		held(GONE_BLOCK, block(0) + (i ? 0x20 : 0x100));
		assert_int_equal(find(), 1);
		assert_int_equal(found[0].ended, GONE);
		assert_int_equal(found[0].n, 2);
	}
	held(GONE_BLOCK, BLOCKS - 0x20); // near its context, and in another object
	assert_int_equal(find(), 0);
	held(block(0), block(0)); // both ends of a list of one
	assert_int_equal(find(), 0);
	held(GONE_BLOCK, block(0) + 0x20);
	query.begin = NULL;
	assert_int_equal(find(), 0);
	query.begin = begin_of;
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i].slot = sp(i) + 8; // on its stack: what leads there is no link
	held(gone_slot, sp(0) + 0x200);
	assert_int_equal(find(), 0);
	members[0].slot = block(0) + 0x80;
	held(gone_slot, block(0) + 0x20);
	assert_int_equal(find(), 1);
}

// Boost.Fiber's: the control blocks that are linked lie above what is declared as the stacks, and the owner's handle
// is its block, whose begin the first waiter has in its frames.
static void linked_above_their_stacks(void **state)
{
	(void)state;
	query.begin = begin_of;
	for (unsigned i = 0; i < 2; i++) {
		members[i].stack.hi -= 0x200;
		members[i].slot = members[i].stack.hi - 0x40;
		*word(sp(i) + 16) = HUB;
		*word(sp(i) + 24) = members[i].stack.hi + 0x20;
	}
	gone_top = GONE_BLOCK - 0x20;
	held(GONE_BLOCK, members[0].stack.hi + 0x20 + 0x60);
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].ended, GONE);
	assert_int_equal(found[0].n, 2);
	gone_top -= 8; // at another distance from its block than the waiter's
	assert_int_equal(find(), 0);
	gone_top += 8;
	held(GONE_BLOCK, members[0].stack.hi + 0x400); // behind the block
	assert_int_equal(find(), 0);
	held(HUB + 8, members[0].stack.hi + 0x80); // nobody's
	assert_int_equal(find(), 0);
}

// A condition has no owner: who waits is told of the object that leads to the first by its nearest word.
static void queues_of_nobody(void **state)
{
	(void)state;
	queue(0, node(1));
	queue(1, 0);
	*word(sp(0) + 24) = HUB + 8;
	held(0, node(0));
	assert_int_equal(find(), 0);
	assert_int_equal(find_queues(), 1);
	assert_int_equal(queues[0].hub, HUB + 8);
	assert_int_equal(queues[0].n, 2);
	assert_true(queues[0].waiters[0] == 0 && queues[0].waiters[1] == 1);
	*word(node(0) + 8) = block(2); // another's handle
	assert_int_equal(find_queues(), 0);
}

static void by_the_waiter(void **state)
{
	(void)state;
	queue(0, 0);
	held(block(0), node(0));
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].hub, HUB);
	assert_int_equal(found[0].ended, 0);
	assert_int_equal(found[0].n, 1);
	assert_int_equal(found[0].waiters[0], 0);
}

static void by_one_who_waits_behind_others(void **state)
{
	(void)state;
	queue(2, node(1));
	queue(1, node(0));
	queue(0, 0);
	held(block(0), node(2));
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].n, 1);
	assert_int_equal(found[0].waiters[0], 0);
}

static void by_another_who_lives(void **state)
{
	(void)state;
	queue(0, 0);
	held(block(1), node(0));
	assert_int_equal(find(), 0);
}

// The begin and the end of a list of one.
static void both_ends_of_a_list(void **state)
{
	(void)state;
	queue(0, 0);
	held(node(0), node(0));
	assert_int_equal(find(), 0);
	held(node(0) + 8, node(0));
	assert_int_equal(find(), 0);
}

// Its own control block leads to itself, and to a node of its own.
static void a_control_block(void **state)
{
	(void)state;
	queue(0, 0);
	held(block(0), node(0));
	own_hub = HUB;
	assert_int_equal(find(), 0);
}

static void an_empty_list_beside(void **state)
{
	(void)state;
	members[0].slot = HUB + 0x80;
	queue(0, 0);
	*word(node(0) + 8) = HUB;
	held(HUB, node(0));
	assert_int_equal(find(), 0);
}

static void a_node_without_its_handle(void **state)
{
	(void)state;
	queue(0, 0);
	*word(node(0) + 8) = 0;
	held(block(0), node(0));
	assert_int_equal(find(), 0);
}

// What lies on a stack without its owner's handle is no node, and leads nowhere.
static void behind_what_is_no_node(void **state)
{
	(void)state;
	queue(1, node(0));
	queue(0, 0);
	held(block(0), node(1));
	assert_int_equal(find(), 1);
	*word(node(1) + 8) = 0;
	assert_int_equal(find(), 0);
}

static void who_waits_elsewhere(void **state)
{
	(void)state;
	queue(0, 0);
	held(block(0), node(0));
	*word(sp(0) + 16) = 0;
	*word(sp(1) + 16) = HUB; // another knows the hub
	assert_int_equal(find(), 0);
}

static void by_one_who_has_ended(void **state)
{
	(void)state;
	queue(1, node(0));
	queue(0, 0);
	held(GONE_BLOCK, node(1));
	gone_slot = GONE_BLOCK + 0x80;
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].ended, GONE);
	assert_int_equal(found[0].n, 2);
	gone_slot += 8; // near it, but no handle of the kind that the waiter's is
	assert_int_equal(find(), 0);
}

// Control blocks above what is declared as the stack.
static void by_one_whose_stack_is_gone(void **state)
{
	(void)state;
	queue(0, 0);
	members[0].stack.hi -= 0x100;
	members[0].slot = members[0].stack.hi - 8;
	*word(node(0) + 8) = members[0].stack.hi + 0x20;
	held(GONE_BLOCK, node(0));
	gone_top = GONE_BLOCK - 0x20;
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].ended, GONE);
}

// A table of locks: the waiter has the next one, of which others may know.
static void the_next_lock(void **state)
{
	(void)state;
	queue(0, 0);
	held(BLOCKS + 0x1400, node(0));
	lives_slot = BLOCKS + 0x1400 + 0x80;
	*word(HUB + 16) = block(0);
	assert_int_equal(find(), 0);
	lives_slot = 0;
	assert_int_equal(find(), 1);
	hub_bytes = 16; // that is another object's word
	assert_int_equal(find(), 0);
}

// What lies before the lock, and is in a frame by chance, has the lock's words within reach.
static void it_is_told_once(void **state)
{
	(void)state;
	queue(0, 0);
	held(block(0), node(0));
	*word(sp(0) + 24) = HUB - 16;
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].hub, HUB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(linked_through_their_blocks, begin), cmocka_unit_test_setup(linked_above_their_stacks, begin),
		cmocka_unit_test_setup(queues_of_nobody, begin),
		cmocka_unit_test_setup(by_the_waiter, begin),
		cmocka_unit_test_setup(by_one_who_waits_behind_others, begin),
		cmocka_unit_test_setup(by_another_who_lives, begin),
		cmocka_unit_test_setup(both_ends_of_a_list, begin),
		cmocka_unit_test_setup(a_control_block, begin),
		cmocka_unit_test_setup(an_empty_list_beside, begin),
		cmocka_unit_test_setup(a_node_without_its_handle, begin),
		cmocka_unit_test_setup(behind_what_is_no_node, begin),
		cmocka_unit_test_setup(who_waits_elsewhere, begin),
		cmocka_unit_test_setup(by_one_who_has_ended, begin),
		cmocka_unit_test_setup(by_one_whose_stack_is_gone, begin),
		cmocka_unit_test_setup(the_next_lock, begin),
		cmocka_unit_test_setup(it_is_told_once, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
