// SPDX-License-Identifier: MIT
//
// Tests of what is concluded of a coroutine whose descriptor is open: a case in
// which all holds, and what is left when one thing is taken away.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "analyze/case/pass.h"

static struct world w;
static struct image m;
static struct { uint64_t index; struct ctp_state c; } station;
static struct { uint64_t index; struct ctp_fd f; } fd;
static struct witness seen;

static int setup(void **state)
{
	(void)state;
	memset(&w, 0, sizeof(w));
	memset(&m, 0, sizeof(m));
	station.c = (struct ctp_state){ .id = 41, .entity = CTP_COROUTINE, .life = CTP_SUSPENDED, .runs = 2, .since = 1000,
					.lo = 0x1000, .hi = 0x2000, .stack = 5, .nwaits = 1 };
	station.c.waits[0] = (struct ctp_wait){ .fd = 7, .gen = 3, .events = EPOLLIN, .how = CTP_WAIT_EAGAIN, .epfd = -1 };
	fd.index = 7;
	fd.f = (struct ctp_fd){ .gen = 3, .life = CTP_FD_OPEN, .reg_epfd = 4, .learned = 41, .learned_stack = 5, .event_time = 900 };
	seen = (struct witness){ .rule = RULE_ONESHOT, .coroutine = 41, .fd = 7, .gen = 3, .older = IDMAP_NONE };
	for (unsigned i = 0; i < PROOFS; i++)
		seen.items[i] = (struct witness_item){ HOLDS_TRUE, NULL, 3000 };
	seen.items[PROOF_P6A].holds = seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	m.has_tables = true;
	m.stations = (struct table){ .rows = (void *)&station, .n = 1, .row_bytes = sizeof(station), .indexed = true };
	m.fds = (struct table){ .rows = (void *)&fd, .n = 1, .row_bytes = sizeof(fd), .indexed = true };
	m.witness = (struct witness_set){ .items = &seen, .n = 1 };
	assert_int_equal(idmap_set(&m.by_id, 41, 0), 0);
	assert_int_equal(idmap_set(&m.by_fd, 7, 0), 0);
	w.images = &m;
	w.nimages = 1;
	w.has_last_tables = true;
	w.manifest.ticks_are_ns = true;
	m.snapshot_reason = "exit";
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	idmap_deinit(&m.by_id);
	idmap_deinit(&m.by_fd);
	return 0;
}

// The verdict of a rule on the one coroutine.
static enum verdict verdict(unsigned rule)
{
	char name[16];
	struct results out = { 0 };
	seen.rule = rule;
	snprintf(name, sizeof(name), "CTP%03u", rule);
	const struct pass *pass = pass_find(name);
	assert_non_null(pass);
	assert_int_equal(pass->run(pass, &w, &out), 0);
	enum verdict v = out.ncases ? out.cases[0].proof.verdict : VERDICT_NONE;
	results_deinit(&out);
	return v;
}

static void claims(const char *part, const char *fix)
{
	struct results out = { 0 };
	const struct pass *pass = pass_find("CTP005");
	assert_int_equal(pass->run(pass, &w, &out), 0);
	assert_int_equal(out.ncases, 1);
	const struct verdict_case *c = &out.cases[0];
	assert_true(part ? c->claim && strstr(c->claim, part) : !c->claim);
	assert_true(fix ? c->fix && strstr(c->fix, fix) : !c->fix);
	results_deinit(&out);
}

// What became of the event of a one-shot: the advice depends on it.
static void where_its_event_went(void **state)
{
	(void)state;
	struct { uint64_t index; struct ctp_fd f; } two[2];
	fd.f.reg_data = 5;
	fd.f.desc = 70;
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	claims(NULL, NULL);
	two[0].index = 7;
	two[0].f = fd.f;
	two[1].index = 8;
	two[1].f = fd.f;
	two[1].f.desc = 80;
	two[1].f.waiter[0] = 42;
	m.fds = (struct table){ .rows = (void *)two, .n = 2, .row_bytes = sizeof(two[0]), .indexed = true };
	claims("fd 8 is registered with the same data", "fd 7 and fd 8 have the same (0x5)");
	two[1].f.waiter[0] = 41; // its own
	claims(NULL, NULL);
	two[1].f.waiter[0] = 42;
	two[1].f.reg_data = 6;
	claims(NULL, NULL);
	two[0].f.event_time = 1100; // came, and nobody was resumed
	claims("was not resumed by the event", "for every event");
	seen.items[PROOF_P5].holds = HOLDS_TRUE; // LIKELY has a claim of its own
	claims(NULL, "for every event");
}

