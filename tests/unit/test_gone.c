// SPDX-License-Identifier: MIT
//
// What was there before an attach: descriptors as seen from outside, and what of a first look is gone at the
// second one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "engine/attach/seed.h"
#include "engine/attach/seed_fds.h"

static const struct ctp_seed_fd *of(const struct seed_fds *all, int fd)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].fd == fd)
			return &all->v[i];
	return NULL;
}

static void kinds(void **state)
{
	(void)state;
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), udp = socket(AF_INET, SOCK_DGRAM, 0);
	int pair[2], ends[2], event = eventfd(0, EFD_NONBLOCK), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	int set = epoll_create1(0), file = open("/proc/self/exe", O_RDONLY);
	assert_int_equal(bind(listener, (struct sockaddr *)&any, sizeof(any)) | listen(listener, 1), 0);
	assert_int_equal(bind(udp, (struct sockaddr *)&any, sizeof(any)), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) | pipe2(ends, O_NONBLOCK), 0);
	const struct {
		int fd;
		uint32_t kind, flags;
	} want[] = {
		{listener, CTP_FD_TCP, CTP_FD_LISTENS | CTP_FD_NONBLOCK},
		{udp, CTP_FD_UDP, 0},
		{pair[0], CTP_FD_UNIX, 0},
		{ends[0], CTP_FD_PIPE, CTP_FD_NONBLOCK},
		{event, CTP_FD_EVENTFD, CTP_FD_NONBLOCK},
		{timer, CTP_FD_TIMERFD, 0},
		{set, CTP_FD_EPOLL, 0},
		{file, CTP_FD_FILE, 0},
	};
	struct seed_fds all;
	assert_int_equal(seed_fds_read(&all, getpid()), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct ctp_seed_fd *is = of(&all, want[i].fd);
		assert_non_null(is);
		assert_int_equal(is->kind, want[i].kind);
		assert_int_equal(is->flags, want[i].flags);
		close(want[i].fd);
	}
	close(pair[1]);
	close(ends[1]);
	free(all.v);
}

// ------------------------------------------------------------------ two looks

enum { MANY = 3 };

static struct ctp_header header;
static struct ctp_state states[MANY + 1];
static const struct ctp_region region = {.header = &header, .states = states, .stations_max = MANY + 1};

// Coroutines 1 to MANY, taken in; one registration.
static struct ctp_seeds *look(void)
{
	struct ctp_seeds *s = calloc(1, sizeof(*s) + sizeof(struct ctp_seed_row) +
						MANY * sizeof(struct ctp_seed_coroutine));
	assert_non_null(s);
	s->nrows = 1;
	s->time = 50;
	ctp_seed_rows(s)[0] = (struct ctp_seed_row){.epfd = 3, .fd = 4, .data = 7};
	s->ncoroutines = MANY;
	header.allocated_count = MANY + 1;
	memset(states, 0, sizeof(states));
	for (uint32_t i = 0; i < MANY; i++) {
		struct ctp_seed_coroutine *c = &ctp_seed_coroutines(s)[i];
		c->slot = 0x1000 * (i + 1);
		c->regs[CTP_REG_SP] = c->slot + 0x800;
		c->life = CTP_SUSPENDED;
		c->station = i;
		c->id = i + 1;
		states[i].id = c->id;
		states[i].entity = CTP_COROUTINE;
		states[i].life = CTP_SUSPENDED;
	}
	return s;
}

static void all_stay(void **state)
{
	(void)state;
	struct ctp_seeds *was = look();
	assert_null(seed_gone(was, was, &region));
	assert_int_equal(seed_taken(was), MANY);
	free(was);
}

static void one_stands_elsewhere(void **state)
{
	(void)state;
	struct ctp_seeds *was = look(), *now = look();
	ctp_seed_coroutines(now)[1].regs[CTP_REG_SP] += 8;
	struct ctp_seeds *gone = seed_gone(was, now, &region);
	assert_non_null(gone);
	assert_int_equal(gone->nrows, 0);
	assert_int_equal(gone->ncoroutines, 1);
	assert_int_equal(ctp_seed_coroutines(gone)[0].id, 2);
	free(gone);
	free(now);
	free(was);
}

// What the hooks have seen since is theirs to tell.
static void one_has_run(void **state)
{
	(void)state;
	struct ctp_seeds *was = look(), *now = look();
	ctp_seed_coroutines(now)[1].regs[CTP_REG_SP] += 8;
	states[1].changes = 2;
	assert_null(seed_gone(was, now, &region));
	free(now);
	free(was);
}

// Met by a hook at the very time: it is there twice, and the found one never runs.
static void one_is_there_twice(void **state)
{
	(void)state;
	struct ctp_seeds *was = look();
	states[MANY] = states[1];
	states[MANY].id = 99;
	states[MANY].changes = 2;
	states[MANY].regs[CTP_REG_SP] = ctp_seed_coroutines(was)[1].regs[CTP_REG_SP];
	struct ctp_seeds *gone = seed_gone(was, was, &region);
	assert_non_null(gone);
	assert_int_equal(gone->ncoroutines, 1);
	assert_int_equal(ctp_seed_coroutines(gone)[0].id, 2);
	free(gone);
	free(was);
}

static void a_row_is_gone(void **state)
{
	(void)state;
	struct ctp_seeds *was = look(), *now = look();
	ctp_seed_rows(now)[0].data = 8;
	struct ctp_seeds *gone = seed_gone(was, now, &region);
	assert_non_null(gone);
	assert_int_equal(gone->nrows, 1);
	assert_int_equal(gone->time, 50);
	assert_int_equal(ctp_seed_rows(gone)[0].data, 7);
	assert_int_equal(gone->ncoroutines, 0);
	free(gone);
	free(now);
	free(was);
}

// Both looks must say so, of the same place.
static void nothing_leads_to_it(void **state)
{
	(void)state;
	struct ctp_seeds *was = look(), *one = look(), *other = look();
	ctp_seed_coroutines(one)[0].unreached = ctp_seed_coroutines(one)[1].unreached = 1;
	assert_true(seed_any_unreached(one));
	assert_false(seed_any_unreached(was));
	assert_null(seed_unreached(was, one, other));
	ctp_seed_coroutines(other)[0].unreached = ctp_seed_coroutines(other)[1].unreached = 1;
	ctp_seed_coroutines(other)[0].regs[CTP_REG_SP] += 8;
	struct ctp_seeds *both = seed_unreached(was, one, other);
	assert_non_null(both);
	assert_int_equal(both->ncoroutines, 1);
	assert_int_equal(ctp_seed_coroutines(both)[0].id, 2);
	assert_int_equal(ctp_seed_coroutines(both)[0].unreached, 1);
	free(both);
	ctp_seed_coroutines(was)[1].id = 0; // it was not taken in
	assert_null(seed_unreached(was, one, other));
	free(other);
	free(one);
	free(was);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds),	   cmocka_unit_test(all_stay),	       cmocka_unit_test(one_stands_elsewhere),
		cmocka_unit_test(one_has_run),	   cmocka_unit_test(one_is_there_twice), cmocka_unit_test(a_row_is_gone),
		cmocka_unit_test(nothing_leads_to_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
