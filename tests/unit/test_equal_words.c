// SPDX-License-Identifier: MIT
//
// Words that are equal whenever somebody waits: what is learned of them in looks that are made here, and what
// ends it. The window holds a ring: its head, its tail, and more that moves.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/sets/equal_words.h"

enum { HEAD = 3, TAIL = 5, OTHER = 20, READER = 7, SECOND = 9 };
#define BASE 0x100000ULL
#define STEP_NS 20000000ULL
#define LEAST_NS 2000000000ULL

static struct equal_words e;
static struct equal_look l;
static uint64_t words[EQUAL_WORDS], changes[16];

static int begin(void **state)
{
	(void)state;
	e = (struct equal_words){.base = BASE, .stack = 1};
	l = (struct equal_look){.gap_ns = 1000000000ULL, .avoid = {0x7000, 0x8000}};
	for (unsigned i = 0; i < EQUAL_WORDS; i++)
		words[i] = 0x1000 + 0x11 * i; // none is equal to another
	words[HEAD] = words[TAIL] = 0;
	for (unsigned i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		changes[i] = 2;
	return 0;
}

static int end(void **state)
{
	(void)state;
	equal_words_deinit(&e);
	return 0;
}

static void look_of(uint64_t step_ns, const uint64_t *who, size_t n)
{
	l.number++;
	l.ns += step_ns;
	for (size_t i = 0; i < n; i++)
		equal_words_visit(&e, &l, &(struct equal_member){who[i], changes[who[i]], who[i], 0}, words,
				  EQUAL_WORDS);
	if (n)
		assert_int_equal(equal_words_judge(&e, &l), 0);
}

static void look(void)
{
	look_of(STEP_NS, (uint64_t[]){READER}, 1);
}

static void looks_for(uint64_t ns)
{
	for (uint64_t until = l.ns + ns; l.ns < until;)
		look();
}

// The reader takes what came, and waits anew.
static void serve(unsigned n)
{
	while (n--) {
		words[HEAD] = ++words[TAIL];
		changes[READER] += 2;
		look();
	}
}

// The reader has taken four, and what came then lies in the queue.
static void one_lies_there(void)
{
	look();
	serve(4);
	words[TAIL]++;
}

// What never moved, such as the upper halves of small numbers, is no queue.
static const struct equal_pair *differs(void)
{
	const struct equal_pair *p = equal_words_differ(&e, LEAST_NS);
	return p && p->moves ? p : NULL;
}

static void a_queue_fills_beside_its_reader(void **state)
{
	(void)state;
	look();
	serve(4);
	assert_null(differs());
	words[TAIL]++;
	looks_for(LEAST_NS - STEP_NS);
	assert_null(differs());
	looks_for(2 * STEP_NS);
	const struct equal_pair *p = differs();
	assert_non_null(p);
	assert_int_equal(p->a, HEAD * 8);
	assert_int_equal(p->b, TAIL * 8);
	assert_int_equal(p->moves, 4);
	assert_true(p->here);
	assert_ptr_equal(equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8), p);
	assert_null(equal_words_same(&e, BASE + HEAD * 8, BASE + OTHER * 8));
	assert_int_equal(e.members[0].parks, 5);
	words[TAIL] += 3; // more comes: nothing is taken
	looks_for(STEP_NS);
	assert_non_null(differs());
	serve(1); // resumed after all, and late
	assert_null(equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8));
}

static void halves_of_words_count_too(void **state)
{
	(void)state;
	look();
	for (uint64_t i = 1; i < 5; i++) {
		words[OTHER] = i << 32 | i;
		changes[READER] += 2;
		look();
	}
	words[OTHER] += 1ULL << 32;
	looks_for(LEAST_NS + STEP_NS);
	const struct equal_pair *p = differs();
	assert_null(p); // they were not equal at first
	end(NULL);
	begin(NULL);
	words[OTHER] = 0;
	look();
	for (uint64_t i = 1; i < 5; i++) {
		words[OTHER] = i << 32 | i;
		changes[READER] += 2;
		look();
	}
	words[OTHER] += 1ULL << 32;
	looks_for(LEAST_NS + STEP_NS);
	p = differs();
	assert_true(p && p->bytes == 4 && p->a == OTHER * 8 && p->b == OTHER * 8 + 4 && p->moves == 4);
}

