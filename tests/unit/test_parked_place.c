// SPDX-License-Identifier: MIT
//
// Which stacks are one place, and whether it is known that a coroutine was resumed from there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tables.h"
#include "trace/parked_place.h"

enum { STACKS = 8, FRAMES = 6 };
enum { SWAP = 0x10, YIELD = 0x20, LOCK = 0x30, RECEIVE = 0x40, A = 0x50, B = 0x60, MAIN = 0x70 };

static struct tables t;
static uint32_t indices[STACKS];
static uint64_t words[STACKS][1 + FRAMES];
static struct ctp_site sites[STACKS];

static void stack(unsigned id, const uint64_t pcs[FRAMES])
{
	indices[id] = 1 + id * (1 + FRAMES);
	words[id][0] = FRAMES;
	memcpy(&words[id][1], pcs, FRAMES * sizeof(*pcs));
}

static int begin(void **state)
{
	(void)state;
	tables_init(&t);
	memset(sites, 0, sizeof(sites));
	memset(indices, 0, sizeof(indices));
	stack(1, (const uint64_t[FRAMES]){SWAP, YIELD, LOCK, A, MAIN, 1});
	stack(2, (const uint64_t[FRAMES]){SWAP, YIELD, LOCK, B, MAIN, 1});
	stack(3, (const uint64_t[FRAMES]){SWAP, YIELD, RECEIVE, A, MAIN, 1});
	stack(4, (const uint64_t[FRAMES]){SWAP, YIELD, LOCK, A, MAIN, 2});
	stack(5, (const uint64_t[FRAMES]){YIELD, LOCK, A, MAIN, 1, 1});
	t.image.stack_index = (struct table){.rows = (const void *)indices, .n = STACKS, .row_bytes = sizeof(*indices)};
	t.image.stack_words = (struct table){.rows = (const void *)words, .n = sizeof(words) / 8, .row_bytes = 8};
	t.image.sites = (struct table){.rows = (const void *)sites, .n = STACKS, .row_bytes = sizeof(*sites)};
	return 0;
}

static int end(void **state)
{
	(void)state;
	tables_close(&t);
	return 0;
}

static uint64_t place(const struct parked_place *p, uint32_t id)
{
	return parked_place(p, id);
}

static void callers_of_a_lock_are_one_place(void **state)
{
	(void)state;
	tables_suspended(&t, 1, 1, 0);
	tables_suspended(&t, 2, 3, 0);
	struct parked_place p = parked_places(&t.image);
	assert_int_equal(p.frames, 3);
	assert_int_equal(place(&p, 1), place(&p, 2));
	assert_int_equal(place(&p, 1), place(&p, 4));
	assert_int_not_equal(place(&p, 1), place(&p, 3));
	assert_int_not_equal(place(&p, 1), place(&p, 5));
	assert_int_equal(place(&p, 7), 7); // of which nothing is known
	assert_int_equal(place(&p, 0), 0);
}

// What all share says nothing of what they wait for.
static void shared_frames_do_not_count(void **state)
{
	(void)state;
	tables_suspended(&t, 1, 1, 0);
	tables_suspended(&t, 2, 2, 0);
	struct parked_place p = parked_places(&t.image);
	assert_int_equal(p.frames, 4);
	assert_int_not_equal(place(&p, 1), place(&p, 2));
	sites[3].resumed = 1; // others went on from elsewhere
	p = parked_places(&t.image);
	assert_int_equal(p.frames, 3);
}

// Where one function switches, and all wait in a few that call it, two frames are enough.
static void a_lock_below_its_callers(void **state)
{
	(void)state;
	tables_suspended(&t, 1, 1, 0);
	tables_suspended(&t, 2, 5, 0);
	stack(6, (const uint64_t[FRAMES]){YIELD, LOCK, B, MAIN, 1, 1});
	struct parked_place usual = parked_places(&t.image), brief = parked_places_short(&t.image);
	assert_int_equal(usual.frames, 3);
	assert_int_equal(brief.frames, 2);
	assert_int_not_equal(place(&usual, 5), place(&usual, 6));
	assert_int_equal(place(&brief, 5), place(&brief, 6));
}

static void resumed_from_the_place(void **state)
{
	(void)state;
	tables_suspended(&t, 1, 1, 0);
	struct ctp_state *other = tables_suspended(&t, 2, 3, 0);
	struct parked_place p = parked_places(&t.image);
	assert_false(parked_place_left(&p, place(&p, 1)));
	sites[2].resumed = 1; // by another caller
	assert_true(parked_place_left(&p, place(&p, 1)));
	assert_false(parked_place_left(&p, place(&p, 3)));
	other->flags |= CTP_STATE_AGAIN;
	assert_true(parked_place_left(&p, place(&p, 3)));
	assert_false(parked_place_left(&p, 0));
}

static void count(void *arg, uint32_t id)
{
	*(unsigned *)arg |= 1u << id;
}

static void stacks_of_a_place(void **state)
{
	(void)state;
	tables_suspended(&t, 1, 1, 0);
	tables_suspended(&t, 2, 3, 0);
	struct parked_place p = parked_places(&t.image);
	unsigned found = 0;
	parked_place_stacks(&p, place(&p, 2), count, &found);
	assert_int_equal(found, 1u << 1 | 1u << 2 | 1u << 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(callers_of_a_lock_are_one_place, begin, end),
		cmocka_unit_test_setup_teardown(shared_frames_do_not_count, begin, end),
		cmocka_unit_test_setup_teardown(a_lock_below_its_callers, begin, end),
		cmocka_unit_test_setup_teardown(resumed_from_the_place, begin, end),
		cmocka_unit_test_setup_teardown(stacks_of_a_place, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
