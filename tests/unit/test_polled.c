// SPDX-License-Identifier: MIT
//
// Sets given to poll and select, read back from a process's memory: its own here.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ctp/polled.h"
#include "engine/target/polled.h"

static struct proc_task polls(struct pollfd *v, size_t n)
{
	return (struct proc_task){.nr = SYS_ppoll, .args = {(uintptr_t)v, n}};
}

static void calls_are_told_by_number(void **state)
{
	(void)state;
	assert_int_equal(polled_call(SYS_ppoll), POLLED_POLL);
	assert_int_equal(polled_call(SYS_pselect6), POLLED_SELECT);
	assert_int_equal(polled_call(SYS_read), POLLED_NONE);
	assert_int_equal(polled_call(-1), POLLED_NONE);
}

static void a_set_is_known_if_it_is_the_one_that_was_given(void **state)
{
	(void)state;
	struct pollfd v[1000];
	struct ctp_thread c = {0};
	struct polled p;
	for (int i = 0; i < 1000; i++) {
		v[i] = (struct pollfd){.fd = i % 3 ? i : -1, .events = POLLIN}; // a third is left out
		if (v[i].fd >= 0)
			c.set_sum = ctp_polled_sum(c.set_sum, v[i].fd, POLLIN);
	}
	struct proc_task t = polls(v, 1000);
	polled_read(getpid(), &t, &c, &p);
	assert_true(p.read && p.known);
	assert_int_equal(p.n, 666);
	assert_true(polled_has(&p, 998) && polled_has(&p, 1));
	assert_false(polled_has(&p, 999) || polled_has(&p, 1000));
	assert_int_equal(polled_has_for(&p, 998, p.v[0].events), polled_has(&p, 998));
	assert_false(polled_has_for(&p, 998, 0));
	free(p.v);
	v[500].events = POLLOUT; // by somebody else, after the kernel made its copy
	polled_read(getpid(), &t, &c, &p);
	assert_true(p.read && !p.known);
	free(p.v);
	v[500].events = POLLIN;
	polled_read(getpid(), &t, NULL, &p); // behind the hooks
	assert_true(p.read && !p.known);
	free(p.v);
}

static void bits_past_the_last_are_not_meant(void **state)
{
	(void)state;
	fd_set in, out;
	struct ctp_thread c = {.wait_buf_bytes = sizeof(in)};
	struct polled p;
	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_SET(3, &in);
	FD_SET(70, &in);
	FD_SET(69, &out);
	struct proc_task t = {.nr = SYS_pselect6, .args = {70, (uintptr_t)&in, (uintptr_t)&out, 0}};
	c.set_sum = ctp_polled_sum(ctp_polled_sum(0, 3, POLLIN), 69, POLLOUT);
	polled_read(getpid(), &t, &c, &p);
	assert_true(p.known);
	assert_int_equal(p.n, 2);
	assert_int_equal(p.v[1].fd, 69);
	assert_int_equal(p.v[1].events, POLLOUT);
	free(p.v);
	t.args[0] = UINT64_MAX; // what is asked for is not what there is: no more than the hook's caller gave
	polled_read(getpid(), &t, &c, &p);
	assert_false(p.known);
	free(p.v);
}

static void what_cannot_be_read_is_not_known(void **state)
{
	(void)state;
	struct ctp_thread c = {0};
	struct polled p;
	char *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct proc_task t = polls((struct pollfd *)hole, 4), none = {.nr = SYS_read};
	polled_read(getpid(), &t, &c, &p);
	assert_false(p.read || p.known);
	free(p.v);
	t.args[1] = UINT64_MAX;
	polled_read(getpid(), &t, &c, &p);
	assert_false(p.read || p.known);
	free(p.v);
	polled_read(getpid(), &none, &c, &p);
	assert_false(p.read || p.known || p.n);
	t = polls(NULL, 0);
	polled_read(getpid(), &t, &c, &p); // nobody is polled, and that is known
	assert_true(p.known);
	assert_int_equal(p.n, 0);
	munmap(hole, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_told_by_number), cmocka_unit_test(a_set_is_known_if_it_is_the_one_that_was_given),
		cmocka_unit_test(bits_past_the_last_are_not_meant), cmocka_unit_test(what_cannot_be_read_is_not_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
