// SPDX-License-Identifier: MIT
//
// From which places coroutines went on, as the records and the last tables have it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "builder.h"
#include "trace/resumed.h"
#include "trace/world.h"
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

static struct entry entry(enum ctp_kind kind, unsigned how, uint64_t a, uint32_t stack, uint64_t value)
{
	static uint64_t time;
	struct entry e;
	ctp_record_set(&e.first, &e.rest, BUILDER_START + ++time, ctp_w1(kind, how, a), ctp_w2(1, stack), value);
	return e;
}

// Coroutine `who` left from `stack`, as its n-th change.
static struct entry leaves(uint64_t who, uint32_t stack, uint64_t n)
{
	return entry(CTP_EV_SWITCH, CTP_HOW_SWAP, who, stack, 1ULL << 32 | n);
}

static void read_all(const struct entry *r, size_t n, struct resumed *v, size_t nv)
{
	struct world w;
	struct world_error error;
	builder_thread(&b, 100, 1);
	assert_int_equal(builder_stream(&b, 0, &r->first, 2 * n, 2 * n, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	assert_int_equal(world_open(&w, trace_dir, 0, NULL, &error), 0);
	assert_int_equal(w.nimages, 1);
	assert_int_equal(resumed_read(&w, &w.images[0], v, nv), 0);
	world_close(&w);
}

static bool seen(const struct resumed *v, size_t n, uint32_t stack)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].stack == stack)
			return v[i].seen;
	fail();
	return false;
}

static void who_went_on_was_resumed_there(void **state)
{
	(void)state;
	builder_coroutine(&b, 41, CTP_SUSPENDED)->changes = 6; // went on after its fourth change
	builder_coroutine(&b, 42, CTP_SUSPENDED)->changes = 2; // has not since
	builder_coroutine(&b, 1, CTP_RUNNING)->entity = CTP_NATIVE;
	struct entry r[] = { leaves(41, 7, 4), leaves(41, 9, 6), leaves(42, 8, 2), leaves(1, 5, 1), leaves(77, 4, 1) };
	struct resumed v[] = { {9, false}, {8, false}, {7, false}, {5, false}, {4, false}, {0, false} };
	size_t n = sizeof(v) / sizeof(*v);
	read_all(r, sizeof(r) / sizeof(*r), v, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(v[i].seen, v[i].stack == 7); // not 9: it stands there; 5: a thread's own; 4: of nobody known
}

static void any_coroutine_will_do(void **state)
{
	(void)state;
	builder_coroutine(&b, 41, CTP_SUSPENDED)->changes = 2;
	builder_coroutine(&b, 42, CTP_SUSPENDED)->changes = 3;
	struct entry r[] = { leaves(41, 7, 2), leaves(42, 7, 2) };
	struct resumed v[] = { {7, false}, {3, true} };
	read_all(r, 2, v, 2);
	assert_true(seen(v, 2, 7));
	assert_true(seen(v, 2, 3)); // what was known stays
}

static void nothing_is_said_without_records(void **state)
{
	(void)state;
	builder_coroutine(&b, 41, CTP_SUSPENDED)->changes = 20;
	struct entry r[] = { entry(CTP_EV_CREATE, 0, 41, 7, 1) };
	struct resumed v[] = { {7, false} };
	read_all(r, 1, v, 1); // a creation is no switch
	assert_false(v[0].seen);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(who_went_on_was_resumed_there, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(any_coroutine_will_do, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(nothing_is_said_without_records, begin, trace_dir_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
