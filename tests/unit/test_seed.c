// SPDX-License-Identifier: MIT
//
// Descriptors and registrations from before an attach: what the hooks have seen stands, whatever was found.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/epoll.h>

#include "fake_guest.h"
#include "preload/fds/fd_map.h"
#include "preload/guest/real.h"

static int ep, fd[2];
static struct ctp_seed_row row;

static struct ctp_fd *entry(int n)
{
	return &tracer.region.fds[n];
}

// Opened and registered behind the hooks.
static int begin(void **state)
{
	if (fake_guest_setup(state))
		return -1;
	traced = false;
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (ep < 0 || pipe2(fd, O_NONBLOCK))
		return -1;
	traced = true;
	tracer.region.ext->attached = 1;
	row = (struct ctp_seed_row){.epfd = ep, .fd = fd[0], .events = EPOLLIN | EPOLLONESHOT, .data = 0x7777};
	co->life = CTP_SUSPENDED;
	self.current = other;
	return 0;
}

static int end(void **state)
{
	traced = false;
	close(fd[0]);
	close(fd[1]);
	close(ep);
	return fake_guest_teardown(state);
}

static void find_fds(void)
{
	assert_true(fds_found(ep, CTP_FD_EPOLL, 0));
	assert_true(fds_found(fd[0], CTP_FD_PIPE, CTP_FD_NONBLOCK));
}

static void is_open(void **state)
{
	(void)state;
	find_fds();
	assert_int_equal(entry(fd[0])->gen, 1);
	assert_int_equal(entry(fd[0])->life, CTP_FD_OPEN);
	assert_int_equal(entry(fd[0])->kind, CTP_FD_PIPE);
	assert_int_equal(entry(fd[0])->flags, CTP_FD_NONBLOCK);
	assert_int_equal(entry(fd[0])->opened_how, CTP_CALL_NONE);
	assert_int_equal(opens, 0); // older than the history
	assert_false(fds_found(fd[0], CTP_FD_FILE, 0));
	assert_int_equal(entry(fd[0])->kind, CTP_FD_PIPE);
}

static void closed_meanwhile(void **state)
{
	(void)state;
	close(fd[0]);
	assert_int_equal(entry(fd[0])->life, CTP_FD_CLOSED);
	assert_false(fds_found(fd[0], CTP_FD_PIPE, 0));
	assert_int_equal(entry(fd[0])->life, CTP_FD_CLOSED);
}

static void a_row_leads(void **state)
{
	(void)state;
	find_fds();
	fd_waits_found(&row, 50, co);
	assert_int_equal(entry(fd[0])->reg_epfd, ep);
	assert_int_equal(entry(fd[0])->reg_data, 0x7777);
	assert_int_equal(entry(fd[0])->leads & CTP_ID_MASK, co->id);
	assert_int_equal(co->nwaits, 1);
	assert_int_equal(co->waits[0].fd, fd[0]);
	assert_int_equal(fd_map_find(ep, 0x7777), fd[0]);
	assert_true(entry(ep)->flags & CTP_FD_ROWS);
	close(fd[0]); // under its waiter
	assert_int_equal(tracer.region.ext->cand_count, 1);
}

// Of a registration that stays it is not known what its coroutine waits for now; nor of one that is disarmed.
static void leads_alone(void **state)
{
	(void)state;
	find_fds();
	row.events = EPOLLIN;
	fd_waits_found(&row, 50, co);
	assert_int_equal(entry(fd[0])->leads & CTP_ID_MASK, co->id);
	assert_int_equal(co->nwaits, 0);
}

static void a_disarmed_one(void **state)
{
	(void)state;
	find_fds();
	row.events = EPOLLONESHOT;
	fd_waits_found(&row, 50, co);
	assert_int_equal(co->nwaits, 0);
}

static void has_run_meanwhile(void **state)
{
	(void)state;
	find_fds();
	co->changes = 2;
	fd_waits_found(&row, 50, co);
	assert_int_equal(co->nwaits, 0);
}

static void registered_meanwhile(void **state)
{
	struct epoll_event ev = {.events = EPOLLOUT, .data.u64 = 0x8888};
	(void)state;
	find_fds();
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	fd_waits_found(&row, 50, co);
	assert_int_equal(entry(fd[0])->reg_data, 0x8888);
	assert_int_equal(co->nwaits, 0);
}

static void taken_out_again(void **state)
{
	(void)state;
	find_fds();
	fd_waits_found(&row, 50, NULL);
	fd_waits_not_found(&row, 50);
	assert_int_equal(entry(fd[0])->reg_epfd, -1);
}

static void stays_where_seen(void **state)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = 0x7777};
	(void)state;
	find_fds();
	fd_waits_found(&row, 50, NULL);
	assert_int_equal(epoll_ctl(ep, EPOLL_CTL_ADD, fd[0], &ev), 0);
	fd_waits_not_found(&row, 50);
	assert_int_equal(entry(fd[0])->reg_epfd, ep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_open, begin, end),
		cmocka_unit_test_setup_teardown(closed_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(a_row_leads, begin, end),
		cmocka_unit_test_setup_teardown(leads_alone, begin, end),
		cmocka_unit_test_setup_teardown(a_disarmed_one, begin, end),
		cmocka_unit_test_setup_teardown(has_run_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(registered_meanwhile, begin, end),
		cmocka_unit_test_setup_teardown(taken_out_again, begin, end),
		cmocka_unit_test_setup_teardown(stays_where_seen, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
