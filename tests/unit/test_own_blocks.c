// SPDX-License-Identifier: MIT
//
// Where a block may begin in a coroutine's own memory, of stacks of this process's: what its registers and live frames
// lead to.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/memory/own_blocks.h"

enum { STACK = 1 << 18, WORDS = STACK / 8, MOST = 4 };

static struct inspection l;
static struct suspect s;
static uint64_t *stack, saved[64], lo, hi;

static void begin_test(size_t sp)
{
	memset(stack, 0, STACK);
	memset(saved, 0, sizeof(saved));
	lo = (uintptr_t)stack;
	hi = lo + STACK;
	s = (struct suspect){.s = {.id = 1, .lo = lo, .hi = hi, .slot = hi - 64}, .nmine = 1, .mine = {{lo, hi}}};
	s.s.regs[CTP_REG_SP] = lo + 8 * sp;
}

static bool has(const uint64_t *v, size_t n, uint64_t address)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == address)
			return true;
	return false;
}

static void at_the_top_of_its_stack(void **state)
{
	uint64_t v[MOST], block = hi - 0x148;
	(void)state;
	begin_test(WORDS - 200);
	block = hi - 0x148;
	stack[WORDS - 150] = block;
	stack[WORDS - 140] = block; // once
	stack[WORDS - 120] = lo + 8 * (WORDS - 130);
	stack[WORDS - 110] = hi;          // is behind it
	stack[WORDS - 109] = block + 3;   // is no address of a block
	stack[WORDS - 108] = lo + 64;     // lies below the frames
	stack[WORDS - 210] = hi - 0x48;   // in what is dead
	assert_int_equal(own_blocks(&l, &s, v, MOST), 2);
	assert_true(v[0] == block && v[1] == lo + 8 * (WORDS - 130));
	s.s.regs[CTP_REG_SP + 1] = hi - 0x200;
	assert_int_equal(own_blocks(&l, &s, v, MOST), 3);
	assert_true(v[1] == hi - 0x200);
	assert_int_equal(own_blocks(&l, &s, v, 1), 1);
	assert_true(v[0] == block);
}

static void in_the_last_part_of_a_deep_one(void **state)
{
	uint64_t v[MOST];
	(void)state;
	begin_test(16);
	for (size_t i = 16; i < WORDS; i++)
		stack[i] = lo + 8 * i; // a chain of frames
	stack[WORDS - 8] = hi - 256;
	size_t n = own_blocks(&l, &s, v, MOST);
	assert_int_equal(n, MOST);
	assert_true(v[0] > hi - 256 && v[0] > v[1] && v[1] > v[2] && v[2] > v[3]);
}

static void in_an_element_of_an_array(void **state)
{
	uint64_t v[MOST];
	(void)state;
	begin_test(WORDS - 64);
	s.nmine = 2;
	s.mine[1] = (struct span){(uintptr_t)saved, (uintptr_t)(saved + 64)};
	s.s.slot = (uintptr_t)(saved + 40);
	stack[WORDS - 20] = (uintptr_t)(saved + 32);
	stack[WORDS - 21] = (uintptr_t)(saved + 48); // does not hold the context
	stack[WORDS - 22] = hi - 128;
	assert_int_equal(own_blocks(&l, &s, v, MOST), 2);
	assert_true(v[0] == hi - 128 && has(v, 2, (uintptr_t)(saved + 32)));
}

static void of_what_is_not_known(void **state)
{
	uint64_t v[MOST];
	(void)state;
	begin_test(WORDS - 64);
	stack[WORDS - 20] = hi - 128;
	s.s.regs[CTP_REG_SP] = hi;
	assert_int_equal(own_blocks(&l, &s, v, MOST), 0);
	begin_test(WORDS - 64);
	stack[WORDS - 20] = hi - 128;
	s.mixed = true;
	assert_int_equal(own_blocks(&l, &s, v, MOST), 0);
}

static int begin(void **state)
{
	(void)state;
	stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	l = (struct inspection){.pid = getpid()};
	memory_of_process(&l.memory, getpid());
	return stack == MAP_FAILED ? -1 : proc_maps_read(getpid(), &l.maps);
}

static int end(void **state)
{
	(void)state;
	proc_maps_deinit(&l.maps);
	memory_close(&l.memory);
	return munmap(stack, STACK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(at_the_top_of_its_stack), cmocka_unit_test(in_the_last_part_of_a_deep_one),
		cmocka_unit_test(in_an_element_of_an_array), cmocka_unit_test(of_what_is_not_known)};
	return cmocka_run_group_tests(tests, begin, end);
}