static void it_came_while_the_reader_was_on_its_way(void **state)
{
	(void)state;
	one_lies_there();
	changes[READER] += 2;
	looks_for(LEAST_NS + STEP_NS);
	assert_true(differs() && !differs()->here);
}

// Two clients wait for their answers: what lies there is the second one's.
static void another_came_with_it(void **state)
{
	(void)state;
	one_lies_there();
	for (uint64_t until = l.ns + LEAST_NS + 2 * STEP_NS; l.ns < until;)
		look_of(STEP_NS, (uint64_t[]){READER, SECOND}, 2);
	assert_true(differs() && !differs()->here);
}

// The words move while the one who waits has not run: somebody else takes.
static void others_take(void **state)
{
	(void)state;
	look();
	serve(4);
	words[HEAD] = ++words[TAIL];
	look();
	words[TAIL]++;
	looks_for(LEAST_NS + STEP_NS);
	assert_null(differs());
}

static void others_take_what_lay_there(void **state)
{
	(void)state;
	one_lies_there();
	look();
	words[HEAD]++;
	look();
	words[TAIL]++;
	looks_for(LEAST_NS + STEP_NS);
	assert_null(differs());
}

static void others_take_one_of_two(void **state)
{
	(void)state;
	look();
	serve(4);
	words[TAIL] += 2;
	look();
	words[TAIL]++;
	look();
	words[HEAD]++;
	look();
	looks_for(LEAST_NS + STEP_NS);
	assert_null(differs());
}

// Four at once: two lie there for long, and are then taken.
static void a_batch(void **state)
{
	(void)state;
	look();
	serve(4);
	words[TAIL] += 2;
	looks_for(2 * EQUAL_LATE_NS);
	words[TAIL] += 2;
	words[HEAD] = words[TAIL];
	changes[READER] += 2;
	one_lies_there();
	looks_for(LEAST_NS + STEP_NS);
	assert_null(differs());
}

static void a_wakeup_may_take_a_while(void **state)
{
	(void)state;
	one_lies_there();
	look();
	look();
	words[HEAD]++;
	changes[READER] += 2;
	look();
	words[TAIL]++;
	looks_for(LEAST_NS + STEP_NS);
	assert_true(differs() && differs()->longest_ns == 2 * STEP_NS);
}

// Who comes to wait while something lies there does not wait for that.
static void one_comes_who_does_not_care(void **state)
{
	(void)state;
	const uint64_t both[] = {READER, SECOND};
	one_lies_there();
	look();
	look_of(STEP_NS, both, 2);
	for (uint64_t until = l.ns + LEAST_NS + STEP_NS; l.ns < until;)
		look_of(STEP_NS, both, 2);
	assert_null(differs());
}

// One that waited when it came leaves it there, and another waits on.
static void one_leaves(uint64_t after_ns)
{
	const uint64_t both[] = {READER, SECOND}, other[] = {SECOND};
	look_of(STEP_NS, both, 2);
	for (unsigned i = 0; i < 4; i++) {
		words[HEAD] = ++words[TAIL];
		changes[READER] += 2;
		look_of(STEP_NS, both, 2);
	}
	words[TAIL]++;
	for (uint64_t until = l.ns + after_ns; l.ns < until;)
		look_of(STEP_NS, both, 2);
	for (uint64_t until = l.ns + LEAST_NS + 2 * STEP_NS; l.ns < until;)
		look_of(STEP_NS, other, 1);
}

static void one_leaves_soon(void **state)
{
	(void)state;
	one_leaves(2 * STEP_NS);
	assert_true(differs() && differs()->id == SECOND);
}

static void one_leaves_late(void **state)
{
	(void)state;
	one_leaves(2 * EQUAL_LATE_NS);
	assert_null(differs());
}

// Time in which nobody looked does not count.
static void the_program_was_stopped(void **state)
{
	(void)state;
	one_lies_there();
	look();
	look_of(2 * LEAST_NS, (uint64_t[]){READER}, 1);
	assert_null(differs());
	looks_for(LEAST_NS + STEP_NS);
	assert_non_null(differs());
}

