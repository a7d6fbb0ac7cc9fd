// SPDX-License-Identifier: MIT
//
// What is learned of switch functions from their code: where they save what, and which code is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "find/recipe.h"

// push %rbp, %rbx, %r12 to %r15; mov %rsp, (%rdi); mov (%rsi), %rsp; pops; ret
static const unsigned char pushes[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41,
				       0x57, 0x48, 0x89, 0x27, 0x48, 0x8b, 0x26, 0x41, 0x5f,
				       0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};
// the same into a block: mov reg, off(%rdi); mov (%rsp), %rax; mov %rax, 0x38(%rdi); mov (%rsi), %rsp; jmp
// *0x38(%rsi)
static const unsigned char block[] = {0x48, 0x89, 0x27, 0x48, 0x89, 0x6f, 0x08, 0x48, 0x89, 0x5f, 0x10,
				      0x4c, 0x89, 0x67, 0x18, 0x4c, 0x89, 0x6f, 0x20, 0x4c, 0x89, 0x77,
				      0x28, 0x4c, 0x89, 0x7f, 0x30, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x89,
				      0x47, 0x38, 0x48, 0x8b, 0x26, 0xff, 0x66, 0x38};

// State Threads' way to save: mov reg, off(%rdi); lea 8(%rsp), %rdx; mov %rdx, 0x30(%rdi); mov (%rsp), %rax;
// mov %rax, 0x38(%rdi); xor %rax, %rax; ret
static const unsigned char saves[] = {0x48, 0x89, 0x1f, 0x48, 0x89, 0x6f, 0x08, 0x4c, 0x89, 0x67, 0x10,
				      0x4c, 0x89, 0x6f, 0x18, 0x4c, 0x89, 0x77, 0x20, 0x4c, 0x89, 0x7f,
				      0x28, 0x48, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x89, 0x57, 0x30, 0x48,
				      0x8b, 0x04, 0x24, 0x48, 0x89, 0x47, 0x38, 0x48, 0x31, 0xc0, 0xc3};

static void a_switch_that_pushes(void **state)
{
	struct recipe r;
	assert_true(recipe_learn(pushes, sizeof(pushes), &r));
	assert_int_equal(r.regs[CTP_REG_PC].where, RECIPE_STACK);
	assert_int_equal(r.regs[CTP_REG_PC].off, 48);
	assert_int_equal(r.regs[CTP_REG_FP].off, 40);
	assert_int_equal(r.regs[CTP_REG_S0].off, 32);
	assert_int_equal(r.regs[CTP_REG_S4].off, 0);
	assert_int_equal(r.sp, 56);
	assert_true(recipe_may_switch(pushes + 13, sizeof(pushes) - 13));
}

static void a_switch_that_keeps_a_block(void **state)
{
	struct recipe r;
	assert_true(recipe_learn(block, sizeof(block), &r));
	assert_int_equal(r.regs[CTP_REG_PC].where, RECIPE_BLOCK);
	assert_int_equal(r.regs[CTP_REG_PC].off, 0x38);
	assert_int_equal(r.regs[CTP_REG_S4].where, RECIPE_BLOCK);
	assert_int_equal(r.regs[CTP_REG_S4].off, 0x30);
	assert_int_equal(r.sp, 8);
}

// The word that holds the stack pointer is in the middle of the block.
static void what_saves_and_returns(void **state)
{
	struct recipe r;
	assert_true(recipe_learn(saves, sizeof(saves), &r));
	assert_true(r.returns);
	assert_int_equal(r.regs[CTP_REG_PC].where, RECIPE_BLOCK);
	assert_int_equal(r.regs[CTP_REG_PC].off, 8);
	assert_int_equal(r.regs[CTP_REG_S0].off, -0x30);
	assert_int_equal(r.regs[CTP_REG_S4].off, -8);
	assert_int_equal(r.sp, 0);
	assert_true(recipe_learn(block, sizeof(block), &r));
	assert_false(r.returns);
}

