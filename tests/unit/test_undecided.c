// SPDX-License-Identifier: MIT
//
// Why a coroutine is undecided: what ctp-run saw comes first, then what the tables tell of the descriptor.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>

#include <cmocka.h>

#include "analyze/report/undecided.h"
#include "ctp/rules.h"

static struct world w;
static struct image m;
static struct report r;
static struct { uint64_t index; struct ctp_state c; } station;
static struct { uint64_t index; struct ctp_fd f; } fd;
static struct witness seen;

static int setup(void **state)
{
	(void)state;
	w = (struct world){.images = &m, .nimages = 1, .has_last_tables = true, .manifest.ticks_are_ns = true};
	r = (struct report){.world = &w};
	station.c = (struct ctp_state){.id = 41, .entity = CTP_COROUTINE, .life = CTP_SUSPENDED, .runs = 2, .since = 1000,
				       .lo = 0x1000, .hi = 0x2000, .stack = 5, .nwaits = 1};
	station.c.waits[0] = (struct ctp_wait){.fd = 7, .gen = 3, .events = EPOLLIN, .how = CTP_WAIT_EAGAIN, .epfd = -1};
	fd.index = 7;
	fd.f = (struct ctp_fd){.gen = 3, .life = CTP_FD_OPEN, .reg_epfd = -1};
	m = (struct image){.has_tables = true, .snapshot_reason = "exit"};
	m.stations = (struct table){.rows = (void *)&station, .n = 1, .row_bytes = sizeof(station), .indexed = true};
	m.fds = (struct table){.rows = (void *)&fd, .n = 1, .row_bytes = sizeof(fd), .indexed = true};
	assert_int_equal(idmap_set(&m.by_id, 41, 0), 0);
	assert_int_equal(idmap_set(&m.by_fd, 7, 0), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	idmap_deinit(&m.by_id);
	idmap_deinit(&m.by_fd);
	idmap_deinit(&m.witness.last);
	return 0;
}

static void says(const char *part)
{
	char buf[300];
	const char *why = undecided_why(&r, &m, &station.c, buf, sizeof(buf));
	if (!strstr(why, part))
		fail_msg("'%s', not '%s'", why, part);
}

static void by_the_tables(void **state)
{
	(void)state;
	says("fd 7#3 is registered nowhere, and was not seen");
	fd.f.event_time = 1200;
	says("registered nowhere since its event came");
	fd.f.reg_epfd = 4;
	fd.f.reg_events = EPOLLIN | EPOLLONESHOT;
	says("disarmed since");
	fd.f.reg_events = EPOLLOUT;
	says("not for what is waited for");
	fd.f.gen = 4;
	says("has ended");
	station.c.nwaits = 0;
	says("not seen what it waits for");
}

// Several: the first that is not live.
static void by_the_one_that_is_not_live(void **state)
{
	(void)state;
	fd.f.reg_epfd = 4;
	fd.f.reg_events = EPOLLIN;
	station.c.waits[1] = (struct ctp_wait){.fd = 8, .gen = 1, .events = EPOLLIN, .epfd = -1};
	station.c.nwaits = 2;
	says("fd 8#1 has ended");
}

static void by_what_was_seen(void **state)
{
	(void)state;
	seen = (struct witness){.rule = RULE_ONESHOT, .coroutine = 41, .fd = 7, .gen = 3, .older = IDMAP_NONE};
	for (unsigned i = 0; i < PROOFS; i++)
		seen.items[i] = (struct witness_item){HOLDS_TRUE, "holds", 3000};
	m.witness.items = &seen;
	m.witness.n = 1;
	assert_int_equal(idmap_set(&m.witness.last, 41, 0), 0);
	says("registered nowhere"); // nothing is missing: the tables again
	seen.items[PROOF_P2] = (struct witness_item){HOLDS_OPEN, "not sure", 0};
	says("not sure");
	seen.items[PROOF_P3] = (struct witness_item){HOLDS_FALSE, "it is armed", 0};
	says("it is armed"); // that ends the matter
	m.ext.listener_closed = 500;
	says("draining");
	seen.fd = -1;
	says("registered nowhere");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(by_the_tables), TEST(by_the_one_that_is_not_live), TEST(by_what_was_seen)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
