// SPDX-License-Identifier: MIT
//
// P4 and P5 of one suspect and one thread, as the tables and /proc might say: each case takes
// one thing away from what lets a thread pass.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "engine/inspect/inspect.h"
#include "engine/suspects/complete_turns.h"
#include "engine/witness/flight.h"

enum { EPOCH = 10, TID = 77 };
static struct ctp_ext ext;
static struct ctp_header header;
static struct ctp_thread thread, copy;
static struct ctp_fd fd;
static struct ctp_region region;
static struct proc_task task;
static struct suspect s, *who = &s;
static struct inspection l;

// The thread sleeps in the wait that it entered before the close, and never left.
static int begin(void **state)
{
	(void)state;
	ext = (struct ctp_ext){.thread_high = 1};
	fd = (struct ctp_fd){.gen = 3, .reg_epfd = -1};
	region = (struct ctp_region){.header = &header, .ext = &ext, .threads = &thread, .threads_max = 1, .fds = &fd, .fds_max = 1};
	thread = (struct ctp_thread){.life = CTP_THREAD_LIVE, .tid = TID, .wait_seq = 7, .seen = EPOCH - 1, .slept_epoch = EPOCH - 1,
				     .wait_call = CTP_IN_EPOLL, .wait_fd = 4, .wait_timeout_ns = -1, .polls = 3, .switches = 5};
	copy = thread;
	task = (struct proc_task){.tid = TID, .slot = 0, .state = 'S', .nr = SYS_epoll_pwait, .args = {4, 0, 0, (uint64_t)-1},
				  .wchan = "ep_poll", .hooked = true};
	s = (struct suspect){.rule = RULE_LOST_WAKEUP, .s = {.since = 1000}, .c = {.epoch = EPOCH, .fd = 0, .gen = 3, .kind = CTP_CAND_CLOSE}};
	l = (struct inspection){.r = &region, .pid = 1, .who = &who, .n = 1, .threads = &copy, .nthreads = 1, .tasks = {&task, 1},
			  .shared = SHARED_NOT};
	return 0;
}

static void assert_judged(enum holds p4, enum holds p5)
{
	flight_judge(&l);
	assert_int_equal(s.a[PROOF_P4].holds, p4);
	assert_int_equal(s.a[PROOF_P5].holds, p5);
}

static void awake(void)
{
	task.state = 'R';
	task.nr = PROC_ON_CPU;
	task.hooked = false;
	copy.wait_seq = thread.wait_seq = 8;
}

static void asleep_in_a_wait_that_it_never_left(void **state)
{
	(void)state;
	assert_judged(HOLDS_TRUE, HOLDS_TRUE);
	assert_non_null(strstr(s.a[PROOF_P4].text, "1 never left"));
	thread.wait_seq = 9; // it has left it since, and entered another one
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	thread.wait_seq = 8; // it has left it, and may have an event
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
}

static void what_the_kernel_must_say(void **state)
{
	(void)state;
	task.hooked = false; // whatever it sleeps in, it is not the wait that its entry tells of
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	begin(state);
	task.tracer = 5; // in a debugger's hands, with the event perhaps
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
	begin(state);
	snprintf(task.wchan, sizeof(task.wchan), "get_signal"); // frozen
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
	begin(state);
	task.state = 'T';
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
	begin(state);
	task.state = 'R';
	assert_judged(HOLDS_OPEN, HOLDS_FALSE);
	begin(state);
	task.nr = SYS_read;
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
	begin(state);
	l.tasks.n = 0; // killed, with the event in its hands
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
}

static void by_the_epoch_that_it_has_seen(void **state)
{
	(void)state;
	awake();
	assert_judged(HOLDS_OPEN, HOLDS_FALSE);
	copy.seen = EPOCH;
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	copy.seen = EPOCH + 1;
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	copy.seen = EPOCH - 1;
	copy.slept_epoch = EPOCH;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	copy.slept_epoch = EPOCH + 1;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
}

static void by_complete_turns_of_a_loop_that_never_sleeps(void **state)
{
	struct complete_turns_mark mark = {.uses = 1, .passed = EPOCH};
	const struct complete_turns loops = {&mark, 1};
	(void)state;
	awake();
	copy.seen = EPOCH;
	l.loops = &loops;
	assert_judged(HOLDS_TRUE, HOLDS_TRUE);
	mark.passed = EPOCH - 1; // they were before the close
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
}