// A function that returns has to have kept its return address, in the block that its caller names.
static void what_returns_has_saved_all(void **state)
{
	unsigned char code[sizeof(saves)];
	struct recipe r;
	memcpy(code, saves, sizeof(code));
	memset(code + 36, 0x90, 4); // no return address
	assert_false(recipe_learn(code, sizeof(code), &r));
	for (size_t i = 0; i < 22; i++) {
		if (saves[i] != 0x89)
			continue;
		memcpy(code, saves, sizeof(code));
		code[i] = 0x8b; // it loads the register
		assert_false(recipe_learn(code, sizeof(code), &r));
	}
}

// What restores, but saves nothing, is longjmp and its like.
static void what_saves_nothing_is_none(void **state)
{
	struct recipe r;
	assert_false(recipe_learn(pushes + 13, sizeof(pushes) - 13, &r));
}

// One register that is not kept, and a function that calls it would not go on as it was.
static void every_register_counts(void **state)
{
	unsigned char code[sizeof(pushes)];
	struct recipe r;
	memcpy(code, pushes, sizeof(code));
	code[1] = 0x50; // push %rax in place of %rbx
	assert_false(recipe_learn(code, sizeof(code), &r));
}

// mov %rsp, %rbp; ... mov %rbp, %rsp; pop; ret: the function's own stack
static void a_frame_pointer_is_no_other_stack(void **state)
{
	static const unsigned char own[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56,
					    0x41, 0x57, 0x48, 0x89, 0x27, 0x48, 0x89, 0xec, 0x5d, 0xc3};
	struct recipe r;
	assert_false(recipe_learn(own, sizeof(own), &r));
}

// However the code is cut off or damaged, nothing is read behind its end.
static void no_code_is_read_behind_its_end(void **state)
{
	struct recipe r;
	for (size_t n = 0; n < sizeof(pushes); n++) {
		unsigned char *copy = test_malloc(n + 1);
		memcpy(copy, pushes, n);
		assert_false(recipe_learn(copy, n, &r));
		for (unsigned b = 0; n && b < 256; b++) {
			copy[n - 1] = (unsigned char)b;
			recipe_learn(copy, n, &r);
		}
		test_free(copy);
	}
}

// From the instruction on that stores the stack pointer.
static void a_store_and_a_load_switch(void **state)
{
	// mov %rsp, (%rdi); mov %rsi, %rsp; then a call, which is not followed: inlined
	static const unsigned char inlined[] = {0x48, 0x89, 0x27, 0x48, 0x89, 0xf4, 0xe8, 0, 0, 0, 0};
	// mov %rsp, %rax; mov %rdi, %rsp; pop %rbx; ret, and with a call in place of what leaves
	static const unsigned char handle[] = {0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc, 0x5b, 0xc3};
	static const unsigned char called[] = {0x48, 0x89, 0xe0, 0x48, 0x89, 0xfc, 0xe8, 0, 0, 0, 0};
	// mov %rsp, (%rdi); mov (%rdi), %rsp: its own again
	static const unsigned char own[] = {0x48, 0x89, 0x27, 0x48, 0x8b, 0x27, 0xc3};
	(void)state;
	assert_true(recipe_switches(pushes + 10, sizeof(pushes) - 10));
	assert_true(recipe_switches(block, sizeof(block)));
	assert_true(recipe_switches(inlined, sizeof(inlined)));
	assert_true(recipe_switches(handle, sizeof(handle)));
	assert_false(recipe_switches(called, sizeof(called)));
	assert_false(recipe_switches(own, sizeof(own)));
	assert_false(recipe_switches(inlined, 3));
	assert_false(recipe_switches(inlined, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_switch_that_pushes),
		cmocka_unit_test(a_switch_that_keeps_a_block),
		cmocka_unit_test(what_saves_and_returns),
		cmocka_unit_test(what_returns_has_saved_all),
		cmocka_unit_test(what_saves_nothing_is_none),
		cmocka_unit_test(every_register_counts),
		cmocka_unit_test(a_frame_pointer_is_no_other_stack),
		cmocka_unit_test(a_store_and_a_load_switch),
		cmocka_unit_test(no_code_is_read_behind_its_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
