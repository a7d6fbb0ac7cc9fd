// SPDX-License-Identifier: MIT
//
// Tests of the verdicts: each starts from a case in which everything holds,
// takes one thing away, and says what is left. Nothing but the whole may be
// PROVEN.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "analyze/case/obligations.h"
#include "analyze/case/pauses.h"

// A world of one suspended coroutine and one closed descriptor, in memory.
static struct world w;
static struct image m;
static struct ctp_state c;
static struct ctp_cand cand;
static struct witness seen;
static struct { uint64_t index; struct ctp_thread t; } thread;
static struct { uint64_t index; struct ctp_fd f; } fd;
static struct suspect s;

static int setup(void **state)
{
	memset(&w, 0, sizeof(w));
	memset(&m, 0, sizeof(m));
	memset(&seen, 0, sizeof(seen));
	c = (struct ctp_state){ .id = 41, .entity = CTP_COROUTINE, .life = CTP_SUSPENDED, .runs = 2,
				.since = 1000, .lo = 0x1000, .hi = 0x2000, .nwaits = 1 };
	c.waits[0] = (struct ctp_wait){ .fd = 7, .gen = 3, .how = CTP_WAIT_REGISTERED, .data = 5, .epfd = 4 };
	cand = (struct ctp_cand){ .kind = CTP_CAND_CLOSE, .time = 2000, .before = 1900, .epoch = 1,
				  .fd = 7, .gen = 3, .closer = 12 };
	cand.was = (struct ctp_fd){ .gen = 3, .reg_epfd = 4, .reg_data = 5 };
	thread.t = (struct ctp_thread){ .life = CTP_THREAD_LIVE, .switches = 9, .polls = 9, .seen = 1,
					.slept_epoch = 1, .wait_since = 2500 };
	fd.index = 7;
	fd.f = (struct ctp_fd){ .gen = 3, .life = CTP_FD_CLOSED, .reg_epfd = -1 };
	m.has_tables = true;
	m.threads = (struct table){ .rows = (void *)&thread, .n = 1, .row_bytes = sizeof(thread), .indexed = true };
	m.fds = (struct table){ .rows = (void *)&fd, .n = 1, .row_bytes = sizeof(fd), .indexed = true };
	m.ext_table.time = 9000;
	w.images = &m;
	w.nimages = 1;
	w.manifest.ticks_are_ns = true;
	m.snapshot_reason = "exit";
	for (unsigned i = 0; i < PROOFS; i++)
		seen.items[i] = (struct witness_item){ HOLDS_TRUE, NULL, 3000 };
	seen.items[PROOF_P6B].holds = HOLDS_OPEN;
	s = (struct suspect){ &w, &m, &c, &cand, &c.waits[0], &seen };
	return 0;
}

static enum verdict verdict(void)
{
	struct obligations o;
	obligations_decide(&o, &s);
	return o.verdict;
}

static void without(enum proof p, enum holds holds)
{
	seen.items[p].holds = holds;
}

static void test_all(void **state)
{
	struct obligations o;
	obligations_decide(&o, &s);
	assert_int_equal(o.verdict, VERDICT_PROVEN);
	assert_string_equal(o.closure, "unreachable");
	without(PROOF_P6A, HOLDS_FALSE);
	without(PROOF_P6B, HOLDS_TRUE);
	obligations_decide(&o, &s);
	assert_int_equal(o.verdict, VERDICT_LIKELY); // it has registered, and may stand in a pool
	cand.was.reg_data = 7;
	assert_int_equal(verdict(), VERDICT_PROVEN); // by its number: for nobody else
	cand.was.reg_data = 5;
	cand.was.leads = (uint64_t)3 << 40 | c.id;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.leads = 0;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	c.waits[0].how |= CTP_WAIT_EAGAIN;
	obligations_decide(&o, &s);
	assert_int_equal(o.verdict, VERDICT_PROVEN);
	assert_string_equal(o.closure, "quiet");
	c.waits[0].how = CTP_WAIT_EAGAIN;
	c.stack = 5;
	cand.was.learned = c.id;
	assert_int_equal(verdict(), VERDICT_LIKELY); // elsewhere than where it was woken
	cand.was.learned_stack = 5;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	seen.items[PROOF_P5].holds = HOLDS_FALSE;
	without(PROOF_P6A, HOLDS_TRUE);
	assert_int_equal(verdict(), VERDICT_PROVEN); // a busy loop is no excuse
}

