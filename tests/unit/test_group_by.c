// SPDX-License-Identifier: MIT
//
// By what coroutines are put together: the keys, the labels, and the parts of a finding.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/report/group_by.h"
#include "tables.h"

static struct tables t;
static struct report r;
static struct symbols *no_symbols[1];

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	r = (struct report){ .world = &t.world, .symbols = no_symbols };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tables_close(&t);
	return 0;
}

static uint64_t key(enum group_by by, const struct ctp_state *s, uint64_t site)
{
	r.group_by = by;
	return group_by_key(&r, &t.image, s, site);
}

static const char *label(enum group_by by, const struct ctp_state *s)
{
	static char buf[256];
	r.group_by = by;
	return group_by_label(&r, &t.image, s, buf, sizeof(buf));
}

static void sites_are_told_apart_by_the_caller(void **state)
{
	struct ctp_state *s = tables_suspended(&t, 41, 5, 1);
	(void)state;
	tables_index(&t);
	assert_int_equal(key(GROUP_BY_SITE, s, 9), 9);
	assert_string_equal(label(GROUP_BY_SITE, s), "");
}

static void creators(void **state)
{
	struct ctp_state *a = tables_suspended(&t, 41, 5, 1), *b = tables_suspended(&t, 42, 6, 1);
	(void)state;
	a->creator = b->creator = 7;
	tables_index(&t);
	assert_int_equal(key(GROUP_BY_CREATOR, a, 1), 7);
	assert_int_equal(key(GROUP_BY_CREATOR, b, 2), 7);
	assert_string_equal(label(GROUP_BY_CREATOR, a), "created by coroutine 7");
}

// A thread's own stack that had not switched yet had no id when it made the coroutine: the thread tells.
static void a_creator_without_an_id_is_its_thread(void **state)
{
	struct ctp_state *s = tables_suspended(&t, 41, 5, 1), *foreign = tables_suspended(&t, 42, 5, 1);
	(void)state;
	tables_thread(&t, 2, 20);
	tables_thread(&t, 3, 30);
	s->made = foreign->made = 3ULL << 48 | 1;
	foreign->flags = CTP_STATE_FOREIGN; // made where nobody saw it
	tables_index(&t);
	assert_int_equal(key(GROUP_BY_CREATOR, s, 0), 30);
	assert_int_equal(key(GROUP_BY_CREATOR, foreign, 0), 0);
}

static void names(void **state)
{
	struct ctp_state *a = tables_suspended(&t, 41, 5, 1), *b = tables_suspended(&t, 42, 6, 1),
			 *c = tables_suspended(&t, 43, 5, 1), *none = tables_suspended(&t, 44, 5, 1);
	(void)state;
	tables_name(&t, 41, "conn");
	tables_name(&t, 42, "conn");
	tables_name(&t, 43, "reaper");
	tables_index(&t);
	assert_int_equal(key(GROUP_BY_NAME, a, 5), key(GROUP_BY_NAME, b, 6));
	assert_int_not_equal(key(GROUP_BY_NAME, a, 5), key(GROUP_BY_NAME, c, 5));
	assert_int_equal(key(GROUP_BY_NAME, none, 5), 0);
	assert_string_equal(label(GROUP_BY_NAME, c), "\"reaper\"");
	assert_string_equal(label(GROUP_BY_NAME, none), "without a name");
}

static struct verdict_case of(const struct ctp_state *s, uint64_t id)
{
	return (struct verdict_case){ .id = id, .about = { .world = &t.world, .image = &t.image, .state = s } };
}

// The largest first; of two that are as large the one with the lower id; what has no state is in none.
static void parts_of_a_finding(void **state)
{
	enum { N = 6 };
	static const uint64_t creator[N] = { 9, 8, 7, 8, 7, 0 };
	struct verdict_case cases[N];
	const struct verdict_case *list[N];
	struct group_by_part *parts = NULL;
	size_t n = 0;
	(void)state;
	for (unsigned i = 0; i < N; i++) {
		struct ctp_state *s = i < 5 ? tables_suspended(&t, 41 + i, 5, 1) : NULL;
		if (s)
			s->creator = creator[i];
		cases[i] = of(s, 41 + i);
		list[i] = &cases[i];
	}
	tables_index(&t);
	struct finding f = { .cases = list, .n = N };
	r.group_by = GROUP_BY_CREATOR;
	assert_int_equal(group_by_parts(&r, &f, &parts, &n), 0);
	assert_int_equal(n, 3);
	assert_int_equal(parts[0].n, 2);
	assert_int_equal(parts[0].first->id, 42);
	assert_int_equal(parts[1].n, 2);
	assert_int_equal(parts[1].first->id, 43);
	assert_int_equal(parts[2].n, 1);
	assert_int_equal(parts[2].first->id, 41);
	free(parts);
	r.group_by = GROUP_BY_SITE;
	assert_int_equal(group_by_parts(&r, &f, &parts, &n), 0);
	assert_int_equal(n, 0);
	free(parts);
}

// The same key in two processes is two groups.
static void parts_are_of_one_image(void **state)
{
	struct verdict_case cases[2];
	const struct verdict_case *list[] = { &cases[0], &cases[1] };
	struct image other = t.image;
	struct group_by_part *parts = NULL;
	size_t n = 0;
	(void)state;
	other.index = 1;
	for (unsigned i = 0; i < 2; i++) {
		struct ctp_state *s = tables_suspended(&t, 41 + i, 5, 1);
		s->creator = 7;
		cases[i] = of(s, 41 + i);
	}
	cases[1].about.image = &other;
	struct finding f = { .cases = list, .n = 2 };
	r.group_by = GROUP_BY_CREATOR;
	assert_int_equal(group_by_parts(&r, &f, &parts, &n), 0);
	assert_int_equal(n, 2);
	free(parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(sites_are_told_apart_by_the_caller, setup, teardown),
		cmocka_unit_test_setup_teardown(creators, setup, teardown),
		cmocka_unit_test_setup_teardown(a_creator_without_an_id_is_its_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(names, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_of_a_finding, setup, teardown),
		cmocka_unit_test_setup_teardown(parts_are_of_one_image, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
