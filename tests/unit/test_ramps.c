// SPDX-License-Identifier: MIT
//
// Objects that code makes, and that begin with two functions: what is stored by way of one register, and what is not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "frames/ramps.h"

enum { CODE = 0x1000, ONE = 0x2000, OTHER = 0x3000 };

struct seen {
	size_t n;
	struct ramps_object last;
};

static bool is_function(void *ctx, uint64_t at)
{
	return at == ONE || at == OTHER;
}

static int found(void *ctx, const struct ramps_object *o)
{
	struct seen *s = ctx;
	s->n++;
	s->last = *o;
	return 0;
}

static struct seen read_code(const char *code, size_t bytes)
{
	struct seen s = {.n = 0};
	const struct ramps r = {is_function, found, &s};
	assert_int_equal(ramps_read(&r, (const uint8_t *)code, bytes, CODE), 0);
	return s;
}
#define READ(code) read_code(code, sizeof(code) - 1)

// lea ONE(%rip),%rcx; mov %rcx,(%rax); lea OTHER(%rip),%rdx
#define FIRST "\x48\x8d\x0d\xf9\x0f\x00\x00\x48\x89\x08\x48\x8d\x15\xef\x1f\x00\x00"

static void two_functions_and_a_state_of_zero(void **state)
{
	struct seen s = READ(FIRST "\x48\x89\x50\x08\xc6\x40\x28\x00\xc3"); // mov %rdx,8(%rax); movb $0,0x28(%rax)
	assert_int_equal(s.n, 1);
	assert_true(s.last.first == ONE && s.last.second == OTHER);
	assert_true(s.last.nzeros == 1 && s.last.zeros[0] == 0x28);
	s = READ(FIRST "\x48\x89\x50\x08\xc6\x40\x28\x01\xc3"); // a state of one
	assert_true(s.n == 1 && !s.last.nzeros);
}

static void what_does_not_stand_side_by_side(void **state)
{
	assert_int_equal(READ(FIRST "\x48\x89\x50\x10\xc3").n, 0); // 16(%rax)
	assert_int_equal(READ(FIRST "\x48\x89\x53\x08\xc3").n, 0); // 8(%rbx)
	assert_int_equal(READ(FIRST "\x89\x50\x08\xc3").n, 0);     // four bytes of it
	assert_int_equal(READ(FIRST "\x48\x89\x70\x08\xc3").n, 0); // another register
}

static void a_register_that_was_written_leads_elsewhere(void **state)
{
	assert_int_equal(READ(FIRST "\x48\x89\xd8\x48\x89\x50\x08\xc3").n, 0);             // mov %rbx,%rax
	assert_int_equal(READ(FIRST "\xe8\x00\x00\x00\x00\x48\x89\x50\x08\xc3").n, 0);     // a call
	assert_int_equal(READ(FIRST "\x48\x83\xc2\x01\x48\x89\x50\x08\xc3").n, 0);         // add $1,%rdx
	struct seen s = READ(FIRST "\x48\x89\x50\x08\x48\x89\xd8\xc6\x40\x28\x00\xc3");    // another object's state
	assert_true(s.n == 1 && !s.last.nzeros);
}

static void it_ends_with_what_is_no_code(void **state)
{
	assert_int_equal(READ(FIRST "\x06\x48\x89\x50\x08").n, 0);
	assert_int_equal(READ("").n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_functions_and_a_state_of_zero),
		cmocka_unit_test(what_does_not_stand_side_by_side),
		cmocka_unit_test(a_register_that_was_written_leads_elsewhere),
		cmocka_unit_test(it_ends_with_what_is_no_code),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
