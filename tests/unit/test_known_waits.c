// SPDX-License-Identifier: MIT
//
// When it is known in which form the program keeps the coroutines that are suspended at one place.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/stackless/known_waits.h"
#include "engine/stackless/seen_waits.h"

static const struct known_wait here = {0x1000, 4}, there = {0x1000, 6}, other = {0x2000, 4};

static struct known_word word(uint64_t at, uint64_t coroutine, bool single, bool fresh)
{
	return (struct known_word){.place = here,
				   .at = at,
				   .coroutine = coroutine,
				   .created = 7,
				   .single = single,
				   .fresh = fresh};
}

static void put(struct known_waits *k, uint64_t at, uint64_t coroutine, bool single, bool fresh)
{
	struct known_word w = word(at, coroutine, single, fresh);
	known_waits_word(k, &w);
}

static void a_registration_is_enough(void **state)
{
	struct known_waits k = {0};
	(void)state;
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_NEVER);
	known_waits_sure(&k, other);
	known_waits_sure(&k, here);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	assert_int_equal(known_waits_how(&k, other, false), KNOWN_FOUND);
	assert_int_equal(known_waits_how(&k, there, true), KNOWN_NEVER);
	known_waits_deinit(&k);
}

static void a_handle_of_one_that_was_never_resumed_is_enough(void **state)
{
	struct known_waits k = {0};
	(void)state;
	put(&k, 0x100, 0xa0, true, true);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	assert_int_equal(known_waits_how(&k, there, false), KNOWN_NEVER);
	known_waits_deinit(&k);
}

static void a_copy_may_be_left_of_one_that_was(void **state)
{
	struct known_waits k = {0};
	(void)state;
	put(&k, 0x100, 0xa0, true, false);
	put(&k, 0x108, 0xb0, true, false);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_LEFT);
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_FOUND); // its own word was taken away
	put(&k, 0x110, 0xc0, true, true); // a better one takes the place of one of those
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	assert_int_equal(k.nwords, 2);
	known_waits_deinit(&k);
}

static void other_words_need_a_second_one(void **state)
{
	struct known_waits k = {0};
	(void)state;
	put(&k, 0x100, 0xa0, false, true);
	put(&k, 0x200, 0xa0, false, true); // the same one
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_NEVER);
	struct known_word w = word(0x108, 0xb0, false, true);
	w.offset = 16; // in another way
	known_waits_word(&k, &w);
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_NEVER);
	put(&k, 0x110, 0xc0, false, true);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	known_waits_deinit(&k);
}

static void both_must_be_fresh(void **state)
{
	struct known_waits k = {0};
	(void)state;
	put(&k, 0x100, 0xa0, false, true);
	put(&k, 0x108, 0xb0, false, false);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_LEFT);
	put(&k, 0x110, 0xc0, false, true);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	known_waits_deinit(&k);
}

static void a_word_that_stays_is_not_fresh(void **state)
{
	struct known_waits k = {0};
	(void)state;
	put(&k, 0x100, 0xa0, true, true);
	known_waits_left(&k, 0x108); // another one
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_FOUND);
	known_waits_left(&k, 0x100);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_LEFT);
	known_waits_deinit(&k);
}

static void one_that_may_get_its_event_refutes_it(void **state)
{
	struct known_waits k = {0};
	(void)state;
	known_waits_armed(&k, here);
	assert_int_equal(known_waits_how(&k, here, false), KNOWN_NEVER);
	known_waits_sure(&k, here);
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_ARMED);
	known_waits_armed(&k, other);
	put(&k, 0x100, 0xa0, true, true);
	assert_int_equal(known_waits_how(&k, here, true), KNOWN_ARMED);
	known_waits_deinit(&k);
}

static void there_is_an_end_to_it(void **state)
{
	struct known_waits k = {0};
	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		struct known_word w = word(0x100 + 8 * i, 0x10000 + 64 * i, true, false);
		w.place.index = i % 50000;
		known_waits_word(&k, &w);
		if (k.nwords >= 4096)
			break;
		known_waits_sure(&k, w.place);
	}
	assert_true(k.nwords <= 4096);
	known_waits_deinit(&k);
}

static void a_wait_is_the_same_while_nothing_changes(void **state)
{
	struct seen_waits s = {0};
	struct seen_wait w = {.at = 0x40, .created = 3, .digest = 9, .event = 5}, now = w;
	(void)state;
	seen_waits_add(&s, &w);
	w.at = 0x80;
	seen_waits_add(&s, &w);
	assert_null(seen_waits_find(&s, 0x60));
	const struct seen_wait *then = seen_waits_find(&s, 0x40);
	assert_non_null(then);
	assert_true(seen_waits_same(then, &now));
	now.event = 6; // an event came
	assert_false(seen_waits_same(then, &now));
	now.event = 5;
	now.created = 4; // another one at its place
	assert_false(seen_waits_same(then, &now));
	now.created = 3;
	now.digest = 8; // it went on
	assert_false(seen_waits_same(then, &now));
	seen_waits_deinit(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_registration_is_enough),
		cmocka_unit_test(a_handle_of_one_that_was_never_resumed_is_enough),
		cmocka_unit_test(a_copy_may_be_left_of_one_that_was),
		cmocka_unit_test(other_words_need_a_second_one),
		cmocka_unit_test(both_must_be_fresh),
		cmocka_unit_test(a_word_that_stays_is_not_fresh),
		cmocka_unit_test(one_that_may_get_its_event_refutes_it),
		cmocka_unit_test(there_is_an_end_to_it),
		cmocka_unit_test(a_wait_is_the_same_while_nothing_changes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
