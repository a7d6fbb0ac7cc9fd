// SPDX-License-Identifier: MIT
//
// Tests of analyze/profile: every weight to the nanosecond, from a history made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/history/profile.h"
#include "builder.h"
#include "trace_dir.h"

static struct builder b;
static struct ctp_record records[64];
static size_t n;
static uint32_t here, there;

static int begin(void **state)
{
	if (trace_dir_begin())
		return -1;
	n = 0;
	if (builder_begin(&b, trace_dir))
		return -1;
	here = builder_stack(&b, 2, (uint64_t[]){ 0x1234, 0x5678 });
	there = builder_stack(&b, 1, (uint64_t[]){ 0x9abc });
	return 0;
}

// ------------------------------------------------------------- a history

static void put(uint64_t at, uint64_t w1, uint64_t w2, uint64_t w3)
{
	ctp_record_set(&records[n], &records[n + 1], BUILDER_START + at, w1, w2, w3);
	n += 2;
}

static void thread(uint64_t at, uint64_t id)
{
	put(at, ctp_w1(CTP_EV_THREAD, 0, id), 0, 100);
}

static void create(uint64_t at, uint64_t id)
{
	put(at, ctp_w1(CTP_EV_CREATE, 0, id), ctp_w2(1, 0), 0x5000);
}

static void moves(uint64_t at, uint64_t from, uint32_t from_n, uint32_t stack, uint64_t to, uint32_t to_n)
{
	put(at, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, from) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(to, stack), from_n | (uint64_t)to_n << 32);
}

static void ready(uint64_t at, uint64_t id, int fd)
{
	put(at, ctp_w1(CTP_EV_READY, 0, id), ctp_w2(1, 0), (uint32_t)fd | 1ULL << 32);
}

static struct ctp_state *state_of(uint64_t id, enum ctp_life life, uint64_t since, uint32_t stack)
{
	struct ctp_state *s = builder_coroutine(&b, id, life);
	s->since = BUILDER_START + since;
	s->stack = stack;
	s->entry = 0x5000;
	return s;
}

static struct profile p;
static struct world w;
static enum profile_span span = PROFILE_WHOLE;
#define DURATION 5000000000ULL // builder.c: the snapshot

