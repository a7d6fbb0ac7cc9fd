// SPDX-License-Identifier: MIT
//
// Facts on waits of which nothing could be told, or which nothing tells of what is there to be read.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/facts/undecided_waits.h"
#include "analyze/facts/unheard_waits.h"
#include "analyze/report/accounting.h"
#include "tables.h"

#define S 1000000000ULL
static struct tables t;
static struct report r;
static struct descriptor asked[3];

// Coroutines 41 to 43 wait since 90 s for fd 7 to 9, which are registered. The end is at 100 s.
static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	t.image.snapshot_ns = 100 * S;
	t.image.has_tables = true;
	for (int32_t i = 0; i < 3; i++) {
		tables_wait(tables_suspended(&t, 41u + (unsigned)i, 5, 90 * S), 7 + i, 1, CTP_WAIT_EAGAIN);
		tables_fd(&t, 7 + i, 1)->reg_epfd = 3;
		asked[i] = (struct descriptor){.fd = 7 + i, .gen = 1, .asked = true, .ready = true, .unread = 2, .ready_ns = 92 * S, .ns = 95 * S};
	}
	t.image.descriptors = (struct descriptors){.v = asked, .n = 0};
	r = (struct report){.world = &t.world};
	return report_symbols(&r, NULL);
}

static int teardown(void **state)
{
	(void)state;
	t.image.descriptors = (struct descriptors){0};
	t.image.has_tables = true;
	report_deinit(&r);
	tables_close(&t);
	return 0;
}

static void facts(size_t n)
{
	tables_index(&t);
	image_settle_unheard(&t.image, &t.world.manifest);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(unheard_waits_facts(&r), 0);
	assert_int_equal(undecided_waits_facts(&r), 0);
	assert_int_equal(r.results.nfacts, n);
}

static void nobody_is(void **state)
{
	(void)state;
	facts(0);
}

static void it_says_why(void **state)
{
	(void)state;
	t.fds[0].f.reg_epfd = t.fds[1].f.reg_epfd = -1;
	facts(1);
	assert_int_equal(r.results.facts[0].count, 2);
	assert_string_equal(r.results.facts[0].message,
			    "2 coroutines are suspended for 10.0 s: undecided, fd 7#1 is registered nowhere, and was not seen to be ready");
}

static void not_for_long(void **state)
{
	(void)state;
	t.fds[0].f.reg_epfd = -1;
	t.states[0].s.since = 100 * S - S / 2;
	facts(0);
}

static void what_can_be_read(void **state)
{
	(void)state;
	t.image.descriptors.n = 3;
	asked[1].unread = 3;
	asked[2].ready_ns = 0;
	facts(1);
	assert_int_equal(r.results.facts[0].count, 2);
	assert_string_equal(r.results.facts[0].message, "2 coroutines are suspended for 10.0 s; fd 7 ... 8 (tcp) could be read for 3.0 s at least, and no event told so: undecided");
	assert_int_equal(r.accounting[ACCOUNT_UNDECIDED], 2);
	assert_int_equal(r.accounting[ACCOUNT_HEALTHY], 1);
}

static void so_many_bytes(void **state)
{
	(void)state;
	t.image.descriptors.n = 2;
	facts(1);
	assert_non_null(strstr(r.results.facts[0].message, "for 3.0 s at least (2 bytes unread each), and"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(nobody_is), TEST(it_says_why), TEST(not_for_long), TEST(what_can_be_read), TEST(so_many_bytes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