// ctp-run attached to the program: what was before is not known, and nothing is PROVEN for want of it.
static void test_attached(void **state)
{
	without(PROOF_P0, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.gaps = CTP_GAP_ATTACHED;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P0, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	setup(NULL);
	m.ext.gaps = CTP_GAP_ATTACHED;
	without(PROOF_P0, HOLDS_OPEN);
	without(PROOF_P3, HOLDS_OPEN);
	assert_true(verdict() < VERDICT_LIKELY);
	setup(NULL);
	m.ext.gaps = CTP_GAP_ATTACHED;
	assert_int_equal(verdict(), VERDICT_PROVEN); // all that it rests on has happened since
}

// It stood within its own stack when it left, or its registers are another's.
static void test_own_stack(void **state)
{
	static const struct { uint64_t sp; enum verdict verdict; } row[] = {
		{ 0xff8, VERDICT_LIKELY }, { 0x1000, VERDICT_PROVEN }, { 0x1ff8, VERDICT_PROVEN }, { 0x2000, VERDICT_PROVEN },
		{ 0x2008, VERDICT_LIKELY },
	};
	for (unsigned i = 0; i < sizeof(row) / sizeof(*row); i++) {
		c.regs[CTP_REG_SP] = row[i].sp;
		assert_int_equal(verdict(), row[i].verdict);
	}
	c.regs[CTP_REG_SP] = 0x1800;
	c.lo = c.hi; // its lower end is not known
	assert_int_equal(verdict(), VERDICT_LIKELY);
	m.ext.gaps = CTP_GAP_ATTACHED;
	c.source = CTP_SOURCE_SEARCH;
	without(PROOF_P0, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	c.regs[CTP_REG_SP] = 0x2008;
	assert_true(verdict() < VERDICT_LIKELY);
}

// The program began to end at this time.
static void test_chance_before_the_end(void **state)
{
	m.ext.exit_begun = cand.time;
	thread.t.wait_call = CTP_IN_EXIT;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	thread.t.wait_call = CTP_IN_NONE;
	m.ext.exit_begun = 5000;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	thread.t.slept_epoch = 0;
	seen.items[PROOF_P5].since_ns = seen.items[PROOF_P6A].since_ns = 6000;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	seen.items[PROOF_P6A].since_ns = 4000;
	assert_int_equal(verdict(), VERDICT_PROVEN);
}

static void test_complete(void **state)
{
	m.ext.gaps = CTP_GAP_STACKS;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	static const uint32_t all[] = { CTP_GAP_STATIONS, CTP_GAP_CANDS, CTP_GAP_FDS, CTP_GAP_THREADS,
					CTP_GAP_URING, CTP_GAP_MEMORY, CTP_GAP_OWN_FDS };
	for (unsigned i = 0; i < sizeof(all) / sizeof(*all); i++) {
		m.ext.gaps = all[i];
		assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	}
	m.ext.gaps = 0;
	without(PROOF_P0, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
}

// An io_uring context: what it waits for, and which files it keeps alive, nobody sees.
static void test_rings(void **state)
{
	m.ext.rings = 1;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
}

// No registration: the place in a set that was polled after it suspended leads to it.
static void test_polled(void **state)
{
	c.waits[0] = (struct ctp_wait){ .fd = 7, .gen = 3, .events = EPOLLIN, .how = CTP_WAIT_EAGAIN, .epfd = -1 };
	cand.was = (struct ctp_fd){ .gen = 3, .reg_epfd = -1, .polled = 1500, .learned = 41 };
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.learned = 0; // whose place it was is not known
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	without(PROOF_P5, HOLDS_OPEN);
	thread.t.slept_epoch = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
	without(PROOF_P5, HOLDS_TRUE);
	cand.was.polled = 900; // before it suspended
	assert_int_equal(verdict(), VERDICT_NONE);
	cand.was.polled_out = 1500; // for another direction than its own
	assert_int_equal(verdict(), VERDICT_NONE);
}

// It says nothing of the descriptor: that an event of it woke it where it stands tells
// only as long as nobody has had anything of it.
static void test_served(void **state)
{
	s.wait = NULL;
	c.nwaits = 0;
	c.stack = 5;
	cand.was = (struct ctp_fd){ .gen = 3, .reg_epfd = 4, .reg_data = 5, .reg_time = 500, .learned = 41, .learned_stack = 5 };
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.last_in = 41;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	cand.was.reg_time = 1500; // somebody registered it when it had suspended
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.reg_time = 500;
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	cand.was.learned_stack = 6; // it stands elsewhere
	assert_int_equal(verdict(), VERDICT_NONE);
}

// It stands in a pool: what it registered, or tried, it may have done for the next in line.
static void test_pooled(void **state)
{
	assert_int_equal(verdict(), VERDICT_PROVEN);
	c.stack = 5;
	c.flags = CTP_STATE_POOLED;
	c.called = 6;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	c.called = 5;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_NONE);
	without(PROOF_P6B, HOLDS_TRUE);
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void test_suspended(void **state)
{
	w.counts.reused = 1;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	w.counts.reused = 0;
	c.flags = CTP_STATE_STACK_FREED;
	assert_int_equal(verdict(), VERDICT_NONE);
	c.flags = 0;
	c.runs = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
}

static void test_wait(void **state)
{
	c.waits[0].how = CTP_WAIT_EAGAIN; // that the registration is its own is not known
	seen.items[PROOF_P2].holds = HOLDS_OPEN;
	assert_int_equal(verdict(), VERDICT_LIKELY); // but nothing leads to it
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	cand.was.reg_epfd = -1; // EAGAIN alone is no wait
	assert_int_equal(verdict(), VERDICT_NONE);
	cand.was.reg_epfd = 3;
	without(PROOF_P6A, HOLDS_TRUE);
	seen.items[PROOF_P2].holds = HOLDS_OPEN;
	cand.was.learned = 41;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.learned = 0;
	cand.was.reg_data = 0x1800; // points into its stack
	assert_int_equal(verdict(), VERDICT_PROVEN);
	c.waits[0].how = CTP_WAIT_REGISTERED;
	c.flags = CTP_STATE_MOREWAITS;
	assert_int_equal(verdict(), VERDICT_NONE);
	c.flags = 0;
	c.nwaits = 2;
	c.waits[1] = (struct ctp_wait){ .fd = 9, .gen = 1, .how = CTP_WAIT_REGISTERED };
	assert_int_equal(verdict(), VERDICT_LIKELY); // the other is alive, but nothing leads to it
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_SUSPECT); // it may wait for either
	c.waits[1].how |= CTP_WAIT_EAGAIN; // it was told to wait for the other: still it may be for either
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	cand.was.last_out = cand.closer; // not for what nobody but the closer has used
	assert_int_equal(verdict(), VERDICT_NONE);
	cand.was.last_in = 77;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	cand.was.learned = cand.closer;
	assert_int_equal(verdict(), VERDICT_NONE);
	cand.was.learned = cand.was.last_in = cand.was.last_out = 0;
	c.waits[1].how = CTP_WAIT_REGISTERED;
	c.waits[0].how |= CTP_WAIT_EAGAIN; // it was told to wait for the one that is closed
	assert_int_equal(verdict(), VERDICT_LIKELY);
	c.waits[1].how |= CTP_WAIT_EAGAIN;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	cand.was.reg_data = 5; // that the registration is its own is not known
	c.waits[0].how = CTP_WAIT_EAGAIN;
	assert_int_equal(verdict(), VERDICT_NONE);
	cand.was.reg_data = 0x1800;
	c.waits[0].how = CTP_WAIT_REGISTERED;
	without(PROOF_P6A, HOLDS_TRUE);
	c.waits[1] = c.waits[0];
	assert_int_equal(verdict(), VERDICT_PROVEN); // both for one descriptor
}

// What the engine saw of another descriptor that leads to it.
// All that leads to it is a free list of the program's own.
static void test_cancelled(void **state)
{
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	seen.pooled = true;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE; // pools are quiet, too
	c.waits[0].how |= CTP_WAIT_EAGAIN;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	seen.pooled = false;
	assert_int_equal(verdict(), VERDICT_PROVEN);
}

// The stacks of others that stood where it stands became others' again.
static void test_discarded(void **state)
{
	static struct { uint64_t index; struct ctp_state c; } gone;
	gone.c = (struct ctp_state){ .id = 40, .entity = CTP_COROUTINE, .life = CTP_DESTROYED, .how = CTP_HOW_REUSED,
				     .stack = 6 };
	m.stations = (struct table){ .rows = (void *)&gone, .n = 1, .row_bytes = sizeof(gone), .indexed = true };
	c.stack = 5;
	w.counts.reused = 1;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	gone.c.stack = 5;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	gone.c.how = CTP_HOW_RELEASED;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static enum verdict weakened(bool always)
{
	struct obligations o;
	obligations_decide(&o, &s);
	pauses_weaken(&o, &s, always);
	return o.verdict;
}

// The program has paused a descriptor before, and gone on with it.
static void test_pauses(void **state)
{
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(weakened(false), VERDICT_LIKELY);
	assert_int_equal(weakened(true), VERDICT_SUSPECT);
	fd.f.flags = CTP_FD_RESTORED;
	assert_int_equal(weakened(false), VERDICT_SUSPECT);
	seen.slept_long = true;
	assert_int_equal(weakened(true), VERDICT_LIKELY);
	seen.slept_long = false;
	seen.items[PROOF_P6A].holds = HOLDS_TRUE; // nobody can go on with it
	assert_int_equal(weakened(true), VERDICT_PROVEN);
}

static void test_beside(void **state)
{
	seen.beside = (struct witness_beside){ .is = true, .fd = 9, .gen = 1 };
	seen.items[PROOF_P2].holds = HOLDS_OPEN;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	seen.beside.there = true;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	without(PROOF_P0, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_NONE);
	seen.beside.there = false;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
}

static void test_kernel(void **state)
{
	without(PROOF_P3, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_NONE);
	without(PROOF_P3, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P3, HOLDS_TRUE);
	without(PROOF_P4, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_NONE);
	without(PROOF_P4, HOLDS_OPEN);
	thread.t.seen = thread.t.slept_epoch = 0;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void test_reach(void **state)
{
	without(PROOF_P6A, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	without(PROOF_P6A, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_LIKELY);
	w.counts.hand = 1;
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	w.counts.hand = 0;
	without(PROOF_P5, HOLDS_FALSE);
	assert_int_equal(verdict(), VERDICT_SUSPECT);
	without(PROOF_P5, HOLDS_TRUE);
	without(PROOF_P6A, HOLDS_TRUE);
	c.flags = CTP_STATE_SHARED_STACK;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	c.flags = 0;
	c.lo = c.hi = 0;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void test_end(void **state)
{
	m.ext.exit_begun = 3500; // after the look
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.ext.exit_begun = 2800; // before it, but the thread had slept by then
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.ext.exit_begun = 2200; // before that
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.exit_begun = 1500; // before the close
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.exit_begun = 0;
	m.ext.signal_taken = 1500;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.signal_taken = 5000;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.ext.signal_taken = 0;
	m.ext.listener_closed = 1500;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	cand.was.opened_how = CTP_CALL_ACCEPT; // no drain, if it was accepted since, and a listener is open
	cand.was.opened = 1600;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	fd.f = (struct ctp_fd){ .gen = 9, .life = CTP_FD_OPEN, .flags = CTP_FD_LISTENS };
	assert_int_equal(verdict(), VERDICT_PROVEN);
	cand.was.opened = 1400;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.listener_closed = 6000;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.term_forwarded_ns = 1800;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
}

// HUP, INT or QUIT may be an end or a reload: what follows is no end of the program until its exit does.
static void test_asked(void **state)
{
	m.ext.asked_first = m.ext.asked_last = 1500;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	m.term_forwarded_ns = 5000; // by that it ends
	assert_int_equal(verdict(), VERDICT_LIKELY);
	m.ext.asked_first = m.ext.asked_last = 4500; // seen to be lost before
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.term_forwarded_ns = 0;
	seen.items[PROOF_P4].since_ns = 4600;
	assert_int_equal(verdict(), VERDICT_LIKELY);
	cand.time += CTP_END_NS + 5000;
	seen.items[PROOF_P4].since_ns = 3000;
	assert_int_equal(verdict(), VERDICT_PROVEN);
	m.ext.asked_last = cand.time - 1;
	assert_int_equal(verdict(), VERDICT_LIKELY);
}

static void test_ended_by_what_asked(void **state)
{
	m.ext.asked_first = 1500;
	m.ext.asked_last = 1800;
	m.ext.exit_begun = 1500 + CTP_END_NS - 1;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 1500);
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.ext.signal_taken = 0;
	m.ext.exit_begun++;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 1800); // the first was a reload
	m.ext.signal_taken = 0;
	m.ext.exit_begun = 1800 + CTP_END_NS;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 0);
	m.ext.exit_begun = 5000;
	m.term_forwarded_ns = 4000;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 0);
	m.term_forwarded_ns = 0;
	m.ext.signal_taken = 4000;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 4000);
	m.ext.signal_taken = m.ext.exit_begun = 0; // it lives
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 0);
	m.snapshot_ns = 5000;
	m.ended_signal = SIGKILL;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 0);
	m.ended_signal = SIGINT; // raised once more, after all was tidied up
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 1500);
	m.ext.signal_taken = m.ext.asked_first = 0; // what it took was SIGHUP alone: a reload
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 0);
	m.ended_signal = SIGHUP;
	image_settle_end(&m, &w.manifest);
	assert_int_equal(m.ext.signal_taken, 1800);
}

