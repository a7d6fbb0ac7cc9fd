// SPDX-License-Identifier: MIT
//
// CTP003 of a program that sleeps for good while main waits for nobody: who is told, and who may be an idle
// worker.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/case/pass.h"
#include "tables.h"

static struct tables t;
static struct results out;
static struct ctp_state *waiter;
static struct ctp_site sites[4];

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	struct set_looks *l = &t.image.set_looks;
	memset(sites, 0, sizeof(sites));
	sites[3] = (struct ctp_site){ .created = 8, .ended = 5 };
	t.image.sites = TABLES_OF(sites, 4);
	t.image.sites.indexed = false;
	t.image.has_tables = l->looked = true;
	l->items[PROOF_P0].holds = l->items[PROOF_P6B].holds = HOLDS_TRUE;
	l->resting.v = calloc(1, sizeof(*l->resting.v));
	l->resting.v[0] = (struct set_parked){ 4, 6 };
	l->resting.n = 1;
	waiter = tables_suspended(&t, 4, 5, 1000);
	waiter->changes = 6;
	waiter->creator_stack = 3;
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	t.image.sites = (struct table){ 0 };
	tables_close(&t);
	return 0;
}

static enum verdict verdict(void)
{
	const struct pass *pass = pass_find("CTP003");
	tables_index(&t);
	assert_int_equal(pass->run(pass, &t.world, &out), 0);
	return out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
}

static void one_whose_like_have_ended(void **state)
{
	(void)state;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	assert_int_equal(out.cases[0].id, 4);
	assert_string_equal(out.cases[0].message, "of 8 made at this place, 5 have ended");
}

static void queue_it(void)
{
	struct set_looks *l = &t.image.set_looks;
	l->waits = calloc(1, sizeof(*l->waits));
	l->waits[0] = (struct set_circle_wait){ 4, 6, 0x8000, strdup("journal+0x8") };
	l->queued = calloc(1, sizeof(*l->queued));
	l->queued[0] = (struct set_queued){ 0, 1 };
	l->nwaits = l->nqueued = 1;
}

static void it_is_known_at_what_it_is_queued(void **state)
{
	(void)state;
	queue_it();
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	assert_non_null(strstr(out.cases[0].doing, ", queued at journal+0x8; of 8 made"));
	assert_int_equal(out.nfacts, 0);
}

static void a_queue_of_one_who_may_be_idle_is_a_fact(void **state)
{
	(void)state;
	queue_it();
	sites[3].ended = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
	assert_int_equal(out.nfacts, 1);
	assert_non_null(strstr(out.facts[0].message, "1 coroutine is queued at journal+0x8 (coroutine 4 for "));
}

static void a_worker_does_not_end(void **state)
{
	(void)state;
	sites[3].ended = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_is_not_known_where_it_was_made(void **state)
{
	(void)state;
	waiter->creator_stack = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_has_run_since(void **state)
{
	(void)state;
	waiter->changes = 8;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void the_program_is_not_quiet(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_FALSE;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void the_tables_are_not_complete(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P0].holds = HOLDS_OPEN;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void a_thread_gave_work(void **state)
{
	(void)state;
	tables_thread(&t, 1, 9);
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void a_loop_polls_descriptors(void **state)
{
	(void)state;
	struct ctp_thread *loop = tables_thread(&t, 1, 9);
	loop->switches = 8;
	loop->sets = 2;
	assert_int_equal(verdict(), VERDICT_NONE);
}

// It has nothing to wait for any more: an empty set, and no timeout.
static void a_loop_polls_none_any_more(void **state)
{
	(void)state;
	struct ctp_thread *loop = tables_thread(&t, 1, 9);
	loop->switches = 8;
	loop->sets = 2;
	loop->wait_seq = 5;
	loop->wait_call = CTP_IN_SELECT;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

static void a_loop_polls_one_still(void **state)
{
	(void)state;
	struct ctp_thread *loop = tables_thread(&t, 1, 9);
	loop->switches = 8;
	loop->sets = 2;
	loop->wait_seq = 5;
	loop->wait_call = CTP_IN_SELECT;
	loop->set_sum = 1;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void it_waits_in_a_pool(void **state)
{
	(void)state;
	waiter->flags |= CTP_STATE_POOLED;
	waiter->called = waiter->stack;
	assert_int_equal(verdict(), VERDICT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_whose_like_have_ended, begin, end),
		cmocka_unit_test_setup_teardown(it_is_known_at_what_it_is_queued, begin, end),
		cmocka_unit_test_setup_teardown(a_queue_of_one_who_may_be_idle_is_a_fact, begin, end),
		cmocka_unit_test_setup_teardown(a_worker_does_not_end, begin, end),
		cmocka_unit_test_setup_teardown(it_is_not_known_where_it_was_made, begin, end),
		cmocka_unit_test_setup_teardown(it_has_run_since, begin, end),
		cmocka_unit_test_setup_teardown(the_program_is_not_quiet, begin, end),
		cmocka_unit_test_setup_teardown(the_tables_are_not_complete, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_gave_work, begin, end),
		cmocka_unit_test_setup_teardown(a_loop_polls_descriptors, begin, end),
		cmocka_unit_test_setup_teardown(a_loop_polls_none_any_more, begin, end),
		cmocka_unit_test_setup_teardown(a_loop_polls_one_still, begin, end),
		cmocka_unit_test_setup_teardown(it_waits_in_a_pool, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
