// SPDX-License-Identifier: MIT
//
// How a report says where those stand that are parked.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/report/accounting.h"
#include "analyze/facts/parked_places.h"
#include "placed.h"

#define S 1000000000ULL
enum { NONE, LOCK, SLEEP, QUEUE, GATE, FIRST, SECOND, POLL };

static const struct symbols_frame frames[] = {
	[LOCK] = {.symbol = "lock", .file = "/p/server.c", .line = 5},
	[SLEEP] = {.symbol = "nap", .file = "/p/server.c", .line = 6},
	[QUEUE] = {.symbol = "pop", .file = "/p/server.c", .line = 7},
	[GATE] = {.symbol = "pass", .file = "/p/server.c", .line = 8},
	[FIRST] = {.symbol = "first", .file = "/p/server.c", .line = 9},
	[SECOND] = {.symbol = "second", .file = "/p/server.c", .line = 10},
	[POLL] = {.symbol = "st_poll", .module = "/usr/lib/libst.so.1.9"},
};

static struct placed p;
static unsigned char kinds[TABLES_ROWS], *accounts[] = {kinds};

#define STACK(...) ((const uint64_t[PLACED_FRAMES]){__VA_ARGS__})

static int setup(void **state)
{
	(void)state;
	placed_init(&p, frames, sizeof(frames) / sizeof(*frames));
	p.t.image.snapshot_ns = 100 * S;
	memset(kinds, ACCOUNT_PARKED, sizeof(kinds));
	p.r.accounts = accounts;
	placed_stack(&p, 1, STACK(LOCK, FIRST));
	placed_stack(&p, 2, STACK(SLEEP, FIRST));
	placed_stack(&p, 3, STACK(QUEUE, FIRST));
	placed_stack(&p, 4, STACK(GATE, FIRST));
	placed_stack(&p, 5, STACK(LOCK, FIRST, SECOND)); // reads like 1
	placed_stack(&p, 6, STACK(POLL));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	placed_close(&p);
	return 0;
}

static void says(const char *text)
{
	char buf[PARKED_PLACES_BYTES];
	tables_index(&p.t);
	assert_int_equal(parked_places_text(&p.r, buf, sizeof(buf)), 0);
	assert_string_equal(buf, text);
}

static void stands(uint64_t id, uint32_t stack, uint64_t seconds)
{
	tables_suspended(&p.t, id, stack, (100 - seconds) * S);
}

static void the_longest_first(void **state)
{
	(void)state;
	stands(1, 1, 3);
	stands(2, 2, 7);
	stands(3, 2, 9);
	says("; 2 in nap server.c:6 <- first server.c:9 for 9.0 s, 1 in lock server.c:5 <- first server.c:9 for 3.0 s");
}

static void three_places_at_most(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 4; i++)
		stands(i, i, 50 - i);
	says("; 1 in lock server.c:5 <- first server.c:9 for 49.0 s, 1 in nap server.c:6 <- first server.c:9 for 48.0 s, "
	     "1 in pop server.c:7 <- first server.c:9 for 47.0 s");
}

static void what_reads_alike_is_one(void **state)
{
	(void)state;
	stands(1, 1, 5);
	stands(2, 5, 4);
	says("; 2 in lock server.c:5 <- first server.c:9 for 5.0 s");
}

static void nobody_else(void **state)
{
	(void)state;
	stands(1, 1, 0); // not for long
	stands(2, 6, 50); // in a library alone
	stands(3, 2, 50);
	kinds[2] = ACCOUNT_POOLED;
	says("");
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(the_longest_first), TEST(three_places_at_most), TEST(what_reads_alike_is_one), TEST(nobody_else)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
