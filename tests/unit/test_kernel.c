// SPDX-License-Identifier: MIT
//
// P0, P2, P3 and P6b of one suspect, by tables and rows made by hand: each case starts from one in
// which all holds, and changes one thing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/inspect/inspect.h"
#include "engine/suspects/suspects.h"
#include "engine/witness/kernel.h"
#include "engine/witness/quiescent.h"

enum { FDS = 12, EPOLL = 4, F = 7, GEN = 3, ID = 41, CLOSED = 2000, INO = 500, DEV = 9 };
#define DATA 0xda7aULL
static struct ctp_ext ext;
static struct ctp_header header;
static struct ctp_region region;
static struct ctp_fd fds[FDS];
static struct ctp_thread thread, copy;
static struct proc_task task;
static struct polled set;
static struct registration rows[3];
static int sets[1] = {EPOLL};
static struct suspect s, *who;
static struct inspection l;

// C registered F and suspended; F was closed, and a thread has slept in the set since.
static int begin(void **state)
{
	(void)state;
	free(l.open); // of the judgement before
	memset(fds, 0, sizeof(fds));
	memset(rows, 0, sizeof(rows));
	ext = (struct ctp_ext){.thread_high = 1, .fd_high = FDS - 1};
	region = (struct ctp_region){.header = &header, .ext = &ext, .threads = &thread, .threads_max = 1, .fds = fds, .fds_max = FDS};
	fds[EPOLL] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_EPOLL, .reg_epfd = -1, .opened = 10};
	fds[F] = (struct ctp_fd){.gen = GEN, .life = CTP_FD_CLOSED, .reg_epfd = -1};
	for (int i = 8; i < FDS; i++)
		fds[i] = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_TCP, .reg_epfd = EPOLL, .opened = 10, .desc = 100 + (unsigned)i};
	thread = copy = (struct ctp_thread){.life = CTP_THREAD_LIVE, .tid = (uint32_t)getpid(), .wait_seq = 7, .wait_call = CTP_IN_EPOLL,
					    .wait_fd = EPOLL, .wait_timeout_ns = -1, .wait_since = CLOSED + 100, .polls = 3, .switches = 5};
	task = (struct proc_task){.tid = getpid(), .slot = 0, .state = 'S', .nr = SYS_epoll_pwait, .args = {EPOLL, 0, 0, (uint64_t)-1},
				  .wchan = "ep_poll", .hooked = true};
	set = (struct polled){.read = false};
	s = (struct suspect){.rule = RULE_LOST_WAKEUP, .cand = 0, .wait = 0, .nmine = 1, .mine = {{0x10000, 0x20000}},
			     .s = {.id = ID, .since = 1000, .nwaits = 1, .lo = 0x10000, .hi = 0x20000, .stack = 5,
				   .waits = {{.fd = F, .gen = GEN, .how = CTP_WAIT_REGISTERED, .data = DATA, .epfd = EPOLL}}},
			     .c = {.kind = CTP_CAND_CLOSE, .epoch = 1, .fd = F, .gen = GEN, .time = CLOSED, .ino = INO, .dev = DEV, .mode = S_IFSOCK,
				   .was = {.gen = GEN, .reg_epfd = EPOLL, .reg_data = DATA, .desc = 77}}};
	who = &s;
	l = (struct inspection){.r = &region, .pid = getpid(), .deadline_ns = UINT64_MAX, .who = &who, .n = 1, .threads = &copy, .nthreads = 1,
			  .tasks = {&task, 1}, .polled = &set, .registrations = {.v = rows, .sets = sets, .nsets = 1, .complete = true}};
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(l.open);
	l.open = NULL;
	return 0;
}

static void judge(void)
{
	memset(s.a, 0, sizeof(s.a));
	kernel_judge(&l);
}

