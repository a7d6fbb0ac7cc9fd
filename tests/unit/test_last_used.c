// SPDX-License-Identifier: MIT
//
// What is said of coroutines that were suspended for long without a known wait, and of the descriptors they used last.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "analyze/report/last_used.h"
#include "tables.h"

#define S 1000000000ULL
static struct tables t;
static struct report r;

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	t.image.snapshot_ns = 100 * S;
	r = (struct report){.world = &t.world};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	results_deinit(&r.results);
	accounting_deinit(&r);
	tables_close(&t);
	return 0;
}

static const char *said(void)
{
	tables_index(&t);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(last_used_facts(&r, true), 0);
	return r.results.nfacts ? r.results.facts[0].message : "";
}

static void what_they_wrote_last(void **state)
{
	(void)state;
	for (uint64_t id = 41; id < 44; id++) {
		tables_suspended(&t, id, 5, 74 * S);
		tables_fd(&t, (int32_t)id - 23, 1)->last_out = id;
	}
	assert_string_equal(said(), "3 coroutines are suspended for 26.0 s, last used fd 18 ... 20 (tcp), peer silent");
	assert_int_equal(r.results.facts[0].count, 3);
}

static void what_resumed_it(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	struct ctp_fd *f = tables_fd(&t, 18, 1);
	f->last_in = f->last_out = CTP_FD_UNNAMED | 1; // a handler on the native stack read for it
	f->learned = 41;
	f->event_time = 80 * S;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
}

static void the_latest_of_several(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	tables_fd(&t, 30, 1)->last_in = 41;
	struct ctp_fd *f = tables_fd(&t, 18, 1);
	f->last_in = 41 | CTP_FD_SEVERAL;
	f->event_time = 70 * S;
	tables_fd(&t, 31, 1)->last_in = 41;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp), peer silent");
}

static void who_used_none_or_waits_is_left_out(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	tables_wait(tables_suspended(&t, 42, 5, 74 * S), 18, 1, CTP_WAIT_EAGAIN);
	tables_fd(&t, 18, 1)->last_in = 42;
	tables_suspended(&t, 43, 5, 99 * S + S / 2); // just now
	tables_fd(&t, 19, 1)->last_in = 43;
	struct ctp_fd *listener = tables_fd(&t, 20, 1);
	listener->flags = CTP_FD_LISTENS;
	listener->last_in = 41;
	assert_string_equal(said(), "");
}

static void who_was_destroyed_after_long(void **state)
{
	(void)state;
	for (uint64_t id = 41; id < 45; id++) {
		struct ctp_state *s = tables_suspended(&t, id, 5, 95 * S);
		s->life = CTP_DESTROYED;
		s->tried = id < 43 ? 70 * S : 94 * S;
	}
	tables_fd(&t, 18, 1)->last_out = 41;
	assert_string_equal(said(), "2 of the coroutines that were destroyed while suspended had been suspended for more than 10 s, "
				    "up to 25.0 s, last used fd 18 (tcp), peer silent");
	assert_int_equal(r.results.nfacts, 1);
}

// Without CTP003, those that are suspended still are not told of.
static void the_destroyed_alone(void **state)
{
	(void)state;
	struct ctp_state *s = tables_suspended(&t, 41, 5, 95 * S);
	s->life = CTP_DESTROYED;
	s->tried = 70 * S;
	tables_suspended(&t, 42, 5, 60 * S);
	tables_fd(&t, 18, 1)->last_out = 41;
	tables_fd(&t, 19, 1)->last_out = 42;
	tables_index(&t);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(last_used_facts(&r, false), 0);
	assert_int_equal(r.results.nfacts, 1);
	assert_string_equal(r.results.facts[0].rule, "INFO");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_they_wrote_last), TEST(what_resumed_it), TEST(the_latest_of_several),
		TEST(who_used_none_or_waits_is_left_out), TEST(who_was_destroyed_after_long), TEST(the_destroyed_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
