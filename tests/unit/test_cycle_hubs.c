// SPDX-License-Identifier: MIT
//
// Circles of hubs, in a memory of our own: what is one, and what only looks like it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/memory/cycle_hubs.h"
#include "hubs_memory.h"

// The program's memory: hubs and control blocks first, then a stack for each.
enum { MEMBERS = 4, STACK = 0x1000 };
#define HUBS (BASE + 0x1000)
#define BLOCKS (BASE + 0x2000)
#define STACKS (BASE + 0x4000)

static struct hubs_member members[MEMBERS];
static struct hubs_query query;
static struct cycle_hubs_circle found[2];
static uint64_t not_handle, object_bytes;

static bool is_handle(void *ctx, uint64_t handle, const struct hubs_member *m)
{
	(void)ctx;
	(void)m;
	return handle != not_handle;
}

static uint64_t extent(void *ctx, uint64_t at)
{
	(void)ctx;
	(void)at;
	return object_bytes;
}

static uint64_t block(unsigned i)
{
	return BLOCKS + 0x400 * i; // the context lies at its end, and is not found by nearness
}

static uint64_t sp(unsigned i)
{
	return STACKS + STACK * i + STACK / 2;
}

// Where member i's frame has the lock that it waits for: the third word.
static void waits(unsigned i, uint64_t hub)
{
	*word(sp(i) + 16) = hub;
}

static int begin(void **state)
{
	(void)state;
	memset(memory, 0, sizeof(memory));
	not_handle = 0;
	for (unsigned i = 0; i < MEMBERS; i++)
		members[i] = (struct hubs_member){ .id = i + 1, .slot = block(i) + 0x80, .stack = { STACKS + STACK * i, STACKS + STACK * (i + 1) },
							 .sp = sp(i), .pc = 0x401000 };
	query = (struct hubs_query){ members, 2, NULL, is_data, peek, is_handle, NULL, late, NULL };
	return 0;
}

static int find(void)
{
	for (unsigned i = 0; i < MEMBERS; i++) {
		members[i].n = 64;
		peek(NULL, members[i].sp, members[i].words, 64 * sizeof(uint64_t));
	}
	struct hubs h;
	assert_int_equal(hubs_init(&h, &query), 0);
	int n = cycle_hubs_find(&h, found, 2);
	hubs_deinit(&h);
	return n;
}

// A lock { owner, first waiter }, whose waiter's node { next, itself } lies on its stack.
static void lock_with_node(uint64_t hub, unsigned owner, unsigned waiter)
{
	uint64_t node = sp(waiter) + 0x40;
	*word(hub) = block(owner);
	*word(hub + 8) = node;
	*word(node + 8) = block(waiter);
	waits(waiter, hub);
}

// The same with the handle itself in the queue.
static void lock_with_handle(uint64_t hub, unsigned owner, unsigned waiter)
{
	*word(hub) = block(owner);
	*word(hub + 8) = block(waiter);
	waits(waiter, hub);
}

static void two_locks_in_both_orders(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	assert_int_equal(find(), 1);
	assert_true(found[0].firm);
	assert_int_equal(found[0].n, 2);
	assert_int_equal(found[0].at[0].member, 0);
	assert_int_equal(found[0].at[0].hub, HUBS + 0x100);
	assert_int_equal(found[0].at[1].hub, HUBS);
}

static void one_lock_is_none(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	waits(0, HUBS); // each leads to the other, by the same record
	assert_int_equal(find(), 0);
}

// Of objects that are not alike nobody knows what their words mean.
static void two_kinds_of_hubs(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	*word(HUBS + 0x110) = *word(HUBS + 0x100);
	*word(HUBS + 0x100) = 0;
	assert_int_equal(find(), 0);
}

static void a_waiter_must_be_queued(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	*word(HUBS + 8) = 0; // was taken out, and is about to be resumed
	assert_int_equal(find(), 0);
}

static void a_node_must_be_the_waiters(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	*word(sp(0) + 0x48) = 0; // not its handle: another kind of pointer to its stack
	assert_int_equal(find(), 0);
}

static void a_node_above_counts_alone(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	members[0].sp = sp(0) + 0x60; // the node's frame has returned
	*word(sp(0) + 0x70) = HUBS + 0x100;
	*word(sp(0) + 0x68) = block(0);
	assert_int_equal(find(), 0);
}

static void three_in_a_ring(void **state)
{
	(void)state;
	query.n = 3;
	for (unsigned i = 0; i < 3; i++)
		lock_with_handle(HUBS + 0x20 * i, i, (i + 1) % 3);
	assert_int_equal(find(), 1);
	assert_false(found[0].firm);
	assert_int_equal(found[0].n, 3);
}

static void handles_alone_need_alike_frames(void **state)
{
	(void)state;
	lock_with_handle(HUBS, 0, 1);
	lock_with_handle(HUBS + 0x100, 1, 0);
	assert_int_equal(find(), 1);
	*word(sp(1) + 24) = HUBS; // elsewhere in the frame
	*word(sp(1) + 16) = 0;
	assert_int_equal(find(), 0);
	*word(sp(1) + 16) = HUBS;
	members[1].pc++; // another function
	assert_int_equal(find(), 0);
}

