// SPDX-License-Identifier: MIT
//
// Which code can keep a pointer to somebody's memory in a register that called functions preserve.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "find/harmless.h"

enum { BX = 3, BP = 5, R12 = 12, R13 = 13 };

// An event loop: push %rbx, %rbp, %r12; mov %rdi, %rbp; mov %rsp, %r12; mov %rsp, %rbx; lea (%rbx,%rax,4),
// %r13; add $12, %rbx; call *(%rax); jmp back
static const unsigned char loop[] = {0x53, 0x55, 0x41, 0x54, 0x48, 0x89, 0xfd, 0x49, 0x89,
				     0xe4, 0x48, 0x89, 0xe3, 0x4c, 0x8d, 0x2c, 0x83, 0x48,
				     0x83, 0xc3, 0x0c, 0xff, 0x10, 0xeb, 0xf1};
// push %rbx; mov 8(%rdi), %rbx; call *(%rax); pop %rbx; ret
static const unsigned char loads[] = {0x53, 0x48, 0x8b, 0x5f, 0x08, 0xff, 0x10, 0x5b, 0xc3};
// push %rbx; mov %eax, %ebx; call *(%rax); pop %rbx; ret
static const unsigned char number[] = {0x53, 0x89, 0xc3, 0xff, 0x10, 0x5b, 0xc3};
// push %rbx; mov %rax, %rbx; ...: what a call has returned
static const unsigned char result[] = {0x53, 0x48, 0x89, 0xc3, 0xff, 0x10, 0x5b, 0xc3};
// mov %eax, %ebx; add %rdi, %rbx: a number, and then a pointer
static const unsigned char sum[] = {0x89, 0xc3, 0x48, 0x01, 0xfb, 0xc3};
// jmp far away, where nobody looks
static const unsigned char away[] = {0x89, 0xc3, 0xe9, 0x00, 0x10, 0x00, 0x00};

static void own_addresses_and_numbers_are_harmless(void **state)
{
	assert_true(harmless_register(loop, sizeof(loop), BX, false));
	assert_true(harmless_register(loop, sizeof(loop), R12, false));
	assert_true(harmless_register(loop, sizeof(loop), R13, false));
	assert_true(harmless_register(number, sizeof(number), BX, false));
	assert_true(harmless_register(result, sizeof(result), R12, false)); // it is not written
}

static void an_argument_counts_where_it_stands_in_memory_too(void **state)
{
	assert_false(harmless_register(loop, sizeof(loop), BP, false));
	assert_true(harmless_register(loop, sizeof(loop), BP, true));
}

static void what_may_be_any_pointer_is_not(void **state)
{
	assert_false(harmless_register(loads, sizeof(loads), BX, true));
	assert_false(harmless_register(result, sizeof(result), BX, true));
	assert_false(harmless_register(sum, sizeof(sum), BX, true));
	assert_false(harmless_register(away, sizeof(away), BX, true));
}

static void code_that_is_cut_off_is_not(void **state)
{
	assert_false(harmless_register(loop, 5, R12, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_addresses_and_numbers_are_harmless),
		cmocka_unit_test(an_argument_counts_where_it_stands_in_memory_too),
		cmocka_unit_test(what_may_be_any_pointer_is_not),
		cmocka_unit_test(code_that_is_cut_off_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
