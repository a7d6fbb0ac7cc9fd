// SPDX-License-Identifier: MIT
//
// Of whom it is said that their peers are silent. The history is made here: it is empty, but for waits that have
// ended at their place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define transitions_walk history
#include "../../src/analyze/facts/silent_peers.c"
#undef transitions_walk
#include "tables.h"

#define S 1000000000ULL
static struct tables t;
static struct report r;
static struct descriptor kernel_says[TABLES_ROWS];
static unsigned char healthy[TABLES_ROWS], *accounts[] = {healthy};

static uint64_t ended[64]; // how long those waits were
static size_t nended;

int history(const struct world *w, transitions_sink *each, void *arg)
{
	(void)w;
	for (size_t i = 0; i < nended; i++) {
		struct ctp_merge_entity c = {.id = 7, .stack = 5, .suspended = true, .since_ns = S};
		struct transition went_on = {.kind = CTP_EV_SWITCH, .to = &c, .ns = S + ended[i]};
		each(arg, &went_on);
	}
	return 0;
}

// Coroutine 41 and so on wait for fd 18 and so on since 74 s; the kernel was asked at 90 s, and the end is at 100 s.
static int setup(void **state)
{
	(void)state;
	nended = 0;
	tables_init(&t);
	t.image.snapshot_ns = 100 * S;
	t.image.has_tables = true;
	r = (struct report){.world = &t.world, .accounts = accounts};
	memset(healthy, ACCOUNT_HEALTHY, sizeof(healthy));
	for (int32_t i = 0; i < 3; i++) {
		tables_wait(tables_suspended(&t, 41u + (unsigned)i, 5, 74 * S), 18 + i, 1, CTP_WAIT_EAGAIN);
		tables_fd(&t, 18 + i, 1);
		kernel_says[i] = (struct descriptor){.fd = 18 + i, .gen = 1, .asked = true, .ns = 90 * S};
	}
	t.image.descriptors = (struct descriptors){.v = kernel_says, .n = 3};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	t.image.descriptors = (struct descriptors){0};
	results_deinit(&r.results);
	tables_close(&t);
	return 0;
}

static const char *said(void)
{
	tables_index(&t);
	assert_int_equal(silent_peers_facts(&r), 0);
	return r.results.nfacts ? r.results.facts[0].message : "";
}

static void several_at_one_place(void **state)
{
	(void)state;
	assert_string_equal(said(), "3 coroutines are suspended for 26.0 s, waiting for fd 18 ... 20 (tcp), peers silent; no wait has ended there");
	assert_int_equal(r.results.facts[0].count, 3);
}

static void waits_end(size_t n, uint64_t ns)
{
	while (n--)
		ended[nended++] = ns;
}

// They wait for 26 s.
static void one_that_took_long(void **state)
{
	(void)state;
	waits_end(40, S / 10);
	waits_end(1, 3 * S); // on a busy machine
	assert_string_equal(said(), "3 coroutines are suspended for 26.0 s, waiting for fd 18 ... 20 (tcp), peers silent; 41 waits ended there after 3.0 s at most");
	results_deinit(&r.results);
	r.results = (struct results){0};
	healthy[1] = healthy[2] = ACCOUNT_FOUND; // alone it does not stand out
	assert_string_equal(said(), "");
}

static void some_that_took_long(void **state)
{
	(void)state;
	waits_end(40, S / 10);
	waits_end(4, 3 * S);
	assert_string_equal(said(), "");
	nended = 0;
	waits_end(40, S / 10);
	waits_end(1, 14 * S);
	assert_string_equal(said(), "");
}

static void one_alone(void **state)
{
	(void)state;
	healthy[1] = healthy[2] = ACCOUNT_FOUND;
	assert_string_equal(said(), "");
}

static void what_has_come(void **state)
{
	(void)state;
	kernel_says[0].unread = 3;
	kernel_says[0].ready = kernel_says[1].ready = true; // of the second it is the end
	assert_string_equal(said(), "");
}

// Fewer bytes than its SO_RCVLOWAT asks for are there, and poll does not call it ready.
static void too_little_has_come(void **state)
{
	(void)state;
	kernel_says[0].unread = kernel_says[1].unread = 3;
	assert_string_equal(said(), "");
}

static void an_event_since(void **state)
{
	(void)state;
	t.fds[0].f.event_time = t.fds[1].f.event_time = 80 * S;
	assert_string_equal(said(), "");
}

static void asked_too_early(void **state)
{
	(void)state;
	kernel_says[0].ns = kernel_says[1].ns = 74 * S + S / 2;
	assert_string_equal(said(), "");
}

static void who_has_no_peer(void **state)
{
	(void)state;
	t.fds[0].f.flags = CTP_FD_LISTENS;
	t.fds[1].f.desc = 7; // each is the other's end
	t.fds[1].f.peer_desc = 8;
	t.fds[2].f.desc = 8;
	t.fds[2].f.peer_desc = 7;
	assert_string_equal(said(), "");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(several_at_one_place), TEST(one_that_took_long), TEST(some_that_took_long),
					   TEST(one_alone), TEST(what_has_come), TEST(too_little_has_come), TEST(an_event_since),
					   TEST(asked_too_early), TEST(who_has_no_peer)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
