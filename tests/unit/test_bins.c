// SPDX-License-Identifier: MIT
//
// Bins of time: every nanosecond is in one bin of each level, whatever the order of widths; who
// is said to have had most of a bin had it.
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/history/bins.h"

// The cell that holds a bin.
static const struct bins_cell *cell(const struct bins_level *l, uint64_t bin)
{
	uint64_t at = 0;
	for (size_t i = 0; i < l->n; at += l->cells[i++].repeat)
		if (bin < at + l->cells[i].repeat)
			return &l->cells[i];
	return NULL;
}

static uint64_t all(const struct bins_level *l)
{
	uint64_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		n += l->cells[i].repeat;
	return n;
}

static void test_shares(void **state)
{
	struct bins b;
	bins_init(&b, 6400 * 100 - 1, 6400, 3); // bins of 100 ns
	assert_int_equal(b.levels[0].width, 100);
	assert_int_equal(b.levels[2].width, 6400);
	bins_add(&b, 0, 7, 0, 130);
	bins_transition(&b, 130);
	bins_add(&b, 1, 0, 130, 150);
	bins_add(&b, 0, 9, 150, 190);
	bins_transition(&b, 190);
	bins_end(&b);
	assert_int_equal(cell(&b.levels[0], 0)->share[0], 100);
	assert_int_equal(cell(&b.levels[0], 0)->top, 7);
	assert_int_equal(cell(&b.levels[0], 1)->share[0], 70);
	assert_int_equal(cell(&b.levels[0], 1)->share[1], 20);
	assert_int_equal(cell(&b.levels[0], 1)->top, 9);
	assert_int_equal(cell(&b.levels[0], 1)->top_share, 40);
	assert_int_equal(cell(&b.levels[0], 1)->transitions, 2);
	assert_int_equal(cell(&b.levels[1], 0)->share[0], 21); // 170 of 800
	assert_int_equal(cell(&b.levels[1], 0)->top_share, 0); // 130 is no fifth
	assert_int_equal(cell(&b.levels[1], 0)->transitions, 2);
	assert_int_equal(cell(&b.levels[2], 0)->share[0], 3);
	bins_deinit(&b);
}

// A long stretch is one cell, with what stands before and behind it in cells of their own; a gap too.
static void test_stretch(void **state)
{
	struct bins b;
	bins_init(&b, 1000 * 64 - 1, 1000, 2); // bins of 64 ns
	bins_add(&b, 2, 0, 10, 32010);
	bins_add(&b, 0, 3, 48000, 48064);
	bins_end(&b);
	const struct bins_level *l = &b.levels[0];
	assert_int_equal(l->n, 5);
	assert_int_equal(l->cells[0].share[2], 84); // 54 of 64
	assert_int_equal(l->cells[1].repeat, 499);
	assert_int_equal(l->cells[1].share[2], 100);
	assert_int_equal(l->cells[2].share[2], 16);
	assert_int_equal(l->cells[3].share[2], 0); // the gap
	assert_int_equal(l->cells[3].repeat, 750 - 501);
	assert_int_equal(l->cells[4].top, 3);
	assert_int_equal(all(l), 751);
	assert_int_equal(cell(&b.levels[1], 30)->share[2], 100);
	assert_int_equal(cell(&b.levels[1], 93)->share[0], 13); // 64 of 512
	bins_deinit(&b);
}

// A thousand entities in one bin: nobody had most of it, unless somebody had.
static void test_most(void **state)
{
	for (unsigned greedy = 0; greedy < 2; greedy++) {
		struct bins b;
		uint64_t at = 0;
		bins_init(&b, 100000 - 1, 1, 1);
		for (uint64_t i = 0; i < 1000; i++, at += 100) {
			bins_add(&b, 0, 10 + i, at, at + (greedy ? 50 : 100));
			if (greedy)
				bins_add(&b, 0, 5, at + 50, at + 100);
		}
		bins_end(&b);
		const struct bins_cell *c = cell(&b.levels[0], 0);
		assert_int_equal(c->share[0], 100);
		assert_int_equal(c->top, greedy ? 5 : 0);
		assert_true(c->top_share <= 50);
		bins_deinit(&b);
	}
}

// What comes too late is left out, and breaks nothing.
static void test_late(void **state)
{
	struct bins b;
	bins_init(&b, 999, 10, 2);
	bins_add(&b, 0, 1, 500, 600);
	bins_add(&b, 0, 2, 100, 550);
	bins_transition(&b, 20);
	bins_end(&b);
	assert_int_equal(all(&b.levels[0]), 6);
	assert_int_equal(cell(&b.levels[0], 1)->share[0], 0);
	assert_int_equal(b.error, 0);
	bins_deinit(&b);
}

// At random, against a plain sum.
static void test_sums(void **state)
{
	enum { BINS = 512 };
	for (unsigned round = 0; round < 50; round++) {
		struct bins b;
		double want[BINS] = { 0 };
		uint64_t at = 0, span = 100000;
		unsigned seed = round;
		bins_init(&b, span, BINS, 3);
		uint64_t width = b.levels[0].width;
		while (at < span) {
			uint64_t n = (uint64_t)(rand_r(&seed) % (rand_r(&seed) % 8 ? 300 : 9000)), to = at + n < span ? at + n : span;
			if (rand_r(&seed) % 3) {
				bins_add(&b, 0, 1 + (uint64_t)rand_r(&seed) % 20, at, to);
				for (uint64_t t = at; t < to; t++)
					want[t / width] += 100.0 / (double)width;
			}
			at = to + 1;
		}
		bins_end(&b);
		for (uint64_t i = 0; i < all(&b.levels[0]); i++) {
			double off = cell(&b.levels[0], i)->share[0] - want[i];
			assert_true(off < 1.01 && off > -0.51);
		}
		for (uint64_t i = 0; i < all(&b.levels[1]); i++) {
			double sum = 0;
			for (unsigned k = 0; k < BINS_STEP && i * BINS_STEP + k < BINS; k++)
				sum += want[i * BINS_STEP + k] / BINS_STEP;
			double off = cell(&b.levels[1], i)->share[0] - sum;
			assert_true(off < 1.01 && off > -0.51);
		}
		bins_deinit(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares), cmocka_unit_test(test_stretch), cmocka_unit_test(test_most),
		cmocka_unit_test(test_late), cmocka_unit_test(test_sums),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
