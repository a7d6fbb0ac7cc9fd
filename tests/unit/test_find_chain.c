// SPDX-License-Identifier: MIT
//
// On which stacks the calls really happened: return addresses in code that was written by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_image.h"
#include "find/chain.h"

static struct fake_image f;
static struct sites sites;
static struct site_engine engine;
static struct chain chain;

static void open_as(const char *path)
{
	fake_image_open(&f, path);
	sites = (struct sites){.objects = &f.objects, .engines = &engine, .nengines = 1, .starts = {fake_function(&f, 5)}, .nstarts = 1};
	chain = (struct chain){.objects = &f.objects, .sites = &sites};
}

static int open_image(void **state)
{
	open_as("/bin/fake");
	return 0;
}

static int close_image(void **state)
{
	chain_deinit(&chain);
	idmap_deinit(&sites.by_addr);
	fake_image_close(&f);
	return 0;
}

// Where a call of function `to` in function `from` returns to.
static uint64_t call(int from, int to)
{
	return fake_leads(&f, fake_function(&f, from) + 8, FAKE_CALL, fake_function(&f, to));
}

static void jump(int from, int to)
{
	fake_leads(&f, fake_function(&f, from) + 24, FAKE_JUMP, fake_function(&f, to));
}

// Checks a stack whose innermost function is 1, and how many of its addresses count.
static void check(enum chain_end end, size_t counts, const uint64_t *outer, size_t n)
{
	uint64_t pcs[8] = {fake_function(&f, 1) + 20};
	memcpy(pcs + 1, outer, n * sizeof(*outer));
	n++;
	assert_int_equal(chain_check(&chain, pcs, &n), end);
	assert_int_equal(n, counts);
	size_t none = 0;
	assert_int_equal(chain_check(&chain, pcs, &none), CHAIN_BROKEN);
}

static void each_was_called_by_the_next(void **state)
{
	uint64_t outer[2] = {call(2, 1), call(3, 2)};
	check(CHAIN_OPEN, 3, outer, 2);
	check(CHAIN_OPEN, 3, outer, 2); // and is remembered
}

static void a_call_that_leads_elsewhere_breaks_it(void **state)
{
	uint64_t outer[2] = {call(2, 1), call(3, 9)};
	check(CHAIN_BROKEN, 2, outer, 2);
}

static void no_call_at_all_breaks_it(void **state)
{
	uint64_t outer[1] = {fake_function(&f, 2) + 30};
	check(CHAIN_BROKEN, 1, outer, 1);
	outer[0] = (uintptr_t)f.data; // nor is that code
	check(CHAIN_BROKEN, 1, outer, 1);
}

static void an_indirect_call_may_lead_anywhere(void **state)
{
	uint64_t outer[1] = {fake_put(&f, fake_function(&f, 2) + 8, "\xff\xd0", 2)};
	check(CHAIN_OPEN, 2, outer, 1);
}

static void it_begins_where_makecontext_lets_it(void **state)
{
	uint64_t outer[2] = {call(2, 1), fake_function(&f, 5)};
	check(CHAIN_START, 2, outer, 2);
	outer[1] = fake_function(&f, 5) + 10; // behind the call that it makes at its end
	check(CHAIN_ENDED, 3, outer, 2);
}

static void a_functions_first_byte_is_put_there_by_hand(void **state)
{
	uint64_t outer[2] = {call(2, 1), fake_function(&f, 4)};
	check(CHAIN_WEAK, 2, outer, 2);
	sites.nstarts = 0; // without makecontext it may be an engine's way
	check(CHAIN_MADE, 2, outer, 2);
	sites.nstarts = 1;
	outer[1] = fake_function(&f, 4) + 1;
	check(CHAIN_MADE, 2, outer, 2);
}

static void assembly_code_has_no_function(void **state)
{
	f.object.nrows = 32;
	uint64_t outer[2] = {call(2, 1), fake_function(&f, 40) + 8};
	check(CHAIN_MADE, 2, outer, 2);
	outer[1] = call(40, 3); // behind a call, which led elsewhere
	check(CHAIN_BROKEN, 2, outer, 2);
	outer[1] = call(41, 2);
	check(CHAIN_OPEN, 3, outer, 2);
}

static void a_function_may_jump_on(void **state)
{
	uint64_t outer[1] = {call(2, 10)};
	check(CHAIN_BROKEN, 1, outer, 1);
	close_image(state); // what it was is remembered
	open_image(state);
	outer[0] = call(2, 10);
	jump(10, 11);
	jump(11, 12);
	jump(12, 1);
	check(CHAIN_OPEN, 2, outer, 1);
	outer[0] = call(3, 9); // one jump more
	jump(9, 10);
	check(CHAIN_BROKEN, 1, outer, 1);
	outer[0] = call(4, 20); // by a pointer: nobody knows where
	fake_put(&f, fake_function(&f, 20) + 24, "\xff\xe0", 2);
	check(CHAIN_OPEN, 2, outer, 1);
	assert_true(chain_jumps_on(&chain, fake_function(&f, 20)));
	assert_false(chain_jumps_on(&chain, fake_function(&f, 10)));
}

static void who_switches_has_called_nothing(void **state)
{
	uint64_t outer[1] = {call(2, 1)};
	assert_int_equal(idmap_set(&sites.by_addr, outer[0], 0), 0);
	check(CHAIN_BROKEN, 1, outer, 1);
}

static void a_threads_own_begin_is_no_coroutine(void **state)
{
	uint64_t outer[1] = {call(2, 1)};
	f.object.entry = fake_function(&f, 2);
	check(CHAIN_NATIVE, 2, outer, 1);
	f.object.entry = fake_function(&f, 3);
	check(CHAIN_OPEN, 2, outer, 1);
	close_image(state);
	open_as("/lib/libc.so.6");
	outer[0] = call(2, 1);
	check(CHAIN_NATIVE, 2, outer, 1);
	close_image(state);
	open_as("/lib/libcrypto.so.3");
	outer[0] = call(2, 1);
	check(CHAIN_OPEN, 2, outer, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_was_called_by_the_next, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_call_that_leads_elsewhere_breaks_it, open_image, close_image),
		cmocka_unit_test_setup_teardown(no_call_at_all_breaks_it, open_image, close_image),
		cmocka_unit_test_setup_teardown(an_indirect_call_may_lead_anywhere, open_image, close_image),
		cmocka_unit_test_setup_teardown(it_begins_where_makecontext_lets_it, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_functions_first_byte_is_put_there_by_hand, open_image, close_image),
		cmocka_unit_test_setup_teardown(assembly_code_has_no_function, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_function_may_jump_on, open_image, close_image),
		cmocka_unit_test_setup_teardown(who_switches_has_called_nothing, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_threads_own_begin_is_no_coroutine, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