static void test_ended_in_grace(void **state)
{
	// P4 is not yet shown, and will not be: inconclusive, no acquittal
	m.ext.exit_begun = 2200;
	without(PROOF_P4, HOLDS_FALSE);
	without(PROOF_P5, HOLDS_FALSE);
	without(PROOF_P6A, HOLDS_OPEN);
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
}

static void test_queued(void **state)
{
	// An event came, its thread has not slept since: woken, its turn is to come
	cand.was.event_time = 1500;
	m.ext.exit_begun = 2200;
	without(PROOF_P4, HOLDS_FALSE);
	without(PROOF_P5, HOLDS_OPEN);
	thread.t.slept_epoch = 0;
	assert_int_equal(verdict(), VERDICT_NONE);
	setup(state);
	cand.was.event_time = 1500; // all slept since: nobody remembers it
	assert_int_equal(verdict(), VERDICT_PROVEN);
}

static void test_hidden_fds(void **state)
{
	s.witness = NULL;
	m.snapshot_reason = "ended";
	assert_int_equal(verdict(), VERDICT_LIKELY); // its threads had slept since
	thread.t.seen = thread.t.slept_epoch = 0;
	assert_int_equal(verdict(), VERDICT_INCONCLUSIVE);
	m.snapshot_reason = "timeout";
	assert_int_equal(verdict(), VERDICT_SUSPECT);
}

#define TEST(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_all), TEST(test_complete), TEST(test_rings), TEST(test_polled), TEST(test_served), TEST(test_pooled), TEST(test_suspended),
		TEST(test_wait), TEST(test_beside), TEST(test_cancelled), TEST(test_discarded), TEST(test_pauses), TEST(test_attached), TEST(test_own_stack), TEST(test_chance_before_the_end),
		TEST(test_kernel), TEST(test_reach), TEST(test_end), TEST(test_ended_in_grace),
		TEST(test_asked), TEST(test_ended_by_what_asked),
		TEST(test_queued), TEST(test_hidden_fds),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