static void who_is_not_asked(void **state)
{
	(void)state;
	awake();
	copy.polls = 0; // it never polled, and had nothing
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	copy.sets = 1; // by poll or select: only if the descriptor ever stood in a set
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	s.c.was.polled = 5;
	assert_judged(HOLDS_OPEN, HOLDS_FALSE);
	s.c.was.polled = 0;
	fd.polled_out = 5;
	assert_judged(HOLDS_OPEN, HOLDS_FALSE);
	fd.gen = 4; // another one's
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	copy.switches = 0; // it runs no coroutine
	assert_judged(HOLDS_TRUE, HOLDS_TRUE);
	copy.polls = 1;
	copy.life = CTP_THREAD_DEAD; // as a thread ends, not as it is killed
	assert_judged(HOLDS_TRUE, HOLDS_TRUE);
}

static void a_sleep_that_gives_others_a_chance(void **state)
{
	(void)state;
	copy.wait_timeout_ns = 0; // asked without waiting
	assert_judged(HOLDS_TRUE, HOLDS_OPEN);
	begin(state);
	copy.wait_call = CTP_IN_EXIT;
	assert_judged(HOLDS_OPEN, HOLDS_OPEN);
	begin(state);
	task.nr = SYS_futex;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	task.state = 'R';
	assert_judged(HOLDS_OPEN, HOLDS_FALSE);
}

static void an_event_that_came_after_it_suspended(void **state)
{
	(void)state;
	s.c.was.event_time = 1000; // before it did
	awake();
	copy.seen = EPOCH;
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
	s.c.was.event_time = 1001;
	assert_judged(HOLDS_FALSE, HOLDS_FALSE); // whoever took it may pass it on still
	copy.slept_epoch = EPOCH;
	assert_judged(HOLDS_TRUE, HOLDS_TRUE);
	copy.slept_epoch = 0;
	s.c.was.event_time = 0;
	fd.event_time = 1001;
	assert_judged(HOLDS_FALSE, HOLDS_FALSE);
	fd.gen = 4;
	assert_judged(HOLDS_TRUE, HOLDS_FALSE);
}

static void another_process_may_have_the_set(void **state)
{
	(void)state;
	l.shared = SHARED;
	l.sharer = -1;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	assert_true(s.passed); // its own threads have nothing in flight
	assert_non_null(strstr(s.a[PROOF_P4].text, "another process may share"));
	l.sharer = getpid();
	l.shared_set = 5;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	assert_non_null(strstr(s.a[PROOF_P4].text, "has epoll fd 5 open, too"));
	thread.wait_seq = 8;
	assert_judged(HOLDS_OPEN, HOLDS_TRUE);
	assert_false(s.passed);
}

// When the program has ended, from the tables alone.
static void by_the_tables(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		thread.seen = EPOCH - 1 + i;
		thread.slept_epoch = EPOCH + 1 - i;
		flight_tables(&region, &s);
		assert_int_equal(s.a[PROOF_P4].holds, i == 0 ? HOLDS_OPEN : HOLDS_TRUE);
		assert_int_equal(s.a[PROOF_P5].holds, i == 2 ? HOLDS_OPEN : HOLDS_TRUE);
	}
	s.c.was.event_time = 1001;
	flight_tables(&region, &s);
	assert_int_equal(s.a[PROOF_P4].holds, HOLDS_OPEN);
	s.c.was.event_time = 0;
	ext.forks = 1;
	flight_tables(&region, &s);
	assert_int_equal(s.a[PROOF_P4].holds, HOLDS_OPEN);
}

#define TEST(f) cmocka_unit_test_setup(f, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(asleep_in_a_wait_that_it_never_left), TEST(what_the_kernel_must_say), TEST(by_the_epoch_that_it_has_seen),
		TEST(by_complete_turns_of_a_loop_that_never_sleeps), TEST(who_is_not_asked), TEST(a_sleep_that_gives_others_a_chance), TEST(an_event_that_came_after_it_suspended),
		TEST(another_process_may_have_the_set), TEST(by_the_tables),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