static void how_far_each_goes(void **state)
{
	(void)state;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	assert_int_equal(verdict(4), VERDICT_SUSPECT); // the peer is not here
	assert_int_equal(verdict(8), VERDICT_LIKELY);
	assert_int_equal(verdict(9), VERDICT_SUSPECT);
	fd.f.opened_how = CTP_CALL_TIMERFD;
	assert_int_equal(verdict(27), VERDICT_SUSPECT); // nobody has set it yet
	fd.f.flags = CTP_FD_OWN_SET;
	fd.f.opener = 41;
	assert_int_equal(verdict(27), VERDICT_LIKELY);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_int_equal(verdict(5), VERDICT_PROVEN);
	assert_int_equal(verdict(4), VERDICT_PROVEN);
	assert_int_equal(verdict(8), VERDICT_PROVEN);
	assert_int_equal(verdict(9), VERDICT_SUSPECT); // never more
	assert_int_equal(verdict(27), VERDICT_PROVEN);
	seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	assert_int_equal(verdict(8), VERDICT_SUSPECT);
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
}

static void a_set_that_nobody_polls(void **state)
{
	(void)state;
	assert_int_equal(verdict(28), VERDICT_SUSPECT); // a loop may look at it every few seconds
	seen.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_int_equal(verdict(28), VERDICT_LIKELY); // never more
	seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	seen.items[PROOF_P6A].holds = HOLDS_TRUE;
	assert_int_equal(verdict(28), VERDICT_LIKELY);
	seen.items[PROOF_P6A].holds = HOLDS_FALSE;
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	assert_int_equal(verdict(28), VERDICT_SUSPECT);
}

static void a_turn_that_may_be_put_off(void **state)
{
	(void)state;
	seen.put_off = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	assert_int_equal(verdict(8), VERDICT_SUSPECT);
}

// That it waits for F is not sure, but bytes of F stay unread, and nothing tells it of them. Not where it may
// stand in a queue: others go on from there, by no event of theirs.
static void what_was_left_unread(void **state)
{
	(void)state;
	fd.f.learned = fd.f.learned_stack = 0;
	assert_int_equal(verdict(5), VERDICT_NONE);
	assert_int_equal(verdict(8), VERDICT_NONE);
	seen.left_unread = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	assert_int_equal(verdict(8), VERDICT_SUSPECT);
	fd.f.reg_epfd = -1;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	assert_int_equal(verdict(2), VERDICT_NONE);
	seen.items[PROOF_P5].holds = HOLDS_TRUE;
	station.c.flags |= CTP_STATE_AGAIN;
	assert_int_equal(verdict(2), VERDICT_NONE);
	assert_int_equal(verdict(5), VERDICT_NONE);
	fd.f.learned = 42; // another's event, there
	fd.f.learned_stack = 5;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
}