// Two lists with the same two in them, both of which all have in their frames.
static void ends_of_lists(void **state)
{
	(void)state;
	*word(HUBS) = *word(HUBS + 0x18) = block(0);
	*word(HUBS + 8) = *word(HUBS + 0x10) = block(1);
	for (unsigned i = 0; i < 2; i++) {
		waits(i, HUBS);
		*word(sp(i) + 24) = HUBS + 0x10;
	}
	assert_int_equal(find(), 0);
}

// Each record leads to the next one's record and to its own coroutine.
static void records_in_a_ring(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		uint64_t record = block(i) - 0x200, next = block(!i) - 0x200;
		*word(record) = next;
		*word(record + 8) = block(i) + 0x80; // its context, as far from it as from all of them
		waits(i, record);
	}
	assert_int_equal(find(), 0);
}

static void intrusive_links(void **state)
{
	(void)state;
	lock_with_handle(HUBS, 0, 1);
	lock_with_handle(HUBS + 0x100, 1, 0);
	*word(HUBS + 8) += 0x20;
	*word(HUBS + 0x108) += 0x20;
	assert_int_equal(find(), 1);
	assert_true(found[0].firm);
	*word(HUBS + 0x108) += 8; // not the same link
	assert_int_equal(find(), 0);
}

static void a_handle_may_be_refused(void **state)
{
	(void)state;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	not_handle = block(0);
	assert_int_equal(find(), 0);
}

// As Boost.Fiber has it: what leads to a fiber is at the top of its stack, or an object that leads there.
static void handles_on_stacks_and_beyond(void **state)
{
	(void)state;
	uint64_t top = STACKS + STACK - 0x80, far = HUBS + 0x800;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	*word(HUBS) = *word(sp(0) + 0x48) = top;
	assert_int_equal(find(), 1);
	*word(HUBS) = *word(sp(0) + 0x48) = far;
	assert_int_equal(find(), 0);
	*word(far + 0x10) = members[0].slot;
	assert_int_equal(find(), 1);
	*word(far + 8) = members[1].slot; // the other's comes first
	assert_int_equal(find(), 0);
	*word(far + 8) = 0;
	*word(far + 0x18) = members[1].slot; // the next object's
	query.extent = extent;
	object_bytes = 0x18;
	assert_int_equal(find(), 1);
	object_bytes = 0x20; // both's: nobody's handle
	assert_int_equal(find(), 0);
}

// As Boost.Fiber has it, too: the control block lies above what was declared as the stack, far from the context.
static void control_blocks_above_stacks(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		members[i].stack.hi -= 0x200;
		members[i].slot = sp(i);
	}
	uint64_t above = members[0].stack.hi + 0x40, other = members[1].stack.hi + 0x40;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	*word(HUBS) = *word(sp(0) + 0x48) = above;
	*word(HUBS + 0x100) = *word(sp(1) + 0x48) = other;
	assert_int_equal(find(), 1);
	assert_int_equal(found[0].at[0].hub, HUBS + 0x100);
	*word(above + 8) = members[1].slot; // it leads to another's context: it is that one's
	assert_int_equal(find(), 0);
	*word(above + 8) = 0;
	*word(HUBS) = *word(sp(0) + 0x48) = members[0].stack.hi + 0x1000 - 0x200; // in the next stack
	assert_int_equal(find(), 0);
}

// Who holds two locks of which others wait for one is in one circle.
static void each_is_in_one_circle(void **state)
{
	(void)state;
	query.n = 4;
	lock_with_node(HUBS, 0, 1);
	lock_with_node(HUBS + 0x100, 1, 0);
	lock_with_node(HUBS + 0x200, 2, 3);
	lock_with_node(HUBS + 0x300, 3, 2);
	assert_int_equal(find(), 2);
	assert_int_equal(found[1].at[0].member, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(two_locks_in_both_orders, begin),     cmocka_unit_test_setup(one_lock_is_none, begin),
		cmocka_unit_test_setup(two_kinds_of_hubs, begin),
		cmocka_unit_test_setup(a_waiter_must_be_queued, begin),      cmocka_unit_test_setup(a_node_must_be_the_waiters, begin),
		cmocka_unit_test_setup(a_node_above_counts_alone, begin),    cmocka_unit_test_setup(three_in_a_ring, begin),
		cmocka_unit_test_setup(handles_alone_need_alike_frames, begin), cmocka_unit_test_setup(ends_of_lists, begin),
		cmocka_unit_test_setup(records_in_a_ring, begin),            cmocka_unit_test_setup(intrusive_links, begin),
		cmocka_unit_test_setup(a_handle_may_be_refused, begin),      cmocka_unit_test_setup(handles_on_stacks_and_beyond, begin),
		cmocka_unit_test_setup(control_blocks_above_stacks, begin), cmocka_unit_test_setup(each_is_in_one_circle, begin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
