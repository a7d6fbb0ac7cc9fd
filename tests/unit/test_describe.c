// SPDX-License-Identifier: MIT
//
// The sentences about a finding: which claim a verdict allows, what would refute it, which
// descriptors it is about, and the line that says all of it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/describe.h"
#include "tables.h"

static struct tables t;
static struct ctp_state *s;
static struct verdict_case c;
static struct symbols *no_symbols[1];
static const struct pass waits = { .rule = "CTP001", .title = "a title", .claim = "is lost", .likely = "seems lost",
				   .suspect = "may be lost", .waits = true },
			 plain = { .rule = "CTP020", .title = "a title" };

static int setup(void **state)
{
	(void)state;
	tables_init(&t);
	s = tables_suspended(&t, 41, 5, 100);
	c = (struct verdict_case){ .pass = &waits, .id = 41, .fd = -1, .proof.verdict = VERDICT_PROVEN,
				   .about = { .world = &t.world, .image = &t.image, .state = s } };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	tables_close(&t);
	return 0;
}

static const char *claim(enum verdict verdict)
{
	c.proof.verdict = verdict;
	return describe_claim(&c);
}

static void a_claim_is_as_strong_as_its_verdict(void **state)
{
	(void)state;
	assert_string_equal(claim(VERDICT_PROVEN), "is lost");
	assert_string_equal(claim(VERDICT_LIKELY), "seems lost");
	assert_string_equal(claim(VERDICT_SUSPECT), "may be lost");
	assert_string_equal(claim(VERDICT_INCONCLUSIVE), "may be lost");
	c.pass = &plain;
	assert_string_equal(claim(VERDICT_LIKELY), "a title");
	c.claim = "its own";
	assert_string_equal(claim(VERDICT_PROVEN), "its own");
}

static const char *refuted(enum verdict verdict)
{
	static char buf[300];
	c.proof.verdict = verdict;
	describe_refuted(&c, buf, sizeof(buf));
	return buf;
}

static void what_refutes_it_follows_from_the_verdict(void **state)
{
	(void)state;
	assert_string_equal(refuted(VERDICT_INCONCLUSIVE), "a longer or complete trace shows coroutine 41 resumed");
	assert_string_equal(refuted(VERDICT_LIKELY), "the program's own code resumes coroutine 41");
	c.proof.closure = "unreachable";
	assert_non_null(strstr(refuted(VERDICT_PROVEN), "a pointer to coroutine 41 lies outside the process"));
	c.proof.closure = "quiet";
	assert_non_null(strstr(refuted(VERDICT_PROVEN), "EINTR"));
	c.refuted = "its own";
	assert_string_equal(refuted(VERDICT_PROVEN), "its own");
}

// The finding's own descriptor first; then what else the coroutine waits for.
static void descriptors(void **state)
{
	struct describe_fd all[DESCRIBE_FDS];
	(void)state;
	tables_fd(&t, 7, 3)->life = CTP_FD_CLOSED;
	tables_fd(&t, 8, 1);
	tables_fd(&t, 9, 5);
	tables_wait(s, 8, 1, CTP_WAIT_EAGAIN);
	tables_wait(s, 7, 3, CTP_WAIT_EAGAIN);
	tables_wait(s, 9, 4, CTP_WAIT_EAGAIN); // of a generation that has ended
	tables_index(&t);
	c.fd = 7;
	c.gen = 3;
	assert_int_equal(describe_fds(&c, all), 3);
	assert_int_equal(all[0].fd, 7);
	assert_true(all[0].closed);
	assert_int_equal(all[1].fd, 8);
	assert_false(all[1].closed);
	assert_int_equal(all[2].fd, 9);
	assert_true(all[2].closed);
	c.pass = &plain; // it is about no wait
	assert_int_equal(describe_fds(&c, all), 1);
	c.fd = -1;
	assert_int_equal(describe_fds(&c, all), 0);
}

static const char *message(void)
{
	static char buf[1024];
	const struct verdict_case *list[] = { &c };
	struct report r = { .world = &t.world, .symbols = no_symbols };
	struct finding f = { .pass = c.pass, .verdict = c.proof.verdict, .cases = list, .n = 1 };
	describe_message(&r, &f, buf, sizeof(buf));
	return buf;
}

static void one_line_says_all(void **state)
{
	(void)state;
	tables_index(&t);
	assert_string_equal(message(), "coroutine 41 is lost");
	c.actor = (struct case_party){ .did = "closed by", .id = 42 };
	assert_string_equal(message(), "coroutine 41 is lost: closed by coroutine 42");
	c.fd = 7;
	c.gen = 3;
	c.fd_kind = CTP_FD_TCP;
	assert_string_equal(message(), "coroutine 41 is lost: it waits for fd 7#3 (tcp), closed by coroutine 42");
	c.fd_name = "a <- b";
	c.pass = &plain;
	assert_string_equal(message(), "coroutine 41 a title: fd 7#3 (tcp a <- b), closed by coroutine 42");
	t.world.processes = 2;
	t.image.pid = 4711;
	c.message = "its own";
	assert_string_equal(message(), "coroutine 41 in process 4711 a title: its own");
}

static void obligations_in_words(void **state)
{
	(void)state;
	assert_string_equal(describe_proof(&c, PROOF_P1), "suspended now");
	assert_string_equal(describe_proof(&c, PROOF_P6A), "memory");
	c.pass = &plain;
	assert_string_equal(describe_proof(&c, PROOF_P1), "seen as it happened");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_claim_is_as_strong_as_its_verdict),
		TEST(what_refutes_it_follows_from_the_verdict),
		TEST(descriptors),
		TEST(one_line_says_all),
		TEST(obligations_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
