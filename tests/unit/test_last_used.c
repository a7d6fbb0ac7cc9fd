// SPDX-License-Identifier: MIT
//
// What is said of coroutines that were suspended for long without a known wait, and of the descriptors they used last.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/last_used.h"
#include "tables.h"

#define S 1000000000ULL
static struct tables t;
static struct report r;
static struct descriptor kernel_says[4];

// What the kernel had for it to be read, 10 s before the end.
static struct descriptor *looked_at(int32_t fd, int64_t unread, bool ready)
{
	struct descriptors *d = &t.image.descriptors;
	d->v = kernel_says;
	d->v[d->n] = (struct descriptor){.fd = fd, .gen = 1, .asked = true, .unread = unread, .ready = ready, .ns = 90 * S};
	return &d->v[d->n++];
}

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	t.image.snapshot_ns = 100 * S;
	r = (struct report){.world = &t.world};
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	memset(kernel_says, 0, sizeof(kernel_says));
	t.image.descriptors = (struct descriptors){0};
	results_deinit(&r.results);
	accounting_deinit(&r);
	tables_close(&t);
	return 0;
}

static const char *said(void)
{
	tables_index(&t);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(last_used_facts(&r, true), 0);
	return r.results.nfacts ? r.results.facts[0].message : "";
}

static void what_they_wrote_last(void **state)
{
	(void)state;
	for (uint64_t id = 41; id < 44; id++) {
		tables_suspended(&t, id, 5, 74 * S);
		tables_fd(&t, (int32_t)id - 23, 1)->last_out = id;
		looked_at((int32_t)id - 23, 0, false);
	}
	assert_string_equal(said(), "3 coroutines are suspended for 26.0 s, last used fd 18 ... 20 (tcp), peer silent");
	assert_int_equal(r.results.facts[0].count, 3);
}

static void what_resumed_it(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	struct ctp_fd *f = tables_fd(&t, 18, 1);
	f->last_in = f->last_out = CTP_FD_UNNAMED | 1; // a handler on the native stack read for it
	f->learned = 41;
	f->event_time = 80 * S;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
}

static void the_latest_of_several(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	tables_fd(&t, 30, 1)->last_in = 41;
	struct ctp_fd *f = tables_fd(&t, 18, 1);
	f->last_in = 41 | CTP_FD_SEVERAL;
	f->event_time = 70 * S;
	tables_fd(&t, 31, 1)->last_in = 41;
	f->learned = 41;
	f->learned_stack = 5;
	looked_at(18, 0, false);
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp), peer silent");
}

static struct ctp_fd *used(uint64_t id, int32_t fd)
{
	tables_suspended(&t, id, 5, 74 * S);
	struct ctp_fd *f = tables_fd(&t, fd, 1);
	f->last_in = id;
	return f;
}

static void nothing_of_a_peer_of_which_the_kernel_was_not_asked(void **state)
{
	(void)state;
	used(41, 18)->last_in = 0;
	t.fds[0].f.last_out = 41;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
}

static void looked_at_too_early(void **state)
{
	(void)state;
	used(41, 18)->last_out = 41;
	t.fds[0].f.last_in = 0;
	looked_at(18, 0, false)->ns = 74 * S + S / 2;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
}

static void read_before_it_suspended(void **state)
{
	(void)state;
	used(41, 18);
	looked_at(18, 7, true)->ns = 73 * S;
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
}

static void what_is_unread(void **state)
{
	(void)state;
	used(41, 18);
	looked_at(18, 7, true);
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp), 7 bytes unread");
}

static void what_is_unread_of_each(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		used(41 + (unsigned)i, 18 + i);
		looked_at(18 + i, 7, true);
	}
	assert_string_equal(said(), "2 coroutines are suspended for 26.0 s, last used fd 18 ... 19 (tcp), 7 bytes unread each");
}

static void what_is_unread_of_some(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		used(41 + (unsigned)i, 18 + i);
	looked_at(18, 7, true);
	looked_at(19, 1, true);
	looked_at(20, 0, true);
	t.fds[3].f.learned = 44;
	t.fds[3].f.learned_stack = 5;
	looked_at(21, 0, false);
	assert_string_equal(said(), "4 coroutines are suspended for 26.0 s, last used fd 18 ... 21 (tcp), "
				    "bytes unread of 2, the end unread of 1, some peers silent");
}

