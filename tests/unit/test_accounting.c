// SPDX-License-Identifier: MIT
//
// Every suspended coroutine counts once, and the parts add up to what is suspended.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "tables.h"

static struct tables t;
static struct report r;
static struct finding findings[3];
static const struct pass waits = { .rule = "CTP001", .waits = true }, cycle = { .rule = "CTP015", .idle = true },
			 busy = { .rule = "CTP022", .unwell = true };
static struct verdict_case cases[3];
static const struct verdict_case *all[] = { &cases[0], &cases[1], &cases[2] };

// 41 waits on a descriptor that is registered, 42 is parked, 43 stands in a pool, 44 waits for one that is gone.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	tables_fd(&t, 7, 3)->reg_epfd = 4;
	tables_wait(tables_suspended(&t, 41, 5, 1), 7, 3, CTP_WAIT_REGISTERED);
	tables_suspended(&t, 42, 6, 1);
	struct ctp_state *pooled = tables_suspended(&t, 43, 6, 1);
	pooled->flags |= CTP_STATE_POOLED;
	pooled->called = pooled->stack;
	tables_wait(tables_suspended(&t, 44, 5, 1), 7, 2, CTP_WAIT_EAGAIN);
	tables_suspended(&t, 45, 5, 1)->life = CTP_RUNNING;
	tables_index(&t);
	t.world.counts.suspended = t.image.counts.suspended;
	memset(cases, 0, sizeof(cases));
	r = (struct report){ .world = &t.world, .findings = findings };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	accounting_deinit(&r);
	tables_close(&t);
	return 0;
}

static void find(const struct pass *pass, uint64_t id)
{
	size_t n = r.nfindings++;
	cases[n] = (struct verdict_case){ .pass = pass, .id = id, .about.image = &t.image };
	findings[n] = (struct finding){ .pass = pass, .cases = &all[n], .n = 1 };
}

static void are(uint64_t found, uint64_t healthy, uint64_t parked, uint64_t pooled, uint64_t undecided)
{
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(r.accounting[ACCOUNT_FOUND], found);
	assert_int_equal(r.accounting[ACCOUNT_HEALTHY], healthy);
	assert_int_equal(r.accounting[ACCOUNT_PARKED], parked);
	assert_int_equal(r.accounting[ACCOUNT_POOLED], pooled);
	assert_int_equal(r.accounting[ACCOUNT_UNDECIDED], undecided);
	assert_int_equal(found + healthy + parked + pooled + undecided, t.world.counts.suspended);
}

static void each_counts_by_its_wait(void **state)
{
	char text[200];
	(void)state;
	are(0, 1, 1, 1, 1);
	assert_string_equal(accounting_text(&r, text, sizeof(text)),
			    "4 suspended: 0 in findings, 1 healthy, 1 parked, 1 pooled, 1 undecided");
}

static void a_finding_about_a_wait_takes_its_coroutine(void **state)
{
	(void)state;
	find(&waits, 44);
	are(1, 1, 1, 1, 0);
	find(&cycle, 42);
	are(2, 1, 0, 1, 0);
}

static void one_in_two_findings_counts_once(void **state)
{
	(void)state;
	find(&waits, 42);
	find(&cycle, 42);
	are(1, 1, 0, 1, 1);
}

static void a_finding_about_something_else_takes_nobody(void **state)
{
	(void)state;
	find(&busy, 41);
	find(&waits, 45); // it runs
	find(&waits, 99); // not in the tables any more
	are(0, 1, 1, 1, 1);
}

static void who_has_ended_and_is_kept_is_pooled(void **state)
{
	(void)state;
	unsigned char rows[8] = { 0 }, *kept[] = { rows };
	rows[idmap_get(&t.image.by_id, 42)] = 1;
	r.kept = kept;
	are(0, 1, 0, 2, 1);
}

static void what_no_table_has_is_undecided(void **state)
{
	(void)state;
	t.world.counts.suspended += 3; // of version-1 probes
	are(0, 1, 1, 1, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_counts_by_its_wait, setup, teardown),
		cmocka_unit_test_setup_teardown(a_finding_about_a_wait_takes_its_coroutine, setup, teardown),
		cmocka_unit_test_setup_teardown(one_in_two_findings_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(a_finding_about_something_else_takes_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_ended_and_is_kept_is_pooled, setup, teardown),
		cmocka_unit_test_setup_teardown(what_no_table_has_is_undecided, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