// It stands where others go on from, but another registered its descriptor for room alone, and took that away.
static void what_was_left_unread_behind_another(void **state)
{
	static struct { uint64_t index; struct ctp_cand c; } del;
	(void)state;
	fd.f.reg_epfd = -1;
	fd.f.learned = 42;
	fd.f.learned_stack = 6;
	fd.f.event_time = 1200;
	station.c.flags |= CTP_STATE_AGAIN;
	seen.left_unread = true;
	assert_int_equal(verdict(2), VERDICT_NONE);
	del.c = (struct ctp_cand){ .kind = CTP_CAND_DEL, .call = CTP_CALL_EPOLL_DEL, .fd = 7, .gen = 3, .closer = 42, .time = 1300,
				   .was = { .gen = 3, .reg_events = EPOLLOUT, .reg_time = 1100, .event_time = 1200 } };
	m.cands = (struct table){ .rows = (void *)&del, .n = 1, .row_bytes = sizeof(del), .indexed = true };
	assert_int_equal(idmap_set(&m.dels, image_key(7, 3), 0), 0);
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	del.c.closer = 41; // itself
	assert_int_equal(verdict(2), VERDICT_NONE);
	del.c.closer = 42;
	station.c.flags |= CTP_STATE_MOREWAITS;
	assert_int_equal(verdict(2), VERDICT_NONE);
	station.c.flags &= ~CTP_STATE_MOREWAITS;
	seen.left_unread = false;
	assert_int_equal(verdict(2), VERDICT_NONE);
	seen.left_unread = true;
	del.c.was.reg_events = EPOLLIN;
	assert_int_equal(verdict(2), VERDICT_NONE);
	idmap_deinit(&m.dels);
}

// It wrote last, and may wait for room that it had: where nobody ever went on from, after a while.
static void what_it_sent_for_one_turn(void **state)
{
	(void)state;
	fd.f.learned_stack = 6;
	fd.f.reg_events = EPOLLIN | EPOLLOUT | EPOLLET;
	fd.f.last_out = 41;
	fd.f.latest = CTP_FD_WRITTEN_LAST;
	station.c.nwaits = 0;
	m.snapshot_ns = 2000000000;
	assert_int_equal(verdict(4), VERDICT_NONE);
	seen.sent = true;
	assert_int_equal(verdict(4), VERDICT_SUSPECT);
	m.snapshot_ns = 1000000000;
	assert_int_equal(verdict(4), VERDICT_NONE);
	m.snapshot_ns = 2000000000;
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	assert_int_equal(verdict(4), VERDICT_NONE);
	seen.items[PROOF_P5].holds = HOLDS_TRUE;
	fd.f.latest = CTP_FD_READ_LAST;
	assert_int_equal(verdict(4), VERDICT_NONE);
	fd.f.latest = CTP_FD_WRITTEN_LAST;
	station.c.flags |= CTP_STATE_AGAIN; // others go on from there
	assert_int_equal(verdict(4), VERDICT_NONE);
	m.snapshot_ns = 0;
}

// It left bytes unread, and its registration asks for nothing.
static void what_was_left_unread_behind_a_mask(void **state)
{
	(void)state;
	fd.f.learned_stack = 6;
	fd.f.reg_time = 950;
	fd.f.last_in = 41;
	station.c.nwaits = 0;
	assert_int_equal(verdict(2), VERDICT_NONE);
	seen.left_unread = true;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	station.c.flags |= CTP_STATE_AGAIN; // others go on from there
	assert_int_equal(verdict(2), VERDICT_NONE);
}

// It stands where others go on from, but somebody meant to register its descriptor when it had suspended.
static void what_is_answered_and_refused(void **state)
{
	(void)state;
	fd.f = (struct ctp_fd){ .gen = 3, .life = CTP_FD_OPEN, .reg_epfd = -1, .last_out = 41, .reg_time = 1100 };
	station.c.nwaits = 0;
	station.c.flags |= CTP_STATE_AGAIN;
	seen.left_unread = seen.left_timed = true;
	assert_int_equal(verdict(2), VERDICT_NONE);
	fd.f.flags = CTP_FD_REFUSED;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	seen.left_unread = false;
	assert_int_equal(verdict(2), VERDICT_NONE);
}

// Another process that has the set can have taken no event of what is registered for none, nor can it be the cause.
static void what_another_process_shares(void **state)
{
	(void)state;
	fd.f = (struct ctp_fd){ .gen = 3, .life = CTP_FD_OPEN, .reg_epfd = -1, .reg_time = 1100, .flags = CTP_FD_REFUSED };
	seen.items[PROOF_P4] = (struct witness_item){ HOLDS_OPEN, NULL, 0 };
	assert_int_equal(verdict(2), VERDICT_NONE);
	seen.passed_ns = 3000;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	assert_int_equal(verdict(5), VERDICT_NONE);
	m.ext.exit_begun = 2900;
	assert_int_equal(verdict(2), VERDICT_NONE); // seen only as the program ended
}

