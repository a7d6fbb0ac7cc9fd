// SPDX-License-Identifier: MIT
//
// A thread's entry is copied while the thread leaves its wait and enters another one, between
// any two words of the copy: what is kept of it is of one moment, or is evidence of nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "ctp/region.h"
#include "sanitized.h"

// The copy of an entry in two parts, with a step of its thread in between.
static void *stepped_memcpy(void *to, const void *from, size_t bytes);
#define memcpy stepped_memcpy
#include "../../src/engine/inspect/inspect.c"
#undef memcpy
#include "engine/witness/flight.h"

enum { EPOCH = 10 };
static struct ctp_region region;
static struct ctp_thread thread;
static struct ctp_ext ext;
static struct ctp_header header;
static size_t split;     // so many bytes of the entry are copied before the step
static bool backwards;   // those at its end
static unsigned steps, steps_max;

// As of the thread's version'th wait, each word says which.
static void be_in_wait(uint64_t version)
{
	thread.wait_seq++; // out of the last one
	thread.seen = thread.slept_epoch = version;
	thread.wait_call = CTP_IN_EPOLL;
	thread.wait_fd = (int32_t)version;
	thread.wait_timeout_ns = (int64_t)version;
	thread.wait_buf = thread.wait_buf_bytes = thread.wait_since = version;
	for (unsigned i = 0; i < CTP_REGS; i++)
		thread.wait_regs[i] = version;
	thread.turns = thread.polls = thread.came_buf = thread.came_bytes = thread.base = version;
	thread.wait_seq++;
}

// The same of a descriptor's entry.
static struct ctp_fd entry;

static void be_generation(uint32_t gen)
{
	ctp_seq_begin(&entry.seq);
	entry.gen = gen;
	entry.life = CTP_FD_OPEN;
	entry.desc = entry.opened = entry.closed = entry.event_time = entry.last_out = gen;
	ctp_seq_end(&entry.seq);
}

static void *stepped_memcpy(void *to, const void *from, size_t bytes)
{
	bool fd = from == &entry && bytes == sizeof(entry);
	if ((!fd && (from != &thread || bytes != sizeof(thread))) || steps == steps_max)
		return memmove(to, from, bytes);
	size_t first = backwards ? split : 0, second = backwards ? 0 : split;
	size_t n = backwards ? bytes - split : split;
	memmove((char *)to + first, (const char *)from + first, n);
	steps++;
	if (fd)
		be_generation(steps + 1);
	else
		be_in_wait(EPOCH + steps);
	memmove((char *)to + second, (const char *)from + second, bytes - n);
	return to;
}

static void begin(unsigned most)
{
	header.ext = ext = (struct ctp_ext){.thread_high = 1, .threads_max = 1};
	region = (struct ctp_region){.header = &header, .ext = &ext, .threads = &thread, .threads_max = 1};
	thread = (struct ctp_thread){.life = CTP_THREAD_LIVE, .tid = (uint32_t)gettid(), .switches = 9, .wait_seq = 1};
	be_in_wait(EPOCH);
	steps = 0;
	steps_max = most;
}

// True if all that it says of a wait is of one.
static bool whole(const struct ctp_thread *c)
{
	uint64_t v = c->seen;
	bool same = c->wait_seq == 2 * (v - EPOCH) + 3 && c->slept_epoch == v && c->wait_fd == (int32_t)v &&
		    c->wait_timeout_ns == (int64_t)v && c->wait_buf == v && c->wait_buf_bytes == v && c->wait_since == v &&
		    c->came_buf == v && c->came_bytes == v;
	for (unsigned i = 0; i < CTP_REGS; i++)
		same &= c->wait_regs[i] == v;
	return same && c->wait_call == CTP_IN_EPOLL;
}

