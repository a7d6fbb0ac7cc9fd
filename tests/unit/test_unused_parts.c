// SPDX-License-Identifier: MIT
//
// Words in the part of a container where no element is now, in this process's own memory.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/stackless/unused_parts.h"

enum { PART = 64, MAP = 8, FRAME = 16 }; // words
enum { OF_FRAME, OF_PART };

// A deque as GCC's library has it: its map, and the iterators of its begin and end.
struct deque {
	uint64_t *map, size;
	struct iterator {
		uint64_t *current, *first, *last, **node;
	} begin, end;
};

struct heap {
	uint64_t part[PART + 1], apart[4], frame[FRAME], *map[MAP];
	struct deque d;
	uint64_t *vector[3];
	uint64_t *foreign; // another word that leads to the part
	struct inspection l;
	struct graph g;
	struct ends left;
	struct span_list unused;
};

static struct heap h;

static uint64_t address(const void *at)
{
	return (uintptr_t)at;
}

static void word(const void *at)
{
	uint64_t value;
	memory_peek_process(getpid(), address(at), &value, sizeof(value), false);
	graph_word(&h.g, address(at), value);
}

static int begin(void **state)
{
	(void)state;
	h = (struct heap){.l.deadline_ns = UINT64_MAX};
	memory_of_process(&h.l.memory, getpid());
	struct graph_part parts[] = {
		{{address(h.frame), address(h.frame + FRAME)}, OF_FRAME, false},
		{{address(h.part), address(h.part + PART + 1)}, OF_PART, false},
	};
	return graph_init(&h.g, 2, parts, 2);
}

static int end(void **state)
{
	(void)state;
	ends_deinit(&h.left);
	free(h.unused.v);
	graph_deinit(&h.g);
	memory_close(&h.l.memory);
	return 0;
}

// With elements [from, to).
static void make_deque(size_t from, size_t to)
{
	h.map[3] = h.part;
	h.d = (struct deque){.map = (uint64_t *)h.map,
			     .size = MAP,
			     .begin = {h.part + from, h.part, h.part + PART, &h.map[3]},
			     .end = {h.part + to, h.part, h.part + PART, &h.map[3]}};
	word(&h.map[3]);
	for (unsigned i = 0; i < sizeof(h.d) / sizeof(uint64_t); i++)
		word((uint64_t *)&h.d + i);
}

// The words in which a part of the container holds the frame's address.
static void holds(size_t i)
{
	h.part[i] = address(h.frame);
	word(&h.part[i]);
}

static size_t take(void)
{
	assert_true(unused_parts_take(&h.left, &h.unused, &h.l, &h.g));
	assert_true(graph_spread(&h.g));
	return h.left.n;
}

static void taken_from_a_deque(void **state)
{
	(void)state;
	holds(2);
	make_deque(5, 7);
	assert_int_equal(take(), 1);
	assert_int_equal(h.left.v[0].at, address(&h.part[2]));
	assert_false(h.g.reached[OF_FRAME]);
	assert_true(h.g.reached[OF_PART]);
	assert_int_equal(h.unused.n, 2); // before its elements, and behind them
}

static void in_a_deque(void **state)
{
	(void)state;
	holds(5);
	make_deque(5, 7);
	assert_int_equal(take(), 0);
	assert_true(h.g.reached[OF_FRAME]);
}

// Of the words of one block that lead to one frame, the graph has the first.
static void taken_and_put_back(void **state)
{
	(void)state;
	holds(2);
	holds(6);
	make_deque(5, 7);
	assert_int_equal(take(), 0);
	assert_true(h.g.reached[OF_FRAME]);
}

static void with_another_word(void **state)
{
	(void)state;
	holds(2);
	make_deque(5, 7);
	h.foreign = h.part; // somebody reads it from its begin
	word(&h.foreign);
	assert_int_equal(take(), 0);
	assert_true(h.g.reached[OF_FRAME]);
	assert_int_equal(h.unused.n, 0);
}

static void whose_map_has_no_such_part(void **state)
{
	(void)state;
	holds(2);
	make_deque(5, 7);
	h.map[3] = NULL;
	assert_int_equal(take(), 0);
}

static void behind_a_vector(void **state)
{
	(void)state;
	holds(4);
	h.vector[0] = h.part;
	h.vector[1] = h.part + 4;
	h.vector[2] = h.part + PART;
	for (unsigned i = 0; i < 3; i++)
		word(&h.vector[i]);
	assert_int_equal(take(), 1);
	assert_false(h.g.reached[OF_FRAME]);
	h.vector[1] = h.part + 5;
	holds(4);
	h.left.n = 0;
	assert_int_equal(take(), 0);
	assert_true(h.g.reached[OF_FRAME]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(taken_from_a_deque, begin, end),
		cmocka_unit_test_setup_teardown(in_a_deque, begin, end),
		cmocka_unit_test_setup_teardown(taken_and_put_back, begin, end),
		cmocka_unit_test_setup_teardown(with_another_word, begin, end),
		cmocka_unit_test_setup_teardown(whose_map_has_no_such_part, begin, end),
		cmocka_unit_test_setup_teardown(behind_a_vector, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
