// SPDX-License-Identifier: MIT
//
// Coroutines of this process, by src/frames as a whole: its own frames, made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_frames.h"
#include "sanitized.h"

// A block of malloc's, no neighbour of another that the test frees.
static struct fake_frame *block(void)
{
	return malloc(sizeof(struct fake_frame));
}

static void states(void **state)
{
	struct fake f;
	(void)state;
	struct fake_frame *initial = fake_leaf(block(), 2), *at = fake_leaf(block(), 4),
			  *last = fake_leaf(block(), 6), *going = fake_leaf(block(), 5),
			  *first = fake_root(block(), 0);
	last->resume = NULL;
	fake_find(&f);
	assert_int_equal(f.list.n, 5);
	assert_int_equal(fake_at(&f, initial)->state, STACKLESS_INITIAL);
	assert_int_equal(fake_at(&f, at)->state, STACKLESS_SUSPENDED);
	assert_int_equal(fake_at(&f, last)->state, STACKLESS_FINAL);
	assert_int_equal(fake_at(&f, going)->state, STACKLESS_DESTROYING);
	assert_true(stackless_may_be_initial(fake_at(&f, first)));
	assert_false(stackless_may_be_initial(fake_at(&f, initial)));
	assert_string_equal(fake_at(&f, at)->pair->symbol, "_Z4leafi");
	assert_int_equal(fake_at(&f, at)->block.lo, (uintptr_t)at);
	assert_int_equal(stackless_at(&f.list, fake_at(&f, at)).landing, (uintptr_t)fake_leaf_4);
	fake_close(&f);
	free(initial);
	free(at);
	free(last);
	free(going);
	free(first);
}

static void what_was_freed_is_not_listed(void **state)
{
	enum { MANY = 64 };
	struct fake_frame *v[MANY];
	struct fake f;
	size_t living = 0;
	(void)state;
	for (size_t i = 0; i < MANY; i++)
		v[i] = fake_leaf(block(), 4);
	for (size_t i = 0; i < MANY; i += 2)
		free(v[i]);
	fake_find(&f);
	for (size_t i = 0; i < f.list.n; i++)
		living += f.list.v[i].state == STACKLESS_SUSPENDED;
	assert_int_equal(living, MANY / 2);
	fake_close(&f);
	for (size_t i = 1; i < MANY; i += 2)
		free(v[i]);
}

static void inside_a_block_of_something_else(void **state)
{
	struct fake f;
	(void)state;
	struct fake_frame *pool = calloc(4, sizeof(*pool));
	fake_leaf(&pool[1], 4);
	fake_find(&f);
	assert_null(fake_at(&f, &pool[1]));
	assert_int_equal(f.list.inside, 1);
	fake_close(&f);
	free(pool);
}

static void a_chain(void **state)
{
	struct fake f;
	(void)state;
	struct fake_frame *root = fake_root(block(), 1), *middle = fake_leaf(block(), 4),
			  *leaf = fake_leaf(block(), 4);
	leaf->next = middle;
	middle->variable = leaf;
	middle->next = &root->next; // by its promise
	root->variable = middle;
	fake_find(&f);
	const struct stackless *r = fake_at(&f, root), *m = fake_at(&f, middle), *l = fake_at(&f, leaf);
	assert_true(l->awaited_by == m - f.list.v && m->awaits == l - f.list.v);
	assert_true(m->awaited_by == r - f.list.v && r->awaits == m - f.list.v);
	assert_int_equal(r->awaited_by, STACKLESS_NONE);
	assert_int_equal(l->awaits, STACKLESS_NONE);
	fake_close(&f);
	free(root);
	free(middle);
	free(leaf);
}

static void lists_and_circles_are_no_chains(void **state)
{
	struct fake f;
	(void)state;
	struct fake_frame *a = fake_leaf(block(), 4), *b = fake_leaf(block(), 4), *c = fake_leaf(block(), 4);
	a->next = b; // a list of promises
	b->next = a;
	c->next = c;
	fake_find(&f);
	for (size_t i = 0; i < f.list.n; i++)
		assert_true(f.list.v[i].awaits == STACKLESS_NONE && f.list.v[i].awaited_by == STACKLESS_NONE);
	fake_close(&f);
	free(a);
	free(b);
	free(c);
}

static void a_frame_in_its_callers(void **state)
{
	struct fake f;
	(void)state;
	struct fake_frame *both = calloc(2, sizeof(*both)), *old = calloc(2, sizeof(*old));
	fake_root(&both[0], 1);
	fake_root(&both[1], 1)->destroy = root_cleanup;
	both[1].next = &both[0];
	fake_root(&old[0], 1);
	fake_root(&old[1], 1)->destroy = root_cleanup; // nothing says that it still lives
	fake_find(&f);
	assert_int_equal(fake_at(&f, &both[1])->state, STACKLESS_SUSPENDED);
	assert_true(fake_at(&f, &both[1])->nested);
	assert_int_equal(fake_at(&f, &old[1])->state, STACKLESS_ENDED);
	fake_close(&f);
	free(both);
	free(old);
}

static void one_that_runs(void **state)
{
	volatile uintptr_t stack[4] = {0};
	struct fake f;
	(void)state;
	struct fake_frame *a = fake_leaf(block(), 4), *b = fake_leaf(block(), 4);
	stack[1] = (uintptr_t)leaf_resume + 9; // a call in there
	stack[2] = (uintptr_t)a;
	fake_pairs(&f);
	struct stackless_where w = fake_where(&f);
	const struct stackless_stack s = {(uintptr_t)stack, (uintptr_t)(stack + 4)};
	w.stacks = &s;
	w.nstacks = 1;
	assert_int_equal(stackless_find(&f.list, &w), 0);
	assert_int_equal(fake_at(&f, a)->state, STACKLESS_RUNNING);
	assert_int_equal(fake_at(&f, b)->state, STACKLESS_SUSPENDED);
	fake_close(&f);
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states),
		cmocka_unit_test(what_was_freed_is_not_listed),
		cmocka_unit_test(inside_a_block_of_something_else),
		cmocka_unit_test(a_chain),
		cmocka_unit_test(lists_and_circles_are_no_chains),
		cmocka_unit_test(a_frame_in_its_callers),
		cmocka_unit_test(one_that_runs),
	};
	if (!FAKE_CODE || not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		return SKIPPED_PROGRAM;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
