// SPDX-License-Identifier: MIT
//
// The word of a spare region: offered, taken, mapped, and taken back from a child that died in between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ctp/ctp.h"
#include "engine/start/spares.h"

#define FD 7
#define OFFERED CTP_ASK(0, FD + 1)

static struct spare offered(uint64_t *word)
{
	struct spare sp = { .shm.fd = FD, .taken_ns = 1 };
	*word = 0;
	spares_offer(&sp, word);
	return sp;
}

static void test_taken(void **state)
{
	(void)state;
	uint64_t word;
	uint32_t me = (uint32_t)getpid();
	struct spare sp = offered(&word);
	assert_true(sp.ready);
	assert_int_equal(word, OFFERED);
	assert_int_equal(spares_taken(&sp, &word), 0);
	word = CTP_ASK(me, FD + 1); // it has yet to map it
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_equal(word, CTP_ASK(me, FD + 1));
	word = CTP_ASK(me, 0);
	assert_int_equal(spares_taken(&sp, &word), me);
	assert_false(sp.ready);
	assert_int_equal(spares_taken(&sp, &word), 0); // only once
}

static void test_returned(void **state)
{
	(void)state;
	uint64_t word;
	struct spare sp = offered(&word);
	word = CTP_ASK(getpid(), FD + 1);
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_not_equal(sp.taken_ns, 0);
	word = OFFERED; // the child could not map it
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_equal(sp.taken_ns, 0); // the next one has its full time
	assert_true(sp.ready);
}

static void test_taken_back(void **state)
{
	(void)state;
	uint64_t word;
	struct spare sp = offered(&word);
	pid_t dead = fork();
	assert_true(dead >= 0);
	if (!dead)
		_exit(0);
	assert_int_equal(waitpid(dead, NULL, 0), dead);
	word = CTP_ASK(dead, FD + 1);
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_equal(word, OFFERED);
	word = 0; // what the program overwrites is offered anew
	sp.taken_ns = 1;
	assert_int_equal(spares_taken(&sp, &word), 0);
	assert_int_equal(word, OFFERED);
}

static void test_any_taken(void **state)
{
	(void)state;
	struct spare spares[CTP_SPARES] = { 0 };
	uint64_t words[CTP_SPARES] = { CTP_ASK(41, 0) };
	assert_false(spares_any_taken(spares, words)); // that one is followed already
	spares[2] = offered(&words[2]);
	assert_false(spares_any_taken(spares, words));
	words[2] = CTP_ASK(42, FD + 1);
	assert_true(spares_any_taken(spares, words));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken),
		cmocka_unit_test(test_returned),
		cmocka_unit_test(test_taken_back),
		cmocka_unit_test(test_any_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
