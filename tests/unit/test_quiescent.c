// SPDX-License-Identifier: MIT
//
// What a quiet program proves about a coroutine of which memory has not told whether it stands in a pool.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/memory/cancelled.h"
#include "engine/witness/quiescent.h"

// The answer to P6b, where it was true.
static enum holds quiet(unsigned rule, bool pools, unsigned objects, char *text)
{
	struct suspect s = {.rule = rule, .nmine = objects}, *who[] = {&s};
	struct inspection l = {.who = who, .n = 1, .pools = pools};
	inspect_say(&s.a[PROOF_P6A], HOLDS_OPEN, "memory was not searched in time");
	inspect_say(&s.a[PROOF_P6B], HOLDS_TRUE, "quiet");
	quiescent_doubt(&l);
	strcpy(text, s.a[PROOF_P6B].text);
	return s.a[PROOF_P6B].holds;
}

static void a_pool_that_was_not_looked_for(void **state)
{
	static const unsigned ended[] = {RULE_LOST_WAKEUP, RULE_REMOVED, RULE_SET_CLOSED};
	char text[INSPECT_TEXT];
	(void)state;
	for (size_t i = 0; i < sizeof(ended) / sizeof(*ended); i++) {
		assert_int_equal(quiet(ended[i], false, 1, text), HOLDS_OPEN);
		assert_non_null(strstr(text, "memory was not searched in time"));
		assert_int_equal(quiet(ended[i], true, 1, text), HOLDS_TRUE); // and it is in none
		assert_int_equal(quiet(ended[i], false, 0, text), HOLDS_TRUE); // memory can never tell
	}
	assert_int_equal(quiet(RULE_ONESHOT, false, 1, text), HOLDS_TRUE); // what it waits for is there
	assert_string_equal(text, "quiet");
}

// One suspect, to which a word leads.
static void a_search_for_pools_ends_in_time_or_says_so(void **state)
{
	struct ctp_header h = {0};
	static struct ctp_state states[4];
	struct ctp_region r = {.header = &h, .states = states};
	struct suspect s = {.rule = RULE_LOST_WAKEUP, .nmine = 1, .mine = {{0x1000, 0x2000}}}, *who[] = {&s};
	struct inspection l = {.r = &r, .who = who, .n = 1, .final = true, .deadline_ns = UINT64_MAX};
	struct graph_part part = {{0x1000, 0x2000}, 0, false};
	struct graph g;
	(void)state;
	assert_int_equal(graph_init(&g, 1, &part, 1), 0);
	assert_true(graph_spread(&g));
	assert_true(cancelled_find(&l, &g));
	l.deadline_ns = clock_mono_ns() - 1;
	assert_false(cancelled_find(&l, &g));
	assert_false(s.pooled);
	graph_deinit(&g);
}

// The longest of the sleeps counts, where all say how long they are.
static void how_long_threads_sleep(void **state)
{
	struct timespec short_one = {.tv_nsec = 80000000}, long_one = {.tv_sec = 14};
	struct proc_task tasks[3] = {
		{.tid = 1, .slot = -1, .state = 'S', .nr = SYS_clock_nanosleep, .args = {0, 0, (uintptr_t)&short_one}},
		{.tid = 2, .slot = -1, .state = 'S', .nr = SYS_epoll_pwait, .wchan = "ep_poll", .args = {4, 0, 0, 500}},
		{.tid = 3, .slot = -1, .state = 'S', .nr = SYS_futex},
	};
	struct inspection l = {.pid = getpid(), .tasks = {tasks, 3}};
	(void)state;
	assert_int_equal(quiescent_own_timer(&l).longest_ns, 500000000);
	tasks[0].args[2] = (uintptr_t)&long_one;
	assert_int_equal(quiescent_own_timer(&l).longest_ns, 14000000000);
	tasks[0].args[1] = TIMER_ABSTIME;
	assert_int_equal(quiescent_own_timer(&l).longest_ns, 0);
	assert_string_equal(quiescent_own_timer(&l).what, "a timeout");
	tasks[0].nr = SYS_read;
	tasks[1].args[3] = (uint64_t)-1;
	assert_null(quiescent_own_timer(&l).what);
	assert_int_equal(quiescent_own_timer(&l).longest_ns, 0);
	tasks[2].args[3] = (uintptr_t)&long_one; // until then
	assert_int_equal(quiescent_own_timer(&l).longest_ns, 0);
	assert_non_null(quiescent_own_timer(&l).what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pool_that_was_not_looked_for),
		cmocka_unit_test(a_search_for_pools_ends_in_time_or_says_so),
		cmocka_unit_test(how_long_threads_sleep),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