static void make(uint64_t switches)
{
	struct world_error error;
	b.threads[0].switches = switches;
	assert_int_equal(builder_stream(&b, 0, records, n, n, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	assert_int_equal(world_open(&w, trace_dir, 0, NULL, &error), 0);
	assert_int_equal(profile_make(&p, &w, NULL, false, NULL, span), 0);
}

static void done(void)
{
	profile_deinit(&p);
	world_close(&w);
}

static const struct profile_site *find(enum profile_part part, bool native, uint32_t stack)
{
	static const struct profile_site none;
	for (size_t i = 0; i < p.n; i++)
		if (p.sites[i].part == part && p.sites[i].native == native && p.sites[i].stack == stack)
			return &p.sites[i];
	return &none;
}

static void weighs(const struct profile_site *s, uint64_t suspended, uint64_t running, uint64_t latency, uint64_t count)
{
	assert_int_equal(s->weight[PROFILE_SUSPENDED], suspended);
	assert_int_equal(s->weight[PROFILE_RUNNING], running);
	assert_int_equal(s->weight[PROFILE_LATENCY], latency);
	assert_int_equal(s->weight[PROFILE_COUNT], count);
}

// ------------------------------------------------------------- tests

// 3 waits twice with the one stack and once with the other, where it is still.
static void waits_and_slices(void **state)
{
	builder_thread(&b, 100, 1);
	state_of(3, CTP_SUSPENDED, 900, there);
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	moves(130, 1, 3, 0, 3, 3);
	moves(150, 3, 4, here, 1, 4);
	ready(300, 3, 7);
	moves(450, 1, 5, 0, 3, 5);
	moves(900, 3, 6, there, 1, 6);
	make(6);
	weighs(find(PROFILE_STACK, false, here), 100 + 300, 20 + 20, 150, 2);
	weighs(find(PROFILE_STACK, false, there), DURATION - 900, 450, 0, 1);
	weighs(find(PROFILE_STACK, true, 0), 0, 10 + 100 + 300, 0, 3);
	assert_int_equal(p.weight[PROFILE_COUNT], 6);
	const struct profile_histogram *h = find(PROFILE_STACK, false, here)->times[PROFILE_SUSPENDED];
	assert_int_equal(h->n, 2);
	assert_int_equal(h->sum, 400);
	assert_int_equal(h->most, 300);
	assert_int_equal(h->buckets[6], 1); // 64 to 127
	assert_int_equal(h->buckets[8], 1); // 256 to 511
	assert_int_equal(p.all[PROFILE_LATENCY].n, 1);
	assert_int_equal(p.all[PROFILE_RUNNING].n, 3);
	assert_int_equal(find(PROFILE_STACK, false, here)->entry, 0x5000);
	assert_int_equal(p.all[PROFILE_SUSPENDED].n, 3);
	done();
}

// 3 leaves twice with the same stack, and is there still: the second wait is a site of its own, if asked for.
static void unended_apart(void **state)
{
	builder_thread(&b, 100, 1);
	state_of(3, CTP_SUSPENDED, 900, here);
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	moves(130, 1, 3, 0, 3, 3);
	moves(900, 3, 4, here, 1, 4);
	make(4);
	weighs(find(PROFILE_STACK, false, here), 100 + DURATION - 900, 20 + 770, 0, 2);
	profile_deinit(&p);
	assert_int_equal(profile_make(&p, &w, NULL, false, NULL, PROFILE_APART), 0);
	for (size_t i = 0; i < p.n; i++)
		if (p.sites[i].unended)
			weighs(&p.sites[i], DURATION - 900, 0, 0, 0);
		else if (p.sites[i].stack == here)
			weighs(&p.sites[i], 100, 20 + 770, 0, 2);
	assert_int_equal(p.all[PROFILE_SUSPENDED].n, 1);
	assert_int_equal(p.all[PROFILE_SUSPENDED].sum, 100);
	assert_int_equal(p.all_unended.n, 1);
	assert_int_equal(p.all_unended.sum, DURATION - 900);
	assert_int_equal(p.unended, 1);
	assert_int_equal(p.unended_ns, DURATION - 900);
	done();
}

// The loop's sleep is no running; it sleeps at the snapshot, too.
static void sleeps(void **state)
{
	struct ctp_thread *t = builder_thread(&b, 100, 1);
	struct ctp_state *s = state_of(1, CTP_RUNNING, 50, 0);
	s->entity = CTP_NATIVE;
	t->current = 1;
	t->wait_seq = 1;
	t->wait_call = CTP_IN_EPOLL;
	t->wait_timeout_ns = -1;
	t->wait_since = BUILDER_START + 3000;
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(50, 3, 2, here, 1, 2);
	put(1050, ctp_w1(CTP_EV_SLEPT, 0, 1), 0, 900);
	moves(1100, 1, 3, there, 3, 3);
	moves(1200, 3, 4, here, 1, 4);
	s->since = BUILDER_START + 1200;
	make(4);
	weighs(find(PROFILE_STACK, true, there), 0, 1050 - 900, 0, 1);
	weighs(find(PROFILE_IDLE, true, 0), 0, 900 + DURATION - 3000, 0, 0);
	weighs(find(PROFILE_STILL, true, 0), 0, 3000 - 1200, 0, 0);
	uint64_t sum = 0;
	for (size_t i = 0; i < p.n; i++)
		sum += p.sites[i].weight[PROFILE_RUNNING];
	assert_int_equal(sum, DURATION); // one thread, and all of its time
	uint64_t waits = p.weight[PROFILE_SUSPENDED], runs = p.weight[PROFILE_RUNNING];
	char note[256];
	profile_note(&p, PROFILE_WEIGHTS, note, sizeof(note));
	assert_string_equal(note, "");
	profile_deinit(&p);
	assert_int_equal(profile_make(&p, &w, NULL, false, NULL, PROFILE_ENDED), 0); // what is left out by default
	assert_int_equal(p.idle_ns, 900 + DURATION - 3000);
	assert_int_equal(p.weight[PROFILE_RUNNING] + p.idle_ns, runs);
	assert_int_equal(p.unended, 0); // the tables have none
	assert_int_equal(p.weight[PROFILE_SUSPENDED], waits);
	profile_note(&p, PROFILE_RUNNING, note, sizeof(note));
	assert_string_equal(note, "left out: 5.0 s in which loops slept; --all-time includes them");
	profile_note(&p, PROFILE_COUNT, note, sizeof(note));
	assert_string_equal(note, "");
	done();
}

static struct ctp_thread *asleep(uint64_t id, uint64_t since)
{
	struct ctp_thread *t = builder_thread(&b, 100, 1);
	t->current = id;
	t->wait_seq = 1;
	t->wait_call = CTP_IN_EPOLL;
	t->wait_timeout_ns = -1;
	t->wait_since = BUILDER_START + since;
	return t;
}

static void slept(uint64_t from, uint64_t to, uint64_t id)
{
	put(to, ctp_w1(CTP_EV_SLEPT, 0, id), 0, to - from);
}

// It has switched to nobody for long: all its sleeps since then are none of what it runs still.
static void sleeps_again_and_again(void **state)
{
	asleep(1, 3000);
	state_of(1, CTP_RUNNING, 50, 0)->entity = CTP_NATIVE;
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(50, 3, 2, here, 1, 2);
	slept(100, 1000, 1);
	slept(1020, 2950, 1);
	make(2);
	weighs(find(PROFILE_STILL, true, 0), 0, 50 + 20 + 50, 0, 0);
	weighs(find(PROFILE_IDLE, true, 0), 0, 900 + 1930 + DURATION - 3000, 0, 0);
	done();
}

// A coroutine may be the loop; a wait with no time to wait for is no sleep, and may have begun long ago.
static void coroutine_sleeps(void **state)
{
	asleep(3, 4000);
	struct ctp_thread *looks = builder_thread(&b, 101, 4);
	*looks = b.threads[0];
	looks->tid = 101;
	looks->native = looks->current = 4;
	looks->wait_timeout_ns = 0;
	state_of(3, CTP_RUNNING, 10, 0);
	struct ctp_state *s = state_of(4, CTP_RUNNING, 40, 0);
	s->entity = CTP_NATIVE;
	s->thread = 1;
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	put(40, ctp_w1(CTP_EV_THREAD, 0, 4), 0, 101);
	slept(1000, 3000, 3);
	make(2);
	weighs(find(PROFILE_STILL, false, 0), 0, 990 + 1000, 0, 0);
	weighs(find(PROFILE_IDLE, false, 0), 0, 2000 + DURATION - 4000, 0, 0);
	weighs(find(PROFILE_STILL, true, 0), 0, DURATION - 40, 0, 0);
	weighs(find(PROFILE_IDLE, true, 0), 0, 0, 0, 0);
	done();
}

// The history begins after it last went on: what is before the first sleep that is known nobody knows.
static void sleeps_since_before_the_history(void **state)
{
	asleep(1, 3000);
	state_of(1, CTP_RUNNING, 50, 0)->entity = CTP_NATIVE;
	slept(1500, 2000, 1);
	slept(2100, 2900, 1);
	make(2);
	weighs(find(PROFILE_LOST, true, 0), 0, 1450, 0, 0);
	weighs(find(PROFILE_STILL, true, 0), 0, 200, 0, 0);
	weighs(find(PROFILE_IDLE, true, 0), 0, 500 + 800 + DURATION - 3000, 0, 0);
	done();
}

// Time in which records were lost is neither.
static void losses(void **state)
{
	builder_thread(&b, 100, 1)->lost = 2;
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	moves(500, 1, 5, 0, 3, 5); // it went on and left again meanwhile
	moves(600, 3, 6, here, 1, 6);
	make(6);
	weighs(find(PROFILE_STACK, false, here), 0, 20 + 100, 0, 2);
	weighs(find(PROFILE_LOST, false, 0), 470, 470, 0, 0);
	weighs(find(PROFILE_LOST, true, 0), 0, 470, 0, 0);
	assert_int_equal(p.weight[PROFILE_COUNT], 6); // two of them nobody saw, and they are nobody's
	done();
}

// Of several events in different turns the last; none where the loop has turned since.
static void last_turn(void **state)
{
	builder_thread(&b, 100, 1);
	state_of(3, CTP_SUSPENDED, 700, there);
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	ready(100, 3, 7);
	ready(400, 3, 8);
	moves(450, 1, 3, 0, 3, 3);
	moves(700, 3, 4, there, 1, 4);
	ready(800, 3, 9);
	put(900, ctp_w1(CTP_EV_SLEPT, 0, 1), 0, 50);
	make(4);
	weighs(find(PROFILE_STACK, false, here), 420, 20, 50, 1);
	weighs(find(PROFILE_STACK, false, there), DURATION - 700, 250, 0, 1);
	done();
}

// Its event came, the loop is at something else, and so it was up to the snapshot.
static void ready_at_the_snapshot(void **state)
{
	builder_thread(&b, 100, 1);
	state_of(3, CTP_SUSPENDED, 30, here);
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	ready(100, 3, 7);
	make(2);
	weighs(find(PROFILE_STACK, false, here), DURATION - 30, 20, DURATION - 100, 1);
	done();
}

// What the tables say is as of the snapshot: what came later is not counted again.
static void after_the_snapshot(void **state)
{
	builder_thread(&b, 100, 1);
	state_of(3, CTP_SUSPENDED, 30, here);
	thread(0, 1);
	create(5, 3);
	moves(10, 1, 1, 0, 3, 1);
	moves(30, 3, 2, here, 1, 2);
	moves(DURATION + 100, 1, 3, 0, 3, 3);
	moves(DURATION + 300, 3, 4, there, 1, 4);
	make(4);
	weighs(find(PROFILE_STACK, false, here), DURATION - 30, 20, 0, 1);
	weighs(find(PROFILE_STACK, false, there), 0, 0, 0, 0);
	done();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(waits_and_slices, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(unended_apart, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(sleeps, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(sleeps_again_and_again, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(coroutine_sleeps, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(sleeps_since_before_the_history, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(losses, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(last_turn, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(ready_at_the_snapshot, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(after_the_snapshot, begin, trace_dir_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
