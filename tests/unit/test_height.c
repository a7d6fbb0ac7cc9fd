// SPDX-License-Identifier: MIT
//
// Where the frame of a function ends that says so by its code alone.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "find/height.h"

// push %rbp; mov %rsp,%rbp; push %rbx; sub $40,%rsp; 9: push $1; push %rax; 12: call; 17: add $16,%rsp; 21: jmp 9;
// 23: add $40,%rsp; pop %rbx; pop %rbp; ret
static const uint8_t framed[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x28, 0x6a, 0x01, 0x50, 0xe8, 0,    0,
				 0,    0,    0x48, 0x83, 0xc4, 0x10, 0xeb, 0xf2, 0x48, 0x83, 0xc4, 0x28, 0x5b, 0x5d, 0xc3};

static void is_counted_from_the_begin(void **state)
{
	assert_int_equal(height_at(framed, sizeof(framed), 0), 8);
	assert_int_equal(height_at(framed, sizeof(framed), 9), 64);
	assert_int_equal(height_at(framed, sizeof(framed), 17), 80);
	assert_int_equal(height_at(framed, sizeof(framed), 21), 64);
	assert_int_equal(height_at(framed, sizeof(framed), 23), 0); // nobody comes there
	assert_int_equal(height_at(framed, sizeof(framed), sizeof(framed)), 0);
}

static void is_the_same_on_all_ways(void **state)
{
	static const uint8_t same[] = {0x74, 0x03, 0x50, 0xeb, 0x01, 0x51, 0x90, 0xc3}; // je 5; push; jmp 6; 5: push; 6: nop
	static const uint8_t other[] = {0x74, 0x01, 0x50, 0x90, 0xc3};		    // je 3; push; 3: nop
	assert_int_equal(height_at(same, sizeof(same), 6), 16);
	assert_int_equal(height_at(other, sizeof(other), 3), 0);
}

static void is_not_known_where_the_stack_pointer_is_computed(void **state)
{
	static const uint8_t all[][6] = {
		{0x48, 0x29, 0xc4, 0x90, 0xc3, 0x90},	    // sub %rax,%rsp
		{0x48, 0x83, 0xe4, 0xf0, 0x90, 0xc3},	    // and $-16,%rsp
		{0x48, 0x89, 0xec, 0x90, 0xc3, 0x90},	    // mov %rbp,%rsp
		{0x48, 0x8d, 0x65, 0xf0, 0x90, 0xc3},	    // lea -16(%rbp),%rsp
		{0x48, 0x8b, 0x20, 0x90, 0xc3, 0x90},	    // mov (%rax),%rsp
		{0x48, 0x94, 0x90, 0xc3, 0x90, 0x90},	    // xchg %rax,%rsp
		{0x5c, 0x90, 0x90, 0xc3, 0x90, 0x90},	    // pop %rsp
		{0x48, 0x2b, 0xe0, 0x90, 0xc3, 0x90},	    // sub %rax,%rsp, the other way to write it
		{0xc8, 0x10, 0x00, 0x00, 0x90, 0xc3},	    // enter $16,$0
		{0x90, 0x90, 0x90, 0x48, 0x89, 0xc4},	    // mov %rax,%rsp behind it: it may lead back
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_int_equal(height_at(all[i], sizeof(all[i]), i == 9 ? 1 : i == 8 ? 4 : 3), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(is_counted_from_the_begin),
		cmocka_unit_test(is_the_same_on_all_ways),
		cmocka_unit_test(is_not_known_where_the_stack_pointer_is_computed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