// The answer for P0, P2 or P3 after a change; begins anew.
#define AFTER(item, expected, ...)                                \
	do {                                                      \
		begin(state);                                     \
		__VA_ARGS__;                                      \
		judge();                                          \
		if (s.a[item].holds != (expected))                \
			print_error("%s: %s\n", #__VA_ARGS__, s.a[item].text); \
		assert_int_equal(s.a[item].holds, expected);      \
	} while (0)

static void row(int tfd, uint64_t ino, uint64_t dev, uint64_t data)
{
	rows[l.registrations.n++] = (struct registration){.epfd = EPOLL, .tfd = tfd, .events = EPOLLIN, .ino = ino, .dev = registrations_dev(dev), .data = data};
}

static void all_holds(void **state)
{
	AFTER(PROOF_P0, HOLDS_TRUE, );
	AFTER(PROOF_P2, HOLDS_TRUE, );
	AFTER(PROOF_P3, HOLDS_TRUE, );
	AFTER(PROOF_P3, HOLDS_TRUE, row(8, INO + 1, DEV, 1));
}

static void what_went_past_the_tables(void **state)
{
	static const uint32_t gaps[] = {CTP_GAP_STATIONS, CTP_GAP_CANDS, CTP_GAP_FDS, CTP_GAP_THREADS, CTP_GAP_BLIND, CTP_GAP_URING, CTP_GAP_OWN_FDS};
	for (size_t i = 0; i < sizeof(gaps) / sizeof(*gaps); i++)
		AFTER(PROOF_P0, HOLDS_FALSE, ext.gaps = gaps[i]);
	AFTER(PROOF_P0, HOLDS_TRUE, ext.gaps = CTP_GAP_STACKS);
	AFTER(PROOF_P0, HOLDS_OPEN, ext.gaps = CTP_GAP_ATTACHED);
	AFTER(PROOF_P0, HOLDS_OPEN, ext.gaps = CTP_GAP_ATTACHED; fds[EPOLL].kind = CTP_FD_OTHER);
	AFTER(PROOF_P0, HOLDS_FALSE, l.registrations.uring = 1);
	AFTER(PROOF_P0, HOLDS_OPEN, l.registrations.complete = false);
	AFTER(PROOF_P0, HOLDS_FALSE, fds[EPOLL].kind = CTP_FD_OTHER);
	AFTER(PROOF_P0, HOLDS_FALSE, fds[EPOLL].life = CTP_FD_CLOSED);
	AFTER(PROOF_P0, HOLDS_FALSE, task.slot = -1; task.hooked = false);
	AFTER(PROOF_P0, HOLDS_FALSE, copy.wait_seq = 8);
	AFTER(PROOF_P0, HOLDS_FALSE, copy.wait_fd = EPOLL + 1);
	AFTER(PROOF_P0, HOLDS_FALSE, copy.wait_call = CTP_IN_IO);
	AFTER(PROOF_P0, HOLDS_TRUE, row(8, 1, DEV, 1));
	AFTER(PROOF_P0, HOLDS_FALSE, row(8, 1, DEV, 1); fds[8].life = CTP_FD_UNKNOWN);
	AFTER(PROOF_P0, HOLDS_FALSE, row(FDS, 1, DEV, 1));
}

// Rows of the closed description, under whatever number.
static void what_the_kernel_can_deliver(void **state)
{
	AFTER(PROOF_P3, HOLDS_FALSE, row(9, INO, DEV, 1));
	AFTER(PROOF_P3, HOLDS_TRUE, row(9, INO, DEV + 1, 1));
	AFTER(PROOF_P3, HOLDS_OPEN, s.c.ino = s.c.dev = 0);
	AFTER(PROOF_P3, HOLDS_OPEN, l.registrations.complete = false);
	// pipes and anonymous inodes have one inode for many
	AFTER(PROOF_P3, HOLDS_FALSE, s.c.mode = 0; row(9, INO, DEV, 1); rows[0].file = REGISTRATION_NUMBERS; rows[0].desc = 77);
	AFTER(PROOF_P3, HOLDS_TRUE, s.c.mode = 0; row(9, INO, DEV, 1); rows[0].file = REGISTRATION_NUMBERS; rows[0].desc = 78; rows[0].anew = true);
	AFTER(PROOF_P3, HOLDS_OPEN, s.c.mode = 0; row(9, INO, DEV, 1); rows[0].file = REGISTRATION_NUMBERS; rows[0].desc = 78);
	AFTER(PROOF_P3, HOLDS_OPEN, s.c.mode = 0; row(9, INO, DEV, 1); rows[0].file = REGISTRATION_UNKNOWN);
	AFTER(PROOF_P3, HOLDS_FALSE, s.c.mode = 0; row(F, INO, DEV, 1); rows[0].file = REGISTRATION_ANOTHERS);
	AFTER(PROOF_P3, HOLDS_OPEN, s.c.mode = 0; row(9, INO, DEV, 1); rows[0].file = REGISTRATION_ANOTHERS);
}

static void in_read(void)
{
	task.nr = SYS_read;
	task.args[0] = F;
	task.wchan[0] = 0;
	copy.wait_call = CTP_IN_IO;
	copy.wait_fd = F;
}

static void in_poll(void)
{
	task.nr = SYS_ppoll;
	strcpy(task.wchan, "poll_schedule_timeout");
	copy.wait_call = CTP_IN_POLL;
}

static void threads_that_keep_the_file(void **state)
{
	AFTER(PROOF_P3, HOLDS_FALSE, in_read(); copy.wait_since = CLOSED - 1);
	AFTER(PROOF_P3, HOLDS_FALSE, in_read(); copy.wait_since = CLOSED);
	AFTER(PROOF_P3, HOLDS_TRUE, in_read()); // of the next file with that number
	AFTER(PROOF_P3, HOLDS_FALSE, in_read(); copy.wait_seq = 8);
	AFTER(PROOF_P3, HOLDS_TRUE, in_read(); copy.wait_seq = 8; task.args[0] = F + 1);
	AFTER(PROOF_P3, HOLDS_FALSE, task.nr = SYS_splice; task.args[0] = F);
	AFTER(PROOF_P3, HOLDS_FALSE, task.nr = SYS_splice; task.args[2] = F);
	AFTER(PROOF_P3, HOLDS_TRUE, task.nr = SYS_splice; task.args[0] = F + 1; task.args[1] = F);
	AFTER(PROOF_P3, HOLDS_FALSE, task.nr = SYS_sendfile; task.args[1] = F);
	AFTER(PROOF_P3, HOLDS_FALSE, task.nr = SYS_flock; task.args[0] = F);
	AFTER(PROOF_P3, HOLDS_OPEN, in_poll(); task.hooked = false);
	AFTER(PROOF_P3, HOLDS_OPEN, in_poll(); copy.wait_since = CLOSED - 1);
	AFTER(PROOF_P3, HOLDS_TRUE, in_poll());
	AFTER(PROOF_P3, HOLDS_FALSE, in_poll(); copy.wait_since = CLOSED - 1; s.c.was.polled = CLOSED - 1);
	AFTER(PROOF_P3, HOLDS_TRUE, in_poll(); copy.wait_since = CLOSED - 1; set.known = true);
	AFTER(PROOF_P3, HOLDS_OPEN, task.nr = PROC_NO_SYSCALL; task.hooked = false);
	AFTER(PROOF_P3, HOLDS_OPEN, task.nr = SYS_restart_syscall; task.hooked = false);
}

static void its_one_known_wait(void **state)
{
	struct ctp_wait second = {.fd = 9, .gen = 1, .how = CTP_WAIT_REGISTERED, .data = 3, .epfd = EPOLL};
	AFTER(PROOF_P2, HOLDS_OPEN, s.s.waits[1] = second; s.s.nwaits = 2);
	AFTER(PROOF_P2, HOLDS_TRUE, s.s.waits[1] = second; s.s.nwaits = 2; fds[9].gen = 2);
	AFTER(PROOF_P2, HOLDS_TRUE, s.s.waits[1] = second; s.s.nwaits = 2; fds[9].life = CTP_FD_CLOSED);
	AFTER(PROOF_P2, HOLDS_FALSE, s.s.flags = CTP_STATE_MOREWAITS);
	AFTER(PROOF_P2, HOLDS_OPEN, s.s.flags = CTP_STATE_POOLED; s.s.called = s.s.stack);
	AFTER(PROOF_P2, HOLDS_OPEN, row(9, 1, DEV, DATA));
	AFTER(PROOF_P2, HOLDS_OPEN, row(9, 1, DEV, 0x10008));
	AFTER(PROOF_P2, HOLDS_OPEN, row(9, 1, DEV, 0x10008 | 0xffULL << 56));
	AFTER(PROOF_P2, HOLDS_TRUE, row(9, 1, DEV, 0x20000));
	AFTER(PROOF_P2, HOLDS_OPEN, l.registrations.complete = false);
	AFTER(PROOF_P2, HOLDS_OPEN, s.wait = -1; s.s.nwaits = 0); // nothing says that the registration leads to it
	AFTER(PROOF_P2, HOLDS_TRUE, s.wait = -1; s.s.nwaits = 0; s.c.was.reg_data = 0x10008);
	AFTER(PROOF_P2, HOLDS_TRUE, s.wait = -1; s.s.nwaits = 0; s.c.was.learned = ID; s.c.was.learned_stack = 5);
	AFTER(PROOF_P2, HOLDS_OPEN, s.wait = -1; s.s.nwaits = 0; s.c.was.learned = ID; s.c.was.learned_stack = 6);
	AFTER(PROOF_P2, HOLDS_TRUE, s.wait = -1; s.s.nwaits = 0; s.c.was.leads = ID);
	AFTER(PROOF_P2, HOLDS_OPEN, s.wait = -1; s.s.nwaits = 0; s.c.was.leads = ID; s.c.was.learned = ID + 1);
}

static void open_descriptors_that_lead_to_it(void **state)
{
	AFTER(PROOF_P2, HOLDS_OPEN, fds[9].adder = ID);
	AFTER(PROOF_P2, HOLDS_OPEN, fds[9].learned = ID; fds[9].learned_stack = 5);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].learned = ID; fds[9].learned_stack = 6); // it woke it elsewhere
	AFTER(PROOF_P2, HOLDS_OPEN, fds[9].leads = ID | 6ULL << CTP_ID_BITS);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].leads = ID | 6ULL << CTP_ID_BITS; fds[9].learned = ID; fds[9].learned_stack = 6);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].adder = ID + 1);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].adder = ID; fds[9].reg_epfd = -1);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].adder = ID; fds[9].reg_epfd = -1; fds[9].polled = 1000); // before it suspended
	AFTER(PROOF_P2, HOLDS_OPEN, fds[9].adder = ID; fds[9].reg_epfd = -1; fds[9].polled = 1001);
	AFTER(PROOF_P2, HOLDS_OPEN, fds[9].adder = ID; fds[9].reg_epfd = -1; fds[9].polled_out = 1001);
	AFTER(PROOF_P2, HOLDS_TRUE, fds[9].adder = ID; fds[9].life = CTP_FD_CLOSED);
}

