// SPDX-License-Identifier: MIT
//
// A coroutine's functions, told by their code: as compilers make them, and what comes near.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "frames/destroys.h"

enum { CODE = 0x10000, OTHER = 0x20000 };

struct code {
	uint8_t one[128], other[128];
};

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	const struct code *c = ctx;
	const uint8_t *from = at >= OTHER ? c->other : c->one;
	uint64_t in = at - (at >= OTHER ? OTHER : CODE);
	if (in >= sizeof(c->one))
		return 0;
	bytes = bytes < sizeof(c->one) - in ? bytes : (size_t)(sizeof(c->one) - in);
	memcpy(to, from + in, bytes);
	return bytes;
}

static struct code code;
static struct machine machine = {.peek = peek, .ctx = &code};

static void put(uint8_t *to, const char *bytes, size_t n)
{
	memset(to, 0xcc, sizeof(code.one));
	memcpy(to, bytes, n);
}
#define ONE(bytes) put(code.one, bytes, sizeof(bytes) - 1)
#define TWO(bytes) put(code.other, bytes, sizeof(bytes) - 1)

static bool is_one(struct destroys *d)
{
	bool is = destroys_learn(d, &machine, CODE);
	if (is)
		assert_true(destroys_may(code.one, sizeof(code.one)));
	return is;
}

static void gcc_sets_a_bit_and_goes_on(void **state)
{
	struct destroys d;
	ONE("\x66\x83\x4f\x20\x01"     // orw $1, 0x20(%rdi)
	    "\xe9\xf6\xff\x00\x00");   // jmp OTHER
	assert_true(is_one(&d));
	assert_true(d.maker == PAIR_GCC && d.index == 0x20 && d.resume == OTHER);
	// Without optimization: push %rbp; mov %rsp,%rbp; sub $16,%rsp; mov %rdi,-8(%rbp); mov -8(%rbp),%rax;
	// movzwl 0x48(%rax),%eax; or $1,%eax; mov %eax,%edx; mov -8(%rbp),%rax; mov %dx,0x48(%rax); mov -8(%rbp),%rax;
	// mov %rax,%rdi; call OTHER
	ONE("\x55\x48\x89\xe5\x48\x83\xec\x10\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x0f\xb7\x40\x48\x83\xc8\x01\x89\xc2"
	    "\x48\x8b\x45\xf8\x66\x89\x50\x48\x48\x8b\x45\xf8\x48\x89\xc7\xe8\xd3\xff\x00\x00");
	assert_true(is_one(&d));
	assert_true(d.maker == PAIR_GCC && d.index == 0x48 && d.resume == OTHER);
}

static void gccs_other_half_asks_for_the_same_state(void **state)
{
	const struct destroys d = {.maker = PAIR_GCC, .index = 0x2c};
	TWO("\x0f\xb7\x47\x2c\xa8\x01\x74\x10\xc3"); // movzwl 0x2c(%rdi),%eax; test $1,%al; je
	assert_true(destroys_fits(&d, &machine, OTHER));
	TWO("\x8b\x4f\x2c\xf6\xc1\x01\x74\x10\xc3"); // mov 0x2c(%rdi),%ecx; test $1,%cl; je
	assert_true(destroys_fits(&d, &machine, OTHER));
	TWO("\x0f\xb7\x47\x2e\xa8\x01\x74\x10\xc3"); // another field
	assert_false(destroys_fits(&d, &machine, OTHER));
	TWO("\x48\x8b\x47\x2c\xa8\x01\x74\x10\xc3"); // eight bytes
	assert_false(destroys_fits(&d, &machine, OTHER));
}

static void another_arithmetic_is_none_of_gccs(void **state)
{
	struct destroys d;
	ONE("\x66\x83\x47\x20\x01\xc3"); // addw $1
	assert_false(is_one(&d));
	ONE("\x66\x83\x4f\x20\x03\xc3"); // orw $3
	assert_false(is_one(&d));
	ONE("\x66\xc7\x47\x20\x01\x00\xc3"); // movw $1
	assert_false(is_one(&d));
	ONE("\x66\x83\x4f\x08\x01\xc3"); // of one of the two addresses
	assert_false(is_one(&d));
	ONE("\x66\x83\x4e\x20\x01\xc3"); // of what another register leads to
	assert_false(is_one(&d));
	ONE("\x0f\xb7\x47\x22\x83\xc8\x01\x66\x89\x47\x20\xc3"); // from one field into another
	assert_false(is_one(&d));
	ONE("\x83\x4f\x20\x01\xc3"); // four bytes
	assert_false(is_one(&d));
}

static void clang_asks_for_the_first_word_and_the_state(void **state)
{
	struct destroys d;
	ONE("\x53\x48\x89\xfb\x48\x83\x3f\x00\x74\x10" // push %rbx; mov %rdi,%rbx; cmpq $0,(%rdi); je
	    "\x80\x7b\x28\x00\x74\x10\xc3");           // cmpb $0,0x28(%rbx); je
	assert_true(is_one(&d));
	assert_true(d.maker == PAIR_CLANG && d.index == 0x28 && !d.resume);
	TWO("\x53\x48\x89\xfb\x80\x7f\x28\x01\x74\x10\xc3"); // cmpb $1,0x28(%rdi)
	assert_true(destroys_fits(&d, &machine, OTHER));
	TWO("\x53\x48\x89\xfb\x80\x7f\x29\x01\x74\x10\xc3"); // another field
	assert_false(destroys_fits(&d, &machine, OTHER));
	TWO("\x53\x48\x89\xfb\x83\x7f\x28\x01\x74\x10\xc3"); // four bytes of it
	assert_false(destroys_fits(&d, &machine, OTHER));
	TWO("\x53\x48\x89\xfb\xc3"); // it asks for nothing
	assert_false(destroys_fits(&d, &machine, OTHER));
}

static void less_than_both_is_none_of_clangs(void **state)
{
	struct destroys d;
	ONE("\x80\x7f\x28\x00\x74\x10\xc3"); // the state alone
	assert_false(is_one(&d));
	ONE("\x48\x83\x3f\x00\x74\x10\xc3"); // the first word alone
	assert_false(is_one(&d));
	ONE("\x48\x83\x7f\x08\x00\x74\x10\x80\x7f\x28\x00\x74\x10\xc3"); // the second word
	assert_false(is_one(&d));
	ONE("\x48\x83\x3f\x00\x74\x10\x83\x7f\x28\x00\x74\x10\xc3"); // a state of four bytes
	assert_false(is_one(&d));
	ONE("\x48\x83\x3f\x00\x74\x10\x80\x7f\x08\x00\x74\x10\xc3"); // one where the two addresses are
	assert_false(is_one(&d));
}

static void code_that_is_cut_off_is_none(void **state)
{
	struct destroys d;
	memset(&code, 0, sizeof(code));
	assert_false(destroys_learn(&d, &machine, CODE + sizeof(code.one)));
	assert_false(destroys_may(code.one, 3));
	assert_false(destroys_may(code.one, sizeof(code.one)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gcc_sets_a_bit_and_goes_on),
		cmocka_unit_test(gccs_other_half_asks_for_the_same_state),
		cmocka_unit_test(another_arithmetic_is_none_of_gccs),
		cmocka_unit_test(clang_asks_for_the_first_word_and_the_state),
		cmocka_unit_test(less_than_both_is_none_of_clangs),
		cmocka_unit_test(code_that_is_cut_off_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
