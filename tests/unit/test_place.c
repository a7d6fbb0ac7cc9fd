// SPDX-License-Identifier: MIT
//
// Which frames of a stack say where a coroutine stands.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "placed.h"

enum { NONE, SWAP, BLOCK, LOCK, READ, FIRST, SECOND, ENTRY, POLL, FAR_LOCK, TEMPLATE };

static const struct symbols_frame frames[] = {
	[SWAP] = {.symbol = "swap", .file = "/p/layer.h", .line = 30},
	[BLOCK] = {.symbol = "block", .file = "/p/layer.h", .line = 40},
	[LOCK] = {.symbol = "lock", .file = "/p/server.c", .line = 5},
	[READ] = {.symbol = "in", .file = "/p/server.c", .line = 6},
	[FIRST] = {.symbol = "first", .file = "/p/server.c", .line = 7},
	[SECOND] = {.symbol = "second", .file = "/p/server.c", .line = 8},
	[ENTRY] = {.symbol = "begin", .file = "/p/layer.h", .line = 50},
	[POLL] = {.symbol = "st_poll", .module = "/usr/lib/libst.so.1.9"},
	[FAR_LOCK] = {.symbol = "lock", .file = "/p/server.c", .line = 9},
	[TEMPLATE] = {.symbol = "resume", .module = "/p/server", .file = "/usr/include/boost/fiber.hpp", .line = 1},
};

static struct placed p;
static uint64_t ids;

static int setup(void **state)
{
	(void)state;
	ids = 0;
	placed_init(&p, frames, sizeof(frames) / sizeof(*frames));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	placed_close(&p);
	return 0;
}

// One more coroutine stands there.
static uint32_t stands(const uint64_t stack[PLACED_FRAMES])
{
	uint32_t id = (uint32_t)++ids;
	placed_stack(&p, id, stack);
	tables_suspended(&p.t, id, id, 1);
	return id;
}

static void says(uint32_t stack, unsigned most, const char *text)
{
	char buf[PLACE_BYTES];
	place_text(&p.r, &p.t.image, stack, most, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

#define STACK(...) ((const uint64_t[PLACED_FRAMES]){__VA_ARGS__})

static void the_layer_in_which_it_begins_is_left_out(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, BLOCK, LOCK, FIRST, ENTRY));
	says(one, 3, " in lock server.c:5 <- first server.c:7");
	says(one, 1, " in lock server.c:5");
}

static void one_alone_is_compared_with_nobody(void **state)
{
	(void)state;
	says(stands(STACK(SWAP, LOCK, FIRST)), 3, " in swap layer.h:30 <- lock server.c:5 <- first server.c:7");
}

static void what_most_share_is_left_out_but_for_the_last(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, BLOCK, LOCK, FIRST));
	stands(STACK(SWAP, BLOCK, READ, FIRST));
	stands(STACK(SWAP, BLOCK, READ, SECOND));
	stands(STACK(SWAP, BLOCK, LOCK, SECOND));
	says(one, 3, " in block layer.h:40 <- lock server.c:5 <- first server.c:7");
}

static void those_that_stand_alike_share_nothing(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, LOCK, FIRST));
	stands(STACK(SWAP, LOCK, FIRST));
	stands(STACK(SWAP, LOCK, FIRST));
	says(one, 3, " in swap layer.h:30 <- lock server.c:5 <- first server.c:7");
}

static void two_are_too_few(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, LOCK, FIRST));
	stands(STACK(SWAP, LOCK, SECOND));
	says(one, 3, " in swap layer.h:30 <- lock server.c:5 <- first server.c:7");
}

static void half_are_not_most(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, BLOCK, LOCK, FIRST));
	stands(STACK(SWAP, BLOCK, READ, SECOND));
	stands(STACK(READ, SECOND));
	stands(STACK(READ, FIRST));
	says(one, 3, " in swap layer.h:30 <- block layer.h:40 <- lock server.c:5");
}

static void another_line_is_another_place(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(LOCK, FIRST, FIRST, SECOND));
	stands(STACK(FAR_LOCK, SECOND));
	says(one, 1, " in lock server.c:5");
}

static void who_went_on_from_there_counts(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(SWAP, BLOCK, LOCK, FIRST));
	placed_stack(&p, 9, STACK(SWAP, BLOCK, READ, FIRST));
	placed_stack(&p, 10, STACK(SWAP, BLOCK, READ, SECOND));
	p.sites[9].resumed = p.sites[10].resumed = 1;
	says(one, 3, " in block layer.h:40 <- lock server.c:5 <- first server.c:7");
}

static void libraries_are_left_out_where_there_is_something_else(void **state)
{
	(void)state;
	says(stands(STACK(POLL, TEMPLATE, LOCK, FIRST, POLL)), 3, " in lock server.c:5 <- first server.c:7");
	says(stands(STACK(POLL)), 3, " in st_poll");
	says(7, 3, "");
}

static void it_says_whether_some_is_the_programs_own(void **state)
{
	(void)state;
	char buf[PLACE_BYTES];
	uint32_t own = stands(STACK(POLL, FIRST)), none = stands(STACK(POLL, TEMPLATE));
	assert_true(place_text(&p.r, &p.t.image, own, 3, buf, sizeof(buf)));
	assert_false(place_text(&p.r, &p.t.image, none, 3, buf, sizeof(buf)));
}

static void says_apart(uint32_t stack, const char *text)
{
	char buf[PLACE_BYTES];
	place_text_apart(&p.r, &p.t.image, stack, buf, sizeof(buf));
	assert_string_equal(buf, text);
}

static void it_goes_on_to_where_another_parts_from_it(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(READ, LOCK, FAR_LOCK, READ, FIRST));
	says_apart(one, " in in server.c:6 <- lock server.c:5 <- lock server.c:9");
	uint32_t two = stands(STACK(READ, LOCK, FAR_LOCK, READ, SECOND));
	says_apart(one, " in in server.c:6 <- lock server.c:5 <- lock server.c:9 <- in server.c:6 <- first server.c:7");
	says_apart(two, " in in server.c:6 <- lock server.c:5 <- lock server.c:9 <- in server.c:6 <- second server.c:8");
	says(one, 3, " in in server.c:6 <- lock server.c:5 <- lock server.c:9");
	says_apart(stands(STACK(READ, LOCK)), " in in server.c:6 <- lock server.c:5");
}

static void what_is_between_is_left_out_if_it_is_much(void **state)
{
	(void)state;
	uint32_t one = stands(STACK(READ, LOCK, FAR_LOCK, READ, LOCK, READ, LOCK, FIRST));
	stands(STACK(READ, LOCK, FAR_LOCK, READ, LOCK, READ, LOCK, SECOND));
	says_apart(one, " in in server.c:6 <- lock server.c:5 <- lock server.c:9 <- ... <- first server.c:7");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(the_layer_in_which_it_begins_is_left_out),
					   TEST(one_alone_is_compared_with_nobody),
					   TEST(what_most_share_is_left_out_but_for_the_last),
					   TEST(those_that_stand_alike_share_nothing),
					   TEST(two_are_too_few),
					   TEST(half_are_not_most),
					   TEST(another_line_is_another_place),
					   TEST(who_went_on_from_there_counts),
					   TEST(libraries_are_left_out_where_there_is_something_else),
					   TEST(it_says_whether_some_is_the_programs_own),
					   TEST(it_goes_on_to_where_another_parts_from_it),
					   TEST(what_is_between_is_left_out_if_it_is_much)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
