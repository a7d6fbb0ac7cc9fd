// SPDX-License-Identifier: MIT
//
// What memory belongs to whom, of this process as it is: stacks between pages without access, which are one
// piece of memory where nothing says more, and static storage. Also of as many as a program may have.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/memory/objects.h"
#include "engine/target/names.h"
#include "sanitized.h"

// Two mappings of each: the kernel allows 65,530.
enum { PAGE = 4096, EACH = 3 * PAGE, STACKS = 20000, WHO = 64 };

static struct inspection l;
static struct suspect who[WHO], *list[STACKS];
static char *stacks, below[4 * PAGE] __attribute__((aligned(4096)));

// Stack i: a page without access, then two.
static uint64_t stack_of(size_t i)
{
	return (uint64_t)(uintptr_t)stacks + i * EACH + PAGE;
}

static int begin(void **state)
{
	(void)state;
	stacks = mmap(NULL, (size_t)STACKS * EACH + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (stacks == MAP_FAILED)
		return -1;
	for (size_t i = 0; i <= STACKS; i++)
		if (mprotect(stacks + i * EACH, PAGE, PROT_NONE))
			return -1;
	l = (struct inspection){.pid = getpid(), .who = list};
	memory_of_process(&l.memory, getpid());
	return proc_maps_read(getpid(), &l.maps);
}

static int end(void **state)
{
	(void)state;
	free(l.open);
	proc_maps_deinit(&l.maps);
	memory_close(&l.memory);
	return munmap(stacks, (size_t)STACKS * EACH + PAGE);
}

// The k-th suspect, with this stack and its control block at the top of it.
static struct suspect *suspect(size_t k, uint64_t lo, uint64_t hi)
{
	who[k] = (struct suspect){.s = {.id = k + 1, .lo = lo, .hi = hi, .slot = hi - 64}};
	who[k].s.regs[CTP_REG_SP] = hi - 256;
	return list[k] = &who[k];
}

static void stacks_that_adjoin_are_one_piece(void **state)
{
	(void)state;
	uint64_t all = (uint64_t)(uintptr_t)stacks, end_of = all + (uint64_t)STACKS * EACH + PAGE;
	for (size_t k = 0; k < 3; k++)
		suspect(k, stack_of(k * (STACKS / 2 - 1)), stack_of(k * (STACKS / 2 - 1)) + 2 * PAGE);
	who[2].s.block_lo = who[2].s.lo;
	who[2].s.block_hi = who[2].s.hi;
	l.n = 3;
	objects_find(&l);
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(who[k].nmine, 1);
		assert_true(who[k].whole[0] && who[k].mixed); // the third one's is in it
		assert_true(who[k].mine[0].lo <= all && who[k].mine[0].hi >= end_of);
		assert_int_equal(who[k].mine[0].lo, who[0].mine[0].lo);
		assert_int_equal(who[k].mine[0].hi, who[0].mine[0].hi);
		assert_null(proc_maps_find(&l.maps, who[k].mine[0].lo - 1));
	}
	assert_false(who[2].whole[0]);
	assert_int_equal(who[2].mine[0].lo, who[2].s.lo);
	assert_int_equal(who[2].mine[0].hi, who[2].s.hi);
}

static void static_storage_is_nobodys(void **state)
{
	(void)state;
	uint64_t lo = (uint64_t)(uintptr_t)below;
	suspect(0, lo, lo + sizeof(below));
	l.n = 1;
	objects_find(&l);
	assert_int_equal(who[0].nmine, 0);
	assert_int_equal(who[0].a[PROOF_P6A].holds, HOLDS_FALSE);
	assert_non_null(strstr(who[0].a[PROOF_P6A].text, "below"));
	assert_false(names_static(l.pid, &l.maps, stack_of(STACKS - 1), NULL, 0));
}

static void what_was_put_far_away_was_chosen(void **state)
{
	(void)state;
	if (SANITIZED_THREAD)
		skip(); // it ends a program that maps memory where it has its own
	void *far = mmap((void *)(uintptr_t)0x100000000000, 4 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (far == MAP_FAILED)
		skip();
	proc_maps_deinit(&l.maps);
	assert_int_equal(proc_maps_read(getpid(), &l.maps), 0);
	suspect(0, 0x100000000000, 0x100000000000 + 4 * PAGE);
	suspect(1, stack_of(0), stack_of(0) + 2 * PAGE);
	l.n = 2;
	objects_find(&l);
	munmap(far, 4 * PAGE);
	assert_int_equal(who[0].nmine, 0);
	assert_int_equal(who[0].a[PROOF_P6A].holds, HOLDS_OPEN);
	assert_non_null(strstr(who[0].a[PROOF_P6A].text, "chose"));
	assert_int_equal(who[1].nmine, 1);
}

// Each of them asks after mappings, of which there are twice as many. Where each goes through all of them, or
// through those that adjoin it, that takes minutes; now it takes milliseconds.
static void as_many_as_there_may_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < WHO; i++)
		suspect(i, stack_of(STACKS - 1 - i), stack_of(STACKS - 1 - i) + 2 * PAGE);
	for (size_t i = WHO; i < STACKS; i++)
		list[i] = &who[i % WHO];
	l.n = STACKS;
	for (int times = 0; times < 5; times++)
		objects_find(&l);
	for (size_t i = 0; i < WHO; i++)
		assert_true(who[i].nmine == 1 && who[i].whole[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(stacks_that_adjoin_are_one_piece, begin, end),
		cmocka_unit_test_setup_teardown(static_storage_is_nobodys, begin, end),
		cmocka_unit_test_setup_teardown(what_was_put_far_away_was_chosen, begin, end),
		cmocka_unit_test_setup_teardown(as_many_as_there_may_be, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
