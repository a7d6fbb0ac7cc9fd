// SPDX-License-Identifier: MIT
//
// What is decided of a suspect: all that must hold, and each thing that makes it uncertain.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "engine/witness/decided.h"

static struct ctp_ext ext;
static struct ctp_thread threads[1];
static const struct ctp_region r = {.ext = &ext, .threads = threads, .threads_max = 1};

static struct suspect lost(unsigned rule)
{
	struct suspect s = {.rule = rule, .firm = true, .c = {.closer = 7}, .s = {.id = 3, .runs = 1, .lo = 0x1000, .hi = 0x2000}};
	ext = (struct ctp_ext){.thread_high = 1};
	threads[0] = (struct ctp_thread){0};
	for (unsigned p = PROOF_P0; p <= PROOF_P5; p++)
		s.a[p].holds = HOLDS_TRUE;
	return s;
}

static void likely_or_proven(void **state)
{
	struct suspect s = lost(RULE_LOST_WAKEUP);
	(void)state;
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.proven = true; // by what is quiet: that needs more than is known here
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.a[PROOF_P6A].holds = HOLDS_TRUE;
	assert_int_equal(decided_of(&r, &s), DECIDED_PROVEN);
	s.a[PROOF_P5].holds = HOLDS_OPEN; // a busy loop is no excuse for one that is unreachable
	assert_int_equal(decided_of(&r, &s), DECIDED_PROVEN);
	s.s.flags = CTP_STATE_SHARED_STACK;
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
}

static void each_obligation_counts(void **state)
{
	static const enum proof all[] = {PROOF_P0, PROOF_P2, PROOF_P3, PROOF_P4, PROOF_P5};
	(void)state;
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct suspect s = lost(RULE_LOST_WAKEUP);
		s.a[all[i]].holds = HOLDS_OPEN;
		assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	}
	struct suspect s = lost(RULE_LOST_WAKEUP); // attached later: the past is not known, and all the rest is
	s.a[PROOF_P0].holds = HOLDS_OPEN;
	ext.gaps = CTP_GAP_ATTACHED;
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.a[PROOF_P0].holds = HOLDS_FALSE;
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
}

#define NOT_WITH(change) \
	do { \
		struct suspect s = lost(RULE_LOST_WAKEUP); \
		assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY); \
		change; \
		assert_int_equal(decided_of(&r, &s), DECIDED_NOT); \
	} while (0)

static void doubt_decides_nothing(void **state)
{
	(void)state;
	NOT_WITH(s.gone = true);
	NOT_WITH(s.pooled = true);
	NOT_WITH(s.put_off = true);
	NOT_WITH(s.unchecked = true);
	NOT_WITH(s.beside.is = BESIDE_AWAY);
	NOT_WITH(s.c.closer = s.s.id);
	NOT_WITH(s.s.runs = 0);
	NOT_WITH(s.s.flags = CTP_STATE_STACK_FREED);
	NOT_WITH((s.s.flags = CTP_STATE_POOLED, s.s.stack = s.s.called = 5));
	NOT_WITH(ext.exit_begun = 1);
	NOT_WITH(ext.signal_taken = 1);
	NOT_WITH(ext.asked_last = 1);
	NOT_WITH(ext.listener_closed = 1);
	NOT_WITH(threads[0].hand = 1);
	NOT_WITH(threads[0].reused = 1);
}

static void a_reload_is_no_end(void **state)
{
	struct suspect s = lost(RULE_LOST_WAKEUP);
	(void)state;
	ext.clock_ticks0 = ext.clock_ns0 = 1;
	ext.asked_last = 1000;
	ext.clock_ticks1 = ext.clock_ns1 = 900 + CTP_END_NS;
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	ext.clock_ticks1 = ext.clock_ns1 = 1100 + CTP_END_NS;
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
}

static void rules_have_terms(void **state)
{
	struct suspect s = lost(RULE_ONESHOT);
	(void)state;
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.firm = false;
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	s = lost(RULE_TIMER); // others may set it
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	s.c.was.flags = CTP_FD_OWN_SET;
	s.c.was.opener = s.s.id;
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.c.was.last_out = 99 | CTP_FD_SEVERAL; // others set it too: once it has expired, they may share it
	assert_int_equal(decided_of(&r, &s), DECIDED_LIKELY);
	s.c.was.last_in = s.s.id;
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	s.c.was.last_out = 0; // it alone; but it has used it before, and may have disarmed it for others to arm
	assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	static const unsigned not[] = {RULE_REMOVED, RULE_PARKED, RULE_MISSED_EDGE, RULE_WRONG_WAITER, RULE_ABANDONED};
	for (unsigned i = 0; i < sizeof(not) / sizeof(*not); i++) {
		s = lost(not[i]);
		assert_int_equal(decided_of(&r, &s), DECIDED_NOT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(likely_or_proven),
		cmocka_unit_test(each_obligation_counts),
		cmocka_unit_test(doubt_decides_nothing),
		cmocka_unit_test(a_reload_is_no_end),
		cmocka_unit_test(rules_have_terms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