// Its read had to wait, and the same.
static void what_is_refused_on_its_behalf(void **state)
{
	(void)state;
	fd.f = (struct ctp_fd){ .gen = 3, .life = CTP_FD_OPEN, .reg_epfd = -1, .reg_time = 1100, .flags = CTP_FD_REFUSED };
	seen.rule = RULE_REMOVED;
	assert_int_equal(verdict(2), VERDICT_LIKELY);
	fd.f.reg_time = 900; // before it came to wait
	assert_int_equal(verdict(2), VERDICT_NONE);
}

// It has read some, and nothing told it to wait: not even that nothing leads to it says more.
static void what_it_read_some_of(void **state)
{
	(void)state;
	fd.f.learned = fd.f.learned_stack = 0;
	fd.f.reg_events = EPOLLIN | EPOLLONESHOT;
	fd.f.reg_time = 800;
	fd.f.last_in = 41;
	station.c.nwaits = 0;
	seen.items[PROOF_P6A].holds = HOLDS_TRUE;
	assert_int_equal(verdict(5), VERDICT_NONE);
	seen.left_unread = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
}

// Under a program that wakes by itself, it has to stand in the function that reads, and as who waits there does.
static void what_it_left_may_be_for_later(void **state)
{
	enum { SWAP = 0x10, PARK = 0x20, SLEEP = 0x30, READ = 0x40, SERVE = 0x60, FRAMES = 4 };
	static uint32_t at[7] = {[5] = 1, [6] = 2 + FRAMES};
	uint64_t words[2 * (1 + FRAMES)] = {FRAMES, SWAP, PARK, READ + 8, SERVE, FRAMES, SWAP, PARK, READ, SERVE};
	(void)state;
	m.stack_index = (struct table){.rows = (void *)at, .n = 7, .row_bytes = sizeof(*at)};
	m.stack_words = (struct table){.rows = (void *)words, .n = 2 * (1 + FRAMES), .row_bytes = 8};
	fd.f.reg_events = EPOLLIN | EPOLLONESHOT;
	fd.f.reg_time = 800;
	fd.f.last_in = 41;
	fd.f.learned_stack = 6;
	station.c.nwaits = 0;
	seen.left_unread = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	seen.left_timed = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	words[2] = SLEEP;
	assert_int_equal(verdict(5), VERDICT_NONE);
	seen.left_timed = false;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	seen.left_timed = true;
	words[2] = READ + 8; // it switches without that function
	words[3] = SERVE;
	words[0] = FRAMES - 1;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	words[3] = SERVE + 8; // called elsewhere: another function, perhaps
	assert_int_equal(verdict(5), VERDICT_NONE);
}

static void a_search_that_found_nobody_else(void **state)
{
	(void)state;
	seen.unchecked = true;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
}

// Whose EPOLL_CTL_MOD failed, or who stands behind a mask; a line about a candidate is no such.
static void behind_a_registration_without_it(void **state)
{
	(void)state;
	assert_int_equal(verdict(2), VERDICT_SUSPECT); // a pause, perhaps
	seen.slept_long = true;
	assert_int_equal(verdict(2), VERDICT_LIKELY);
	seen.slept_long = false;
	station.c.waits[0].how = CTP_WAIT_EAGAIN | CTP_WAIT_REFUSED;
	fd.f.learned = 0;
	assert_int_equal(verdict(2), VERDICT_LIKELY);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_int_equal(verdict(2), VERDICT_LIKELY); // never more
	seen.ended = true;
	assert_int_equal(verdict(2), VERDICT_NONE);
	seen.ended = false;
	station.c.waits[0].how = CTP_WAIT_EAGAIN; // only that it tried is known
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	seen.items[PROOF_P5].holds = HOLDS_OPEN;
	assert_int_equal(verdict(2), VERDICT_NONE);
}

