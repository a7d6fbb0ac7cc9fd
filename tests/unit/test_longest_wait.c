// SPDX-License-Identifier: MIT
//
// Where coroutines that have ended were suspended longest, by a history that is made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/facts/longest_wait.h"
#include "builder.h"
#include "trace_dir.h"

static struct builder b;

static int begin(void **state)
{
	(void)state;
	return trace_dir_begin() ? -1 : builder_begin(&b, trace_dir);
}

// Two slots of a stream.
struct entry {
	struct ctp_record first, rest;
};

// At this time `from` leaves for `to`, as its from_n-th change and that one's to_n-th.
static struct entry leaves(uint64_t at, uint64_t from, uint64_t from_n, uint32_t stack, uint64_t to, uint64_t to_n)
{
	struct entry e;
	ctp_record_set(&e.first, &e.rest, BUILDER_START + at, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, from), ctp_w2(to, stack),
		       to_n << 32 | from_n);
	return e;
}

static void the_longest_of_several(void **state)
{
	struct world w;
	struct world_error error;
	(void)state;
	builder_coroutine(&b, 41, CTP_DESTROYED)->changes = 6;
	builder_coroutine(&b, 42, CTP_SUSPENDED)->changes = 2;
	builder_coroutine(&b, 1, CTP_RUNNING)->entity = CTP_NATIVE;
	const struct entry r[] = {
		leaves(1, 1, 1, 5, 41, 1),       leaves(1000, 41, 2, 7, 1, 2), // it waits at 7
		leaves(31000, 1, 3, 5, 41, 3),   leaves(31100, 41, 4, 8, 42, 1), // and at 8
		leaves(31200, 42, 2, 9, 41, 5),  leaves(31300, 41, 6, 7, 1, 4), // where it still is
		leaves(999000, 1, 5, 5, 99, 1),
	};
	builder_thread(&b, 100, 1);
	assert_int_equal(builder_stream(&b, 0, &r->first, 2 * sizeof(r) / sizeof(*r), 2 * sizeof(r) / sizeof(*r), 0), 0);
	assert_int_equal(builder_end(&b), 0);
	assert_int_equal(world_open(&w, trace_dir, 0, NULL, &error), 0);
	struct longest_wait v[] = {{.id = 40}, {.id = 41}, {.id = 42}};
	assert_int_equal(longest_wait_find(&w, v, 3), 0);
	assert_int_equal(v[0].span_ns, 0);
	assert_int_equal(v[1].span_ns, 30000);
	assert_int_equal(v[1].stack, 7);
	assert_int_equal(v[2].span_ns, 0);
	world_close(&w);
}

// What cannot be walked tells nothing, and is no error.
static void without_a_history(void **state)
{
	(void)state;
	static struct image images[2];
	struct world w = {.form = WORLD_CORE, .images = images, .nimages = 1};
	struct longest_wait v[] = {{.id = 5}};
	assert_int_equal(longest_wait_find(&w, v, 1), 0);
	w.form = WORLD_DIRECTORY;
	w.nimages = 2; // ids of several
	assert_int_equal(longest_wait_find(&w, v, 1), 0);
	assert_int_equal(longest_wait_find(&w, v, 0), 0);
	assert_int_equal(v[0].span_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_longest_of_several, begin, trace_dir_end),
		cmocka_unit_test(without_a_history),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
