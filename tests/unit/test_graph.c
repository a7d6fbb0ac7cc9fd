// SPDX-License-Identifier: MIT
//
// What leads to what, in numbers.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "search/mark/graph.h"

// Three objects, the first of two spans; before the second and behind the third lie points.
enum { A = 0x10000, A2 = 0x20000, B = 0x30000, C = 0x40000, SIZE = 0x100 };
static struct graph g;

static int begin(void **state)
{
	(void)state;
	struct graph_part p[] = {
		{{C, C + SIZE}, 2, false}, {{A, A + SIZE}, 0, false}, {{B, B + SIZE}, 1, false}, {{A2, A2 + SIZE}, 0, false},
		{{B - 8, 0}, 1, true}, {{C + SIZE, 0}, 2, true},
	};
	return graph_init(&g, 3, p, sizeof(p) / sizeof(*p));
}

static int end(void **state)
{
	(void)state;
	graph_deinit(&g);
	return 0;
}

static bool reached(uint32_t node)
{
	return g.reached[graph_group(&g, node)];
}

static void nothing_leads_to_any(void **state)
{
	(void)state;
	assert_true(graph_spread(&g));
	assert_false(reached(0) || reached(1) || reached(2));
}

static void one_word_from_outside(void **state)
{
	(void)state;
	graph_word(&g, 0x5000, A2 + 8);
	assert_true(graph_spread(&g));
	assert_true(reached(0));
	assert_false(reached(1) || reached(2));
	assert_int_equal(graph_edge_to(&g, graph_group(&g, 0), 0)->at, 0x5000);
	assert_null(graph_edge_to(&g, graph_group(&g, 0), 1));
}

static void what_is_reached_leads_on(void **state)
{
	(void)state;
	graph_word(&g, A + 16, B);          // from the one to the next, in an order that takes two steps
	graph_word(&g, B + 16, C + SIZE);   // by the point behind it
	graph_word(&g, 0x5000, A);
	assert_true(graph_spread(&g));
	assert_true(reached(0) && reached(1) && reached(2));
}

static void two_objects_lead_to_a_third(void **state)
{
	(void)state;
	graph_word(&g, A + 16, C);
	graph_word(&g, B + 16, C);
	graph_word(&g, 0x5000, B);
	assert_true(graph_spread(&g));
	assert_true(reached(1) && reached(2));
	assert_false(reached(0));
}

static void those_that_lead_to_each_other_alone(void **state)
{
	(void)state;
	graph_word(&g, A + 16, B - 8);
	graph_word(&g, B + 16, C);
	graph_word(&g, C + 16, A);
	graph_word(&g, A + 24, A2); // to itself
	assert_true(graph_spread(&g));
	assert_false(reached(0) || reached(1) || reached(2));
	g.reached[graph_group(&g, 1)] = true; // by a register
	assert_true(graph_spread(&g));
	assert_true(reached(0) && reached(1) && reached(2));
}

static void what_a_value_leads_to(void **state)
{
	uint32_t owners[GRAPH_OWNERS];
	(void)state;
	assert_int_equal(graph_owners(&g, B - 8, owners), 1);
	assert_int_equal(graph_owners(&g, B - 7, owners), 0);
	assert_int_equal(graph_owners(&g, B, owners), 1);
	assert_int_equal(graph_owners(&g, B + SIZE - 1, owners), 1);
	assert_int_equal(graph_owners(&g, B + SIZE, owners), 0);
	assert_int_equal(graph_owners(&g, C + SIZE, owners), 1);
	assert_false(graph_has(&g, C + SIZE)); // but what stands there is not the object's
	assert_true(graph_has(&g, C + SIZE - 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_leads_to_any), TEST(one_word_from_outside), TEST(what_is_reached_leads_on),
		TEST(two_objects_lead_to_a_third), TEST(those_that_lead_to_each_other_alone), TEST(what_a_value_leads_to),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
