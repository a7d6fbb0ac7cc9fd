// SPDX-License-Identifier: MIT
//
// Where stacks end, which contexts lie on one of them, and who runs on one: contexts in a mapping of one page.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "fake_image.h"
#include "find/bounds.h"

static struct fake_image f;
static struct contexts c;
static struct shapes shapes;
static struct image_thread thread;

static uint64_t at(unsigned offset)
{
	return (uintptr_t)f.data + offset;
}

// Contexts are moved: each is known by where it was saved.
static void add(unsigned sp, unsigned lo, unsigned hi)
{
	struct context *x = &c.v[c.n++];
	*x = (struct context){.id = c.n, .state = CONTEXT_CREATED, .kind = SHAPE_UCONTEXT};
	x->regs[CTP_REG_SP] = at(sp);
	x->shape.run = (struct span){at(0), at(FAKE_PAGE)};
	if (lo != hi) {
		x->lo = at(lo);
		x->hi = at(hi);
		x->evidence = CONTEXT_DECLARED;
	}
}

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	c = (struct contexts){.image = &f.image, .v = calloc(8, sizeof(*c.v)), .capacity = 8};
	shapes = (struct shapes){0};
	return 0;
}

static int close_image(void **state)
{
	free(c.v);
	fake_image_close(&f);
	return 0;
}

static void find(void)
{
	assert_int_equal(bounds_find(&c, &shapes, NULL), 0);
}

static void is_stack(size_t i, uint64_t id, unsigned lo, unsigned hi)
{
	assert_true(i < c.n);
	assert_int_equal(c.v[i].id, id);
	assert_int_equal(c.v[i].lo - at(0), lo);
	assert_int_equal(c.v[i].hi - at(0), hi);
}

static void one_stack_is_one_coroutine(void **state)
{
	add(0x300, 0x100, 0x400);
	add(0x200, 0x100, 0x400); // the deepest counts
	add(0x380, 0x100, 0x400);
	add(0x700, 0x400, 0x800);
	find();
	assert_int_equal(c.n, 2);
	is_stack(0, 2, 0x100, 0x400);
	is_stack(1, 4, 0x400, 0x800);
}

static void one_stack_around_another(void **state)
{
	add(0x200, 0x100, 0x400);
	add(0x280, 0x250, 0x300); // made on memory of it
	add(0x390, 0x100, 0x400);
	find();
	assert_int_equal(c.n, 2);
	is_stack(0, 1, 0x100, 0x400);
	is_stack(1, 2, 0x250, 0x300);
}

static void the_same_place_is_one(void **state)
{
	add(0x200, 0x100, 0x400);
	add(0x200, 0x180, 0x400);
	find();
	assert_int_equal(c.n, 1);
}

static void a_copy_comes_after_its_original(void **state)
{
	add(0x200, 0x100, 0x400);
	c.v[0].shape.copied = true;
	add(0x200, 0x100, 0x400);
	find();
	assert_int_equal(c.n, 1);
	assert_int_equal(c.v[0].id, 2);
}

// Where nobody says how large a stack is, it is its mapping, cut where the one below begins: at the next page.
static void a_mapping_is_cut(void **state)
{
	enum { PAGES = 8 };
	f.maps[1].hi = at(PAGES * FAKE_PAGE);
	add(5 * FAKE_PAGE - 0x80, 0, 0);
	c.v[0].shape.run.hi = at(PAGES * FAKE_PAGE);
	find();
	assert_int_equal(c.n, 1);
	is_stack(0, 1, 0, PAGES * FAKE_PAGE);
	c.n = 0;
	add(5 * FAKE_PAGE - 0x80, 0, 0);
	add(2 * FAKE_PAGE - 0x80, 0, 0);
	c.v[0].shape.run.hi = c.v[1].shape.run.hi = at(PAGES * FAKE_PAGE);
	find();
	assert_int_equal(c.n, 2);
	is_stack(0, 2, 0, 2 * FAKE_PAGE);
	is_stack(1, 1, 2 * FAKE_PAGE, PAGES * FAKE_PAGE);
}

static void within_another_ones_mapping(void **state)
{
	add(0x400, 0, 0);
	add(0x400, 0, 0); // below where the first one begins
	find();
	assert_int_equal(c.n, 1);
}

static void nowhere(void **state)
{
	add(2 * FAKE_PAGE, 0, 0); // in no mapping
	find();
	assert_int_equal(c.n, 1);
	assert_true(c.v[0].lo == c.v[0].hi);
}

static void run_at(unsigned sp)
{
	thread = (struct image_thread){.tid = 7, .placed = true};
	thread.regs[CTP_REG_SP] = at(sp);
	f.image.threads = &thread;
	f.image.nthreads = 1;
}

static void a_thread_stands_on_it(void **state)
{
	add(0x200, 0x100, 0x400);
	add(0x700, 0x400, 0x800);
	c.v[1].npcs = 3;
	run_at(0x400);
	find();
	assert_int_equal(c.n, 2);
	assert_int_equal(c.v[0].state, CONTEXT_CREATED);
	assert_int_equal(c.v[1].state, CONTEXT_RUNNING);
	assert_int_equal(c.v[1].tid, 7);
	assert_int_equal(c.v[1].regs[CTP_REG_SP], at(0x400));
	assert_int_equal(c.v[1].npcs, 0); // what was saved is stale
	assert_int_equal(c.v[1].evidence, CONTEXT_THREAD_INSIDE | CONTEXT_DECLARED);
}

// Of one that runs nothing may be saved, but the stack that it was made with is known.
static void a_thread_stands_on_a_declared_stack(void **state)
{
	struct shape made = {.kind = SHAPE_UCONTEXT, .block = at(0x40), .stack_lo = at(0x800), .stack_hi = at(0xc00)};
	shapes = (struct shapes){.v = &made, .n = 1};
	run_at(0xc00);
	find();
	assert_int_equal(c.n, 0);
	run_at(0xa00);
	find();
	assert_int_equal(c.n, 1);
	assert_int_equal(c.v[0].id, at(0x40));
	assert_int_equal(c.v[0].state, CONTEXT_RUNNING);
	assert_int_equal(c.v[0].lo, at(0x800));
	assert_int_equal(c.v[0].hi, at(0xc00));
}

static void a_thread_of_which_nothing_is_known(void **state)
{
	add(0x200, 0x100, 0x400);
	run_at(0x200);
	thread.placed = false;
	find();
	assert_int_equal(c.v[0].state, CONTEXT_CREATED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_image, close_image)
		TEST(one_stack_is_one_coroutine), TEST(one_stack_around_another), TEST(the_same_place_is_one), TEST(a_copy_comes_after_its_original),
		TEST(a_mapping_is_cut),		  TEST(within_another_ones_mapping), TEST(nowhere),
		TEST(a_thread_stands_on_it),	  TEST(a_thread_stands_on_a_declared_stack),
		TEST(a_thread_of_which_nothing_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