// It was answered, and stands elsewhere: it waits for something else, for all that is known.
static void who_was_answered(void **state)
{
	(void)state;
	struct ctp_fd *f = used(41, 18);
	f->learned = 41;
	f->learned_stack = 6;
	looked_at(18, 0, false);
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp)");
	results_deinit(&r.results);
	r.results = (struct results){0};
	t.states[0].s.tried = 18ULL << 32 | 1;
	accounting_deinit(&r);
	assert_string_equal(said(), "1 coroutine is suspended for 26.0 s, last used fd 18 (tcp), peer silent");
}

// A pipe with which the program wakes its loop: whom it resumed then did not use it, and it has no peer.
static void a_pipe_of_its_own(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	tables_suspended(&t, 42, 5, 74 * S);
	struct ctp_fd *in = tables_fd(&t, 18, 1), *out = tables_fd(&t, 19, 1);
	in->kind = out->kind = CTP_FD_PIPE;
	in->desc = out->peer_desc = 7;
	out->desc = in->peer_desc = 8;
	in->learned = 41;
	looked_at(18, 0, false);
	out->last_out = 42;
	looked_at(19, 0, false);
	assert_string_equal(said(), "2 coroutines are suspended for 26.0 s, last used fd 19 (pipe)");
	results_deinit(&r.results);
	r.results = (struct results){0};
	accounting_deinit(&r);
	out->life = CTP_FD_CLOSED; // another process has that end
	in->learned_stack = 5;
	assert_string_equal(said(), "2 coroutines are suspended for 26.0 s, last used fd 18 ... 19 (pipe), some peers silent");
}

static void who_used_none_or_waits_is_left_out(void **state)
{
	(void)state;
	tables_suspended(&t, 41, 5, 74 * S);
	tables_wait(tables_suspended(&t, 42, 5, 74 * S), 18, 1, CTP_WAIT_EAGAIN);
	tables_fd(&t, 18, 1)->last_in = 42;
	tables_suspended(&t, 43, 5, 99 * S + S / 2); // just now
	tables_fd(&t, 19, 1)->last_in = 43;
	struct ctp_fd *listener = tables_fd(&t, 20, 1);
	listener->flags = CTP_FD_LISTENS;
	listener->last_in = 41;
	assert_string_equal(said(), "");
}

static void who_was_destroyed_after_long(void **state)
{
	(void)state;
	for (uint64_t id = 41; id < 45; id++) {
		struct ctp_state *s = tables_suspended(&t, id, 5, 95 * S);
		s->life = CTP_DESTROYED;
		s->tried = id < 43 ? 70 * S : 94 * S;
	}
	tables_fd(&t, 18, 1)->last_out = 41;
	assert_string_equal(said(), "2 of the coroutines that were destroyed while suspended had been suspended for more than 10 s, "
				    "up to 25.0 s, last used fd 18 (tcp)");
	assert_int_equal(r.results.nfacts, 1);
}

// Without CTP003, those that are suspended still are not told of.
static void the_destroyed_alone(void **state)
{
	(void)state;
	struct ctp_state *s = tables_suspended(&t, 41, 5, 95 * S);
	s->life = CTP_DESTROYED;
	s->tried = 70 * S;
	tables_suspended(&t, 42, 5, 60 * S);
	tables_fd(&t, 18, 1)->last_out = 41;
	tables_fd(&t, 19, 1)->last_out = 42;
	tables_index(&t);
	assert_int_equal(accounting_count(&r), 0);
	assert_int_equal(last_used_facts(&r, false), 0);
	assert_int_equal(r.results.nfacts, 1);
	assert_string_equal(r.results.facts[0].rule, "INFO");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_they_wrote_last), TEST(what_resumed_it), TEST(the_latest_of_several),
		TEST(nothing_of_a_peer_of_which_the_kernel_was_not_asked), TEST(looked_at_too_early), TEST(read_before_it_suspended),
		TEST(what_is_unread), TEST(what_is_unread_of_each), TEST(what_is_unread_of_some), TEST(who_was_answered), TEST(a_pipe_of_its_own),
		TEST(who_used_none_or_waits_is_left_out), TEST(who_was_destroyed_after_long), TEST(the_destroyed_alone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