static void an_entry_that_changed_once_is_copied_anew(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * sizeof(thread) / 8; i++) {
		struct inspection l = {.r = &region, .pid = getpid()};
		backwards = i & 1;
		split = i / 2 * 8;
		begin(1);
		assert_int_equal(inspect_begin(&l), 0);
		assert_int_equal(steps, 1);
		assert_true(whole(&l.threads[0]));
		assert_int_equal(l.threads[0].life, CTP_THREAD_LIVE);
		inspect_deinit(&l);
	}
}

static void assert_nothing_known(const struct ctp_thread *c)
{
	assert_int_equal(c->life, CTP_THREAD_LIVE);
	assert_int_equal(c->tid, gettid());
	assert_false(c->wait_seq & 1);
	assert_int_equal(c->seen, 0);
	assert_int_equal(c->slept_epoch, 0);
	assert_true(c->polls && c->switches); // it may hold an event, and has run coroutines
}

static void an_entry_that_changes_all_along_is_no_evidence(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct inspection l = {.r = &region, .pid = getpid()};
		backwards = i & 1;
		split = sizeof(thread) / 8 * (i / 2 + 1);
		begin(UINT32_MAX);
		assert_int_equal(inspect_begin(&l), 0);
		assert_in_range(steps, 2, 10000); // it tries, and gives up
		assert_nothing_known(&l.threads[0]);
		steps_max = steps;
		inspect_thread(&l, 0);
		assert_true(whole(&l.threads[0])); // it came to rest
		steps_max = UINT32_MAX;
		inspect_thread(&l, 0);
		assert_nothing_known(&l.threads[0]);
		inspect_deinit(&l);
	}
}

// P4 and P5 of such a thread: not known.
static void it_may_hold_an_event(void **state)
{
	(void)state;
	struct suspect s = {.rule = RULE_LOST_WAKEUP, .c = {.epoch = EPOCH - 5, .fd = -1}}, *who = &s;
	struct inspection l = {.r = &region, .pid = getpid(), .who = &who, .n = 1, .shared = SHARED_NOT};
	backwards = false;
	split = 0;
	begin(0);
	assert_int_equal(inspect_begin(&l), 0);
	flight_judge(&l);
	assert_int_equal(s.a[PROOF_P4].holds, HOLDS_TRUE);
	assert_int_equal(s.a[PROOF_P5].holds, HOLDS_TRUE);
	steps_max = UINT32_MAX;
	inspect_thread(&l, 0);
	flight_judge(&l);
	assert_int_equal(s.a[PROOF_P4].holds, HOLDS_OPEN);
	assert_int_not_equal(s.a[PROOF_P5].holds, HOLDS_TRUE);
	inspect_deinit(&l);
}

static void a_descriptor_that_changes_meanwhile(void **state)
{
	struct ctp_fd f;
	(void)state;
	region = (struct ctp_region){.fds = &entry, .fds_max = 1};
	for (unsigned i = 0; i < 2 * sizeof(entry) / 8; i++) {
		backwards = i & 1;
		split = i / 2 * 8;
		steps = 0;
		steps_max = 1;
		be_generation(1);
		assert_true(inspect_fd(&region, 0, &f));
		assert_int_equal(f.gen, 2);
		assert_true(f.desc == 2 && f.opened == 2 && f.closed == 2 && f.event_time == 2 && f.last_out == 2);
		steps_max = UINT32_MAX;
		assert_false(inspect_fd(&region, 0, &f));
	}
	steps_max = steps;
	assert_false(inspect_fd(&region, 1, &f)); // there is none
	entry.seq |= 1;
	assert_false(inspect_fd(&region, 0, &f));
}

int main(void)
{
	if (not_under(SANITIZED_THREAD, "its copies are not the ones that are stepped through here"))
		return SKIPPED_PROGRAM;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_entry_that_changed_once_is_copied_anew),
		cmocka_unit_test(an_entry_that_changes_all_along_is_no_evidence),
		cmocka_unit_test(it_may_hold_an_event), cmocka_unit_test(a_descriptor_that_changes_meanwhile),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