// The links of an allocator are no queue.
static void the_allocators_words(void **state)
{
	(void)state;
	words[HEAD] = words[TAIL] = 0x7010;
	look();
	assert_null(equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8));
	end(NULL);
	begin(NULL);
	look();
	words[HEAD] = words[TAIL] = 0x7010;
	changes[READER] += 2;
	look();
	assert_null(equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8));
}

static void moves_to(uint64_t v)
{
	words[HEAD] = words[TAIL] = v;
	changes[READER] += 2;
	look();
}

static const struct equal_pair *ends(void)
{
	return equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8);
}

// A std::deque goes on by its elements, and to another piece; a ring back to its begin.
static void a_queue_goes_on_by_steps(void **state)
{
	(void)state;
	words[HEAD] = words[TAIL] = 0x500000;
	look();
	moves_to(0x500040);
	assert_true(ends() && ends()->moves == 1 && ends()->step == 0x40);
	moves_to(0x500060); // two elements came before
	assert_true(ends() && ends()->moves == 2 && ends()->step == 0x20);
	moves_to(0x5000c0);
	assert_true(ends() && ends()->moves == 3 && !ends()->jumps && ends()->step == 0x20);
	moves_to(0x600000);
	moves_to(0x500020);
	assert_true(ends() && ends()->moves == 3 && ends()->jumps == 2);
	moves_to(0x500020 + EQUAL_STEP_MOST);
	assert_true(ends() && ends()->moves == 4);
	moves_to(0x500021 + 2 * EQUAL_STEP_MOST);
	assert_true(ends() && ends()->moves == 4 && ends()->jumps == 3);
}

// What leaps as it likes stood there twice by chance.
static void an_array_is_no_queue(void **state)
{
	(void)state;
	words[HEAD] = words[TAIL] = 0x500000;
	look();
	moves_to(0x500040);
	moves_to(0x5000a0);
	assert_null(ends());
}

static void many_wait_there(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < EQUAL_MEMBERS + 1; i++) {
		l.number++;
		equal_words_visit(&e, &l, &(struct equal_member){100 + i, 2, 0, 0}, words, EQUAL_WORDS);
		assert_int_equal(equal_words_judge(&e, &l), 0);
		assert_int_equal(e.many, i == EQUAL_MEMBERS);
	}
}

static void less_can_be_read(void **state)
{
	(void)state;
	look();
	serve(4);
	l.number++;
	equal_words_visit(&e, &l, &(struct equal_member){READER, changes[READER], 0, 0}, words, TAIL);
	assert_int_equal(equal_words_judge(&e, &l), 0);
	assert_null(equal_words_same(&e, BASE + HEAD * 8, BASE + TAIL * 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_queue_fills_beside_its_reader, begin, end),
		cmocka_unit_test_setup_teardown(halves_of_words_count_too, begin, end),
		cmocka_unit_test_setup_teardown(it_came_while_the_reader_was_on_its_way, begin, end),
		cmocka_unit_test_setup_teardown(another_came_with_it, begin, end),
		cmocka_unit_test_setup_teardown(others_take, begin, end),
		cmocka_unit_test_setup_teardown(others_take_what_lay_there, begin, end),
		cmocka_unit_test_setup_teardown(others_take_one_of_two, begin, end),
		cmocka_unit_test_setup_teardown(a_batch, begin, end),
		cmocka_unit_test_setup_teardown(a_wakeup_may_take_a_while, begin, end),
		cmocka_unit_test_setup_teardown(one_comes_who_does_not_care, begin, end),
		cmocka_unit_test_setup_teardown(one_leaves_soon, begin, end),
		cmocka_unit_test_setup_teardown(one_leaves_late, begin, end),
		cmocka_unit_test_setup_teardown(the_program_was_stopped, begin, end),
		cmocka_unit_test_setup_teardown(the_allocators_words, begin, end),
		cmocka_unit_test_setup_teardown(a_queue_goes_on_by_steps, begin, end),
		cmocka_unit_test_setup_teardown(an_array_is_no_queue, begin, end),
		cmocka_unit_test_setup_teardown(many_wait_there, begin, end),
		cmocka_unit_test_setup_teardown(less_can_be_read, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