// Who wrote in vain, and is registered for reading, may want the answer first.
static void behind_a_registration_for_reading(void **state)
{
	(void)state;
	seen.slept_long = true;
	station.c.waits[0].how = CTP_WAIT_EAGAIN | CTP_WAIT_REGISTERED;
	assert_int_equal(verdict(2), VERDICT_LIKELY);
	station.c.waits[0].how |= CTP_WAIT_WROTE;
	assert_int_equal(verdict(2), VERDICT_SUSPECT);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_int_equal(verdict(2), VERDICT_SUSPECT); // never more
}

// Whose last accept found no descriptor free: that it waits for connections since is a guess.
static void where_no_descriptor_was_free(void **state)
{
	(void)state;
	station.c.waits[0].how = CTP_WAIT_FULL;
	fd.f.learned = 0;
	assert_int_equal(verdict(5), VERDICT_SUSPECT);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE;
	assert_true(verdict(5) >= VERDICT_LIKELY);
	seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	station.c.waits[0].how = CTP_WAIT_FULL | CTP_WAIT_REGISTERED;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
}

static void what_speaks_against_it(void **state)
{
	(void)state;
	static const enum proof must[] = { PROOF_P3, PROOF_P4 };
	static const unsigned rules[] = { 2, 4, 5, 8, 9, 27, 28 };
	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++) {
		for (size_t k = 0; k < sizeof(must) / sizeof(*must); k++) {
			seen.items[must[k]].holds = HOLDS_OPEN;
			assert_int_equal(verdict(rules[i]), VERDICT_NONE);
			seen.items[must[k]].holds = HOLDS_TRUE;
		}
		seen.items[PROOF_P2].holds = HOLDS_FALSE;
		assert_int_equal(verdict(rules[i]), VERDICT_NONE);
		seen.items[PROOF_P2].holds = HOLDS_TRUE;
		station.c.life = CTP_RUNNING;
		assert_int_equal(verdict(rules[i]), VERDICT_NONE);
		station.c.life = CTP_SUSPENDED;
	}
}

// A program that ends lets go of whom it kept: then nothing leads to them any more.
static void parked_and_forgotten_at_the_end(void **state)
{
	(void)state;
	station.c.nwaits = 0;
	station.c.flags = CTP_STATE_AGAIN;
	seen.fd = -1;
	seen.items[PROOF_P6A].holds = HOLDS_TRUE;
	m.ext.exit_begun = 5000;
	assert_int_equal(verdict(3), VERDICT_LIKELY);
	seen.items[PROOF_P6A].since_ns = 6000;
	assert_int_equal(verdict(3), VERDICT_NONE);
	m.ext.exit_begun = 0;
	assert_int_equal(verdict(3), VERDICT_LIKELY);
}

static void a_try_alone_needs_p6(void **state)
{
	(void)state;
	fd.f.learned_stack = 6; // it was woken by this descriptor, but from elsewhere
	assert_int_equal(verdict(5), VERDICT_NONE);
	assert_int_equal(verdict(4), VERDICT_NONE);
	assert_int_equal(verdict(8), VERDICT_NONE);
	seen.items[PROOF_P6A].holds = HOLDS_TRUE;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	station.c.waits[0].how = CTP_WAIT_REGISTERED;
	assert_int_equal(verdict(5), VERDICT_PROVEN);
	m.ext.gaps = CTP_GAP_STATIONS;
	assert_int_equal(verdict(5), VERDICT_INCONCLUSIVE);
}

// It was woken where it stands, and left what had come where it is; or it stands in a pool.
static void what_it_left_is_no_fault(void **state)
{
	(void)state;
	station.c.nwaits = 0;
	assert_int_equal(verdict(5), VERDICT_NONE);
	assert_int_equal(verdict(4), VERDICT_NONE);
	seen.items[PROOF_P6A].holds = HOLDS_TRUE;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	seen.items[PROOF_P6A].holds = HOLDS_FALSE;
	fd.f.last_in = 41; // it has read of it
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	assert_int_equal(verdict(4), VERDICT_SUSPECT);
	station.c.tried = (uint64_t)7 << 32 | 3; // until EAGAIN, and nothing since
	assert_int_equal(verdict(5), VERDICT_NONE);
	station.c.nwaits = 1;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	station.c.flags = CTP_STATE_POOLED;
	station.c.called = 5;
	assert_int_equal(verdict(5), VERDICT_NONE);
}

