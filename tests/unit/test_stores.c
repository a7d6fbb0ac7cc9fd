// SPDX-License-Identifier: MIT
//
// Stores of a coroutine's state, and the branches that lead to them, in pieces of code.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frames/stores.h"

enum { AT = 0x401000, STATE = 0x10 };

static struct dispatch sweep(const uint8_t *code, size_t n)
{
	struct dispatch d = {.known = true, .index = {.offset = STATE, .width = 1}};
	assert_int_equal(stores_sweep(&d, code, n, AT, false), 0);
	return d;
}

// What precedes a branch is what runs before it: nothing of another path, which ends above.
static void before_a_branch(void **state)
{
	static const uint8_t code[] = {
		0x31, 0xc0,             // xor %eax, %eax: of another co_await
		0xc3,                   // ret
		0x84, 0xc0,             // 3: test %al, %al
		0x74, 0x04,             // 5: je 0xb
		0xc6, 0x47, STATE, 0x2, // 7: movb $2, 0x10(%rdi)
		0xc3,                   // b: ret
	};
	struct dispatch d = sweep(code, sizeof(code));
	(void)state;
	assert_int_equal(d.nbranches, 1);
	assert_int_equal(d.branches[0].value, 2);
	assert_int_equal(d.branches[0].other, AT + 0xb);
	assert_int_equal(d.branches[0].n, 2);
	assert_int_equal(d.branches[0].before[0].at, AT + 3);
	assert_int_equal(d.branches[0].before[1].at, AT + 5);
	dispatch_deinit(&d);
}

// Behind a store is what runs then, up to a jump, with the function that it calls.
static void behind_a_store(void **state)
{
	static const uint8_t code[] = {
		0xc6, 0x47, STATE, 0x3,       // movb $3, 0x10(%rdi)
		0xe8, 0x10, 0x00, 0x00, 0x00, // 4: call 0x19
		0xeb, 0x02,                   // 9: jmp 0xd
		0x31, 0xc0,                   // b: xor %eax, %eax
		0xc3,                         // d: ret
	};
	struct dispatch d = sweep(code, sizeof(code));
	(void)state;
	assert_int_equal(d.n, 1);
	assert_int_equal(d.stores[0].value, 3);
	assert_true(d.stores[0].alone && !d.stores[0].by_register);
	assert_int_equal(d.stores[0].n, 3);
	assert_int_equal(d.stores[0].behind[1].at, AT + 4);
	assert_int_equal(d.stores[0].behind[1].calls, AT + 0x19);
	assert_int_equal(d.stores[0].behind[2].at, AT + 9);
	dispatch_deinit(&d);
}

// Another byte of the frame, and a register of which nothing is known, tell no state.
static void no_state(void **state)
{
	static const uint8_t code[] = {
		0xc6, 0x47, STATE + 1, 0x3, // movb $3, 0x11(%rdi)
		0x88, 0x47, STATE,          // mov %al, 0x10(%rdi)
		0xc3,
	};
	struct dispatch d = sweep(code, sizeof(code));
	(void)state;
	assert_int_equal(d.n, 0);
	dispatch_deinit(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(before_a_branch), cmocka_unit_test(behind_a_store), cmocka_unit_test(no_state)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
