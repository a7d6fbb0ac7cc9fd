// SPDX-License-Identifier: MIT
//
// Who waits for what nobody has ever written, in a program that sleeps for good: a fact, with an exact count.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/parked/parked_unspoken.h"
#include "tables.h"

enum { HERE = 10, THERE = 20 }; // descriptions: the two ends of a pipe

static struct tables t;
static struct results out;
static struct ctp_fd *here, *there;

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	struct set_looks *l = &t.image.set_looks;
	l->looked = true;
	l->items[PROOF_P0].holds = l->items[PROOF_P6B].holds = HOLDS_TRUE;
	l->queues = calloc(2, sizeof(*l->queues));
	for (uint64_t i = 0; i < 2; i++) {
		struct ctp_state *s = tables_suspended(&t, 4 + i, 5, 1000);
		s->changes = 6;
		tables_wait(s, 7, 1, CTP_WAIT_EAGAIN);
		l->queues[i] = (struct set_queue){.coroutine = 4 + i, .changes = 6, .fd = 7, .gen = 1};
	}
	l->nqueues = 1;
	here = tables_fd(&t, 7, 1);
	there = tables_fd(&t, 8, 1);
	*here = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_PIPE, .desc = HERE, .peer_desc = THERE};
	*there = (struct ctp_fd){.gen = 1, .life = CTP_FD_OPEN, .kind = CTP_FD_PIPE, .desc = THERE, .peer_desc = HERE};
	return 0;
}

static int end(void **state)
{
	(void)state;
	results_deinit(&out);
	tables_close(&t);
	return 0;
}

static uint64_t count(void)
{
	tables_index(&t);
	assert_int_equal(parked_unspoken(pass_find("CTP003"), &t.image, &out), 0);
	assert_true(out.nfacts <= 1);
	assert_int_equal(out.ncases, 0);
	return out.nfacts ? out.facts[0].count : 0;
}

static void one(void **state)
{
	(void)state;
	assert_int_equal(count(), 1);
	assert_string_equal(out.facts[0].message,
			    "coroutine 4 waits to read from fd 7, to which nobody has ever written (by fd 8), no other "
			    "process can, and the whole program sleeps");
}

static void two(void **state)
{
	(void)state;
	t.image.set_looks.nqueues = 2;
	assert_int_equal(count(), 2);
}

static void somebody_has_written(void **state)
{
	(void)state;
	there->last_out = 9;
	assert_int_equal(count(), 0);
}

static void something_was_read(void **state)
{
	(void)state;
	here->last_in = 4;
	assert_int_equal(count(), 0);
}

static void the_other_end_is_closed(void **state)
{
	(void)state;
	there->life = CTP_FD_CLOSED;
	assert_int_equal(count(), 0);
}

static void it_is_ready(void **state)
{
	(void)state;
	t.image.set_looks.queues[0].ready = true;
	assert_int_equal(count(), 0);
}

static void it_has_run_since(void **state)
{
	(void)state;
	t.image.set_looks.queues[0].changes = 4;
	assert_int_equal(count(), 0);
}

static void the_program_may_go_on(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_FALSE;
	assert_int_equal(count(), 0);
}

static void only_another_process_can_write(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_FALSE;
	there->life = CTP_FD_CLOSED;
	t.image.set_looks.queues[0].writer = 4711;
	assert_int_equal(count(), 1);
	assert_string_equal(out.facts[0].message,
			    "coroutine 4 waits to read from fd 7, a pipe to which only other processes can write: process "
			    "4711 has that end open");
}

static const char *told_of(bool child, bool sleeps, const char *call, const char *wchan, uint64_t still_ns)
{
	struct set_queue *q = &t.image.set_looks.queues[0];
	results_deinit(&out);
	out = (struct results){0};
	q->writer = 4711;
	q->child = child;
	q->sleeps = sleeps;
	strcpy(q->call, call);
	strcpy(q->wchan, wchan);
	q->still_ns = still_ns;
	assert_int_equal(count(), 1);
	return strstr(out.facts[0].message, "process 4711");
}

static void what_the_other_process_does(void **state)
{
	(void)state;
	t.image.set_looks.items[PROOF_P6B].holds = HOLDS_FALSE;
	there->life = CTP_FD_CLOSED;
	assert_string_equal(told_of(true, true, "futex", "futex_wait_queue", 4000000000),
			    "process 4711, a child, has that end open, and sleeps in futex, for at least 4.0 s");
	assert_string_equal(told_of(true, true, "", "pipe_read", 0), "process 4711, a child, has that end open, and sleeps in the kernel's pipe_read");
	assert_string_equal(told_of(false, true, "", "", 0), "process 4711 has that end open, and sleeps");
	assert_string_equal(told_of(true, false, "read", "pipe_read", 0), "process 4711, a child, has that end open");
}

static void it_ran_since_another_could_write(void **state)
{
	(void)state;
	t.image.set_looks.queues[0].writer = 4711;
	t.image.set_looks.queues[0].changes = 4;
	assert_int_equal(count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one, begin, end),
		cmocka_unit_test_setup_teardown(two, begin, end),
		cmocka_unit_test_setup_teardown(only_another_process_can_write, begin, end),
		cmocka_unit_test_setup_teardown(what_the_other_process_does, begin, end),
		cmocka_unit_test_setup_teardown(it_ran_since_another_could_write, begin, end),
		cmocka_unit_test_setup_teardown(somebody_has_written, begin, end),
		cmocka_unit_test_setup_teardown(something_was_read, begin, end),
		cmocka_unit_test_setup_teardown(the_other_end_is_closed, begin, end),
		cmocka_unit_test_setup_teardown(it_is_ready, begin, end),
		cmocka_unit_test_setup_teardown(it_has_run_since, begin, end),
		cmocka_unit_test_setup_teardown(the_program_may_go_on, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