static void a_timer_of_others_is_no_fault(void **state)
{
	(void)state;
	fd.f.last_out = 8; // set by another
	assert_int_equal(verdict(27), VERDICT_NONE);
	seen.items[PROOF_P6B].holds = HOLDS_TRUE; // who can no more
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	seen.items[PROOF_P6B].holds = HOLDS_FALSE;
	seen.ticking = true; // those like it go on
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	seen.ticking = false;
	fd.f.opener = 41;
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	fd.f.last_in = 41; // it has expired before
	assert_int_equal(verdict(27), VERDICT_NONE);
	fd.f.flags = CTP_FD_OWN_SET; // it may have disarmed it, when it had
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	fd.f.last_out |= CTP_FD_SEVERAL; // both set it, and it has expired: they share it
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	fd.f.last_in = 8; // for another
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
	fd.f.last_in = 0;
	assert_int_equal(verdict(27), VERDICT_LIKELY);
	fd.f.opener = 8; // whoever made it: who waits has set it last
	fd.f.last_out = 41;
	assert_int_equal(verdict(27), VERDICT_LIKELY);
	fd.f.last_in = 41;
	assert_int_equal(verdict(27), VERDICT_SUSPECT);
}

static void an_end_is_no_fault(void **state)
{
	(void)state;
	m.ext.exit_begun = 2000; // before it was seen (3000)
	assert_int_equal(verdict(5), VERDICT_NONE);
	m.ext.exit_begun = 4000;
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	m.ext.signal_taken = 500;
	assert_int_equal(verdict(5), VERDICT_NONE);
	m.ext.signal_taken = 0;
	m.ext.asked_first = m.ext.asked_last = 500; // it did not end by that
	assert_int_equal(verdict(5), VERDICT_LIKELY);
	m.ext.listener_closed = 800;
	assert_int_equal(verdict(5), VERDICT_NONE);
	fd.f.opened_how = CTP_CALL_ACCEPT; // since then: but no listener is open any more
	fd.f.opened = 850;
	assert_int_equal(verdict(5), VERDICT_NONE);
}

static void a_peer_here_sleeps_too(void **state)
{
	(void)state;
	fd.f.peer_desc = fd.f.desc = 9; // its own other end, in this table of one
	assert_int_equal(verdict(4), VERDICT_LIKELY);
	m.ext.forks = 1;
	assert_int_equal(verdict(4), VERDICT_SUSPECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(how_far_each_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_set_that_nobody_polls, setup, teardown),
		cmocka_unit_test_setup_teardown(a_turn_that_may_be_put_off, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_left_unread, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_left_unread_behind_another, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_sent_for_one_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_left_unread_behind_a_mask, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_answered_and_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_refused_on_its_behalf, setup, teardown),
		cmocka_unit_test_setup_teardown(what_another_process_shares, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_left_may_be_for_later, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_read_some_of, setup, teardown),
		cmocka_unit_test_setup_teardown(a_search_that_found_nobody_else, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_a_registration_without_it, setup, teardown),
		cmocka_unit_test_setup_teardown(behind_a_registration_for_reading, setup, teardown),
		cmocka_unit_test_setup_teardown(where_its_event_went, setup, teardown),
		cmocka_unit_test_setup_teardown(where_no_descriptor_was_free, setup, teardown),
		cmocka_unit_test_setup_teardown(what_speaks_against_it, setup, teardown),
		cmocka_unit_test_setup_teardown(parked_and_forgotten_at_the_end, setup, teardown),
		cmocka_unit_test_setup_teardown(a_try_alone_needs_p6, setup, teardown),
		cmocka_unit_test_setup_teardown(what_it_left_is_no_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(a_timer_of_others_is_no_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(an_end_is_no_fault, setup, teardown),
		cmocka_unit_test_setup_teardown(a_peer_here_sleeps_too, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