// Such a descriptor is named, with how much it weighs.
static void the_other_is_named(void **state)
{
	struct ctp_wait second = {.fd = 9, .gen = 1, .how = CTP_WAIT_REGISTERED, .data = 3, .epfd = EPOLL};
	const struct { int beside; bool tried, wait, row, here; } cases[] = {
		{BESIDE_NONE, false, false, false, false}, {BESIDE_THERE, false, true, false, false},
		{BESIDE_AWAY, true, true, false, false}, // EAGAIN told it of F alone
		{BESIDE_AWAY, false, false, true, false}, {BESIDE_THERE, false, false, true, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		begin(state);
		s.s.waits[0].how |= cases[i].tried ? CTP_WAIT_EAGAIN : 0;
		s.s.waits[1] = second;
		s.s.nwaits = cases[i].wait ? 2 : 1;
		if (cases[i].row)
			row(9, 1, DEV, DATA);
		fds[9].learned = cases[i].here ? ID : 0;
		fds[9].learned_stack = 5;
		s.beside = (struct beside){0};
		judge();
		assert_int_equal(s.beside.is, cases[i].beside);
		assert_int_equal(s.beside.fd, cases[i].beside ? 9 : 0);
	}
}

// --------------------------------------------------------- a set that was closed

static void closed_set(void)
{
	s.rule = RULE_SET_CLOSED;
	s.c.kind = CTP_CAND_SET;
	s.c.fd = 5;
	s.c.gen = 1;
	s.c.was = (struct ctp_fd){.gen = 1, .kind = CTP_FD_EPOLL, .reg_epfd = -1, .desc = 66};
	s.s.waits[0].epfd = 5;
	fds[F].life = CTP_FD_OPEN;
}

static void asleep_in_it(uint64_t since)
{
	task.args[0] = 5;
	copy.wait_fd = 5;
	copy.wait_since = since;
}

static void a_set_that_was_closed(void **state)
{
	AFTER(PROOF_P2, HOLDS_TRUE, closed_set());
	AFTER(PROOF_P3, HOLDS_TRUE, closed_set());
	AFTER(PROOF_P3, HOLDS_FALSE, closed_set(); fds[9].desc = 66); // it lives on
	AFTER(PROOF_P3, HOLDS_TRUE, closed_set(); fds[9].desc = 66; fds[9].life = CTP_FD_CLOSED);
	AFTER(PROOF_P3, HOLDS_FALSE, closed_set(); asleep_in_it(CLOSED - 1));
	AFTER(PROOF_P3, HOLDS_FALSE, closed_set(); asleep_in_it(CLOSED));
	AFTER(PROOF_P3, HOLDS_TRUE, closed_set(); asleep_in_it(CLOSED + 1)); // of the next set with that number
	AFTER(PROOF_P3, HOLDS_FALSE, closed_set(); asleep_in_it(CLOSED + 1); copy.wait_seq = 8);
	AFTER(PROOF_P3, HOLDS_OPEN, closed_set(); l.registrations.complete = false);
	AFTER(PROOF_P3, HOLDS_OPEN, closed_set(); ext.forks = 1);
	AFTER(PROOF_P2, HOLDS_OPEN, closed_set(); row(9, 1, DEV, DATA));
	AFTER(PROOF_P2, HOLDS_OPEN, closed_set(); row(9, 1, DEV, 0x10008));
	AFTER(PROOF_P2, HOLDS_FALSE, closed_set(); s.s.flags = 0; fds[F].gen++);
	AFTER(PROOF_P2, HOLDS_OPEN, closed_set(); s.s.flags = CTP_STATE_MOREWAITS);
}

// ---------------------------------------------------------------- P6b: threads

// What is said of the thread; the process itself is this one, which has handlers and more.
static bool sleeps(void)
{
	memset(s.a, 0, sizeof(s.a));
	quiescent_judge(&l);
	free(l.open);
	l.open = NULL;
	l.nopen = 0;
	return strncmp(s.a[PROOF_P6B].text, "thread ", 7) != 0;
}

#define SLEEPS(expected, ...)             \
	do {                              \
		begin(state);             \
		__VA_ARGS__;              \
		if (sleeps() != expected) \
			print_error("%s: %s\n", #__VA_ARGS__, s.a[PROOF_P6B].text); \
		assert_true(sleeps() == expected); \
	} while (0)

static void in_futex(uint64_t op)
{
	task.nr = SYS_futex;
	task.args[1] = op;
	task.args[3] = 0;
}

static void threads_that_nothing_wakes(void **state)
{
	SLEEPS(true, );
	SLEEPS(false, task.args[3] = 100);
	SLEEPS(false, task.args[3] = 0);
	SLEEPS(false, task.state = 'R');
	SLEEPS(false, task.state = 'T');
	SLEEPS(false, strcpy(task.wchan, "get_signal"));
	SLEEPS(true, task.nr = SYS_epoll_pwait2; task.args[3] = 0);
	SLEEPS(false, task.nr = SYS_epoll_pwait2; task.args[3] = 0x1000);
	SLEEPS(true, in_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG));
	SLEEPS(false, in_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG); task.args[3] = 0x1000);
	SLEEPS(false, in_futex(FUTEX_WAIT | FUTEX_PRIVATE_FLAG); task.state = 'R');
	SLEEPS(false, in_futex(FUTEX_WAIT)); // in memory of which nothing is known
	SLEEPS(false, in_futex(FUTEX_WAKE | FUTEX_PRIVATE_FLAG));
	SLEEPS(false, task.nr = SYS_read);
	SLEEPS(false, in_poll(); set.known = true; copy.wait_timeout_ns = 5);
	SLEEPS(false, in_poll(); set.known = true; task.hooked = false);
	SLEEPS(true, in_poll(); set.known = true);
	SLEEPS(true, task.state = 'Z');
}

// ------------------------------------------------------- is it still where it was?

static void one_that_is_being_resumed(void **state)
{
	(void)state;
	struct ctp_state now = {.id = ID};
	region.states = &now;
	now.changes = s.s.changes = 6;
	now.life = CTP_SUSPENDED;
	assert_true(suspect_holds(&region, &s));
	now.seq = 1;
	assert_false(suspect_holds(&region, &s));
	now.seq = 2;
	assert_true(suspect_holds(&region, &s));
	now.life = CTP_RUNNING;
	assert_false(suspect_holds(&region, &s));
	now.life = CTP_SUSPENDED;
	now.changes = 8;
	assert_false(suspect_holds(&region, &s));
	now.changes = 6;
	now.id++;
	assert_false(suspect_holds(&region, &s));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_holds), TEST(what_went_past_the_tables), TEST(what_the_kernel_can_deliver), TEST(threads_that_keep_the_file),
		TEST(its_one_known_wait), TEST(open_descriptors_that_lead_to_it), TEST(the_other_is_named), TEST(a_set_that_was_closed), TEST(threads_that_nothing_wakes),
		TEST(one_that_is_being_resumed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
