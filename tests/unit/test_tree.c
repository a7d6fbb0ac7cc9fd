// SPDX-License-Identifier: MIT
//
// Trees of who created whom, whatever their shape; cycles of who waits for whom.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ps/model/edges.h"
#include "ps/model/tree.h"

static const struct tree_node *child(const struct tree *t, const struct tree_node *of, size_t i)
{
	assert_true(i < of->nchildren);
	return &t->nodes[of->children + i];
}

static void alike_are_one(void **state)
{
	// 7 made 1 and 2, of one kind; 1 made 3 and 4, 2 made 5: two kinds; nobody knows who made 6
	const struct tree_item items[] = {
		{ 1, 7, 10, NULL }, { 2, 7, 10, NULL }, { 3, 1, 20, NULL }, { 4, 1, 21, NULL }, { 5, 2, 20, NULL }, { 6, 0, 10, NULL },
	};
	struct tree t;
	assert_int_equal(tree_make(&t, items, 6, false), 0);
	assert_int_equal(t.nroots, 2);
	assert_int_equal(t.nodes[0].root, 7); // the larger one first
	assert_int_equal(t.nodes[0].all, 5);
	assert_int_equal(t.nodes[1].root, 0);
	const struct tree_node *both = child(&t, &t.nodes[0], 0);
	assert_int_equal(both->n, 2);
	assert_int_equal(both->all, 5);
	assert_int_equal(both->nchildren, 2);
	assert_int_equal(child(&t, both, 0)->n, 2);
	assert_int_equal(t.order[child(&t, both, 0)->first_item]->id, 3);
	assert_int_equal(t.order[child(&t, both, 0)->first_item + 1]->id, 5);
	assert_int_equal(t.order[child(&t, both, 1)->first_item]->id, 4);
	tree_deinit(&t);
	assert_int_equal(tree_make(&t, items, 6, true), 0);
	assert_int_equal(t.nodes[0].nchildren, 2);
	assert_int_equal(t.n, 8);
	tree_deinit(&t);
}

static size_t items_of(const struct tree *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++)
		n += t->nodes[i].n;
	return n;
}

static void any_shape(void **state)
{
	enum { N = 100000 };
	struct tree_item *v = calloc(N, sizeof(*v));
	struct tree t;
	for (int shape = 0; shape < 4; shape++) {
		srand(1);
		for (size_t i = 0; i < N; i++) // a chain, a comb, a bush, anything
			v[i] = (struct tree_item){ i + 1, shape == 0 ? i : shape == 1 ? i / 2 * 2 : shape == 2 ? i / 300 : (size_t)rand() % (i + 1),
						   (uint64_t)rand() % 5, NULL };
		for (int apart = 0; apart < 2; apart++) {
			assert_int_equal(tree_make(&t, v, N, apart), 0);
			assert_int_equal(items_of(&t), N);
			size_t all = 0;
			for (size_t i = 0; i < t.nroots; i++)
				all += t.nodes[i].all;
			assert_int_equal(all, N);
			for (size_t i = 0; i < t.n; i++)
				assert_true(t.nodes[i].depth <= TREE_DEEPEST + 1);
			tree_deinit(&t);
		}
	}
	free(v);
}

static void circles_end(void **state)
{
	const struct tree_item items[] = { { 1, 3, 1, NULL }, { 2, 1, 1, NULL }, { 3, 2, 1, NULL }, { 4, 4, 1, NULL }, { 5, 2, 1, NULL } };
	struct tree t;
	assert_int_equal(tree_make(&t, items, 5, false), 0);
	assert_int_equal(items_of(&t), 5);
	assert_int_equal(t.nodes[0].all + t.nodes[1].all, 5);
	tree_deinit(&t);
	assert_int_equal(tree_make(&t, items, 0, false), 0);
	assert_int_equal(t.n, 0);
	tree_deinit(&t);
}

static void only_whole_cycles(void **state)
{
	struct edge v[] = {
		// clang-format off
		{ .from = 1, .to = 2, .only = true },  // 1 -> 2 -> 3 -> 2
		{ .from = 2, .to = 3, .only = true },
		{ .from = 3, .to = 2, .only = true },
		{ .from = 4, .to = 5, .only = true },  // 5 waits for something else as well
		{ .from = 5, .to = 4, .only = false },
		{ .from = 6, .to = 99, .only = true }, // waits for nobody
		// clang-format on
	};
	struct edges e = { .v = v, .n = sizeof(v) / sizeof(*v) };
	const uint64_t want[] = { 2, 3, 0 };
	assert_int_equal(edges_find_cycles(&e), 0);
	assert_int_equal(e.ncycles, 3);
	assert_memory_equal(e.cycles, want, sizeof(want));
	free(e.cycles);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alike_are_one), cmocka_unit_test(any_shape), cmocka_unit_test(circles_end),
		cmocka_unit_test(only_whole_cycles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
