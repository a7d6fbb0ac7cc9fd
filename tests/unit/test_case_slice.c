// SPDX-License-Identifier: MIT
//
// Cases of what ctp-run sampled: which lines go to a pass, and what a case takes from the tables.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/case/case_slice.h"
#include "tables.h"

static struct tables t;
static struct slices_item items[3];
static struct results r;
static const struct pass pass = { .rule = "CTP017" };
static unsigned seen, last;

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	memset(items, 0, sizeof(items));
	for (unsigned i = 0; i < 3; i++)
		items[i] = (struct slices_item){ .rule = i == 1 ? RULE_LOCK : RULE_BLOCKING, .coroutine = 41 + i, .fd = -1 };
	t.image.slices.items = items;
	t.image.slices.n = 3;
	seen = last = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_deinit(&r);
	t.image.slices = (struct slices_set){ 0 };
	tables_close(&t);
	return 0;
}

static int note(const struct pass *p, const struct world *w, const struct image *m, const struct slices_item *i,
		struct results *out)
{
	assert_ptr_equal(p, &pass);
	assert_ptr_equal(w, &t.world);
	assert_ptr_equal(m, &t.image);
	assert_ptr_equal(out, &r);
	seen++;
	last = (unsigned)i->coroutine;
	return i->others ? -ENOMEM : 0;
}

static void lines_of_one_rule(void **state)
{
	(void)state;
	tables_index(&t);
	assert_int_equal(case_slice_each(&pass, RULE_BLOCKING, &t.world, &r, note), 0);
	assert_int_equal(seen, 2);
	assert_int_equal(last, 43);
	items[0].others = 1; // the first failure ends it, and is passed on
	assert_int_equal(case_slice_each(&pass, RULE_BLOCKING, &t.world, &r, note), -ENOMEM);
	assert_int_equal(seen, 3);
	t.image.has_tables = false;
	assert_int_equal(case_slice_each(&pass, RULE_LOCK, &t.world, &r, note), 0);
	assert_int_equal(seen, 3);
}

static void what_is_known_of_the_descriptor(void **state)
{
	struct ctp_fd *f = tables_fd(&t, 7, 3);
	struct verdict_case c;
	(void)state;
	f->opener = 9;
	f->opened = 50;
	tables_suspended(&t, 41, 5, 100);
	tables_index(&t);
	items[0].fd = 7;
	items[0].gen = 3;
	case_slice_make(&c, &pass, &t.world, &t.image, &items[0], "as it was seen");
	assert_int_equal(c.id, 41);
	assert_int_equal(c.about.state->id, 41);
	assert_int_equal(c.fd_kind, CTP_FD_TCP);
	assert_int_equal(c.opener.id, 9);
	assert_string_equal(c.proof.items[PROOF_P3].text, "as it was seen");
	assert_int_equal(c.proof.items[PROOF_P0].holds, HOLDS_TRUE);
	assert_int_equal(c.proof.verdict, VERDICT_NONE); // it is the pass's
	items[0].gen = 2; // the number is another's now
	case_slice_make(&c, &pass, &t.world, &t.image, &items[0], "");
	assert_int_equal(c.fd_kind, CTP_FD_OTHER);
	assert_int_equal(c.opener.id, 0);
}

static void gaps_open_p0(void **state)
{
	struct verdict_case c;
	(void)state;
	tables_index(&t);
	t.image.ext.gaps = CTP_GAP_THREADS;
	case_slice_make(&c, &pass, &t.world, &t.image, &items[0], "");
	assert_int_equal(c.proof.items[PROOF_P0].holds, HOLDS_OPEN);
	t.image.ext.gaps = 0;
	t.world.counts.unknown = 1; // a switch that could not be named
	case_slice_make(&c, &pass, &t.world, &t.image, &items[0], "");
	assert_int_equal(c.proof.items[PROOF_P0].holds, HOLDS_OPEN);
}

static void words(void **state)
{
	(void)state;
	struct slices_item i = { .others = 1, .served = 5, .lock = 0x10, .lock_name = "journal+0x8" };
	assert_string_equal(case_slice_others(&i, &r), "; 1 coroutine waited for this thread's loop");
	i.others = 0;
	assert_string_equal(case_slice_others(&i, &r), "; another thread served the 5 coroutines that waited");
	assert_string_equal(case_slice_lock(&i, &r), "journal+0x8 (0x10)");
	i.lock_name = NULL;
	assert_string_equal(case_slice_lock(&i, &r), "0x10");
	assert_string_equal(case_slice_span(300000000, &r), "300.0 ms");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(lines_of_one_rule),
		TEST(what_is_known_of_the_descriptor),
		TEST(gaps_open_p0),
		TEST(words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
