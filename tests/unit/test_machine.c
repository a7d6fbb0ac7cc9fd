// SPDX-License-Identifier: MIT
//
// Code that is run on what is known: values, flags, and whose field they were made of.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "frames/alu.h"
#include "frames/machine.h"

enum { CODE = 0x1000 };

struct code {
	const uint8_t *bytes;
	size_t n;
};

static size_t peek(void *ctx, uint64_t at, void *to, size_t bytes)
{
	const struct code *c = ctx;
	if (at < CODE || at >= CODE + c->n)
		return 0;
	size_t n = CODE + c->n - at < bytes ? CODE + c->n - at : bytes;
	memcpy(to, c->bytes + (at - CODE), n);
	return n;
}

static struct machine m;
static struct code code;

static void load(const char *bytes, size_t n)
{
	code = (struct code){(const uint8_t *)bytes, n};
	m = (struct machine){.peek = peek, .ctx = &code};
	machine_begin(&m, CODE);
}
#define LOAD(bytes) load(bytes, sizeof(bytes) - 1)

static enum machine_step steps(unsigned n, struct machine_value *by)
{
	enum machine_step s = MACHINE_ON;
	while (n-- && (s == MACHINE_ON || s == MACHINE_BRANCHED))
		s = machine_step(&m, by);
	return s;
}

static void a_branch_on_a_field_that_is_not_known(void **state)
{
	struct machine_value by;
	(void)state;
	LOAD("\x0f\xb7\x47\x2c\x83\xe0\x01\x74\x05"); // movzwl 0x2c(%rdi),%eax; and $1,%eax; je
	assert_int_equal(steps(3, &by), MACHINE_UNDECIDED);
	assert_int_equal(by.of.offset, 0x2c);
	assert_int_equal(by.of.width, 2);
	assert_false(by.mixed);
}

static void a_branch_on_two_fields(void **state)
{
	struct machine_value by;
	(void)state;
	LOAD("\x8b\x47\x20\x3b\x47\x24\x74\x05"); // mov 0x20(%rdi),%eax; cmp 0x24(%rdi),%eax; je
	assert_int_equal(steps(3, &by), MACHINE_UNDECIDED);
	assert_true(by.mixed);
}

static void a_field_that_is_known_goes_through_the_stack(void **state)
{
	struct machine_value by;
	(void)state;
	// push %rbp; mov %rsp,%rbp; mov %rdi,-8(%rbp); mov -8(%rbp),%rax; mov 0x28(%rax),%al; cmp $1,%al; je
	// +0x10
	LOAD("\x55\x48\x89\xe5\x48\x89\x7d\xf8\x48\x8b\x45\xf8\x8a\x40\x28\x3c\x01\x74\x10");
	m.field = (struct machine_field){0x28, 1};
	m.value = 1;
	assert_int_equal(steps(7, &by), MACHINE_BRANCHED);
	assert_int_equal(m.pc, CODE + 19 + 0x10);
	assert_int_equal(by.of.offset, 0x28);
}

static void vectors_do_not_matter(void **state)
{
	struct machine_value by;
	(void)state;
	LOAD("\x0f\x10\x07\x0f\x11\x44\x24\xf0\xb8\x07\x00\x00\x00\xc3"); // movups twice; mov $7,%eax; ret
	assert_int_equal(steps(3, &by), MACHINE_ON);
	assert_true(m.r[0].known && m.r[0].v == 7);
	assert_int_equal(steps(1, &by), MACHINE_ENDS);
}

static void what_is_not_known_ends_it(void **state)
{
	struct machine_value by;
	(void)state;
	LOAD("\x0f\xa2"); // cpuid
	assert_int_equal(steps(1, &by), MACHINE_UNKNOWN);
	LOAD("\x0f\x7e\xc0"); // movd %xmm0,%eax
	assert_int_equal(steps(1, &by), MACHINE_UNKNOWN);
	LOAD("\x06");
	assert_int_equal(steps(1, &by), MACHINE_UNKNOWN);
}

static void a_part_of_what_was_stored(void **state)
{
	struct machine_value by;
	(void)state;
	// movl $0x01020304,-8(%rsp); movzwl -8(%rsp),%eax; movzwl -6(%rsp),%ecx: of the second nothing is
	// known
	LOAD("\xc7\x44\x24\xf8\x04\x03\x02\x01\x0f\xb7\x44\x24\xf8\x0f\xb7\x4c\x24\xfa");
	assert_int_equal(steps(3, &by), MACHINE_ON);
	assert_true(m.r[0].known && m.r[0].v == 0x304);
	assert_false(m.r[1].known);
}

// Every condition, by comparing numbers that C compares as well.
static void conditions(void **state)
{
	static const uint64_t v[] = {0, 1, 2, 0x7f, 0x80, 0xff};
	struct machine_flags f;
	(void)state;
	for (size_t i = 0; i < 6; i++)
		for (size_t k = 0; k < 6; k++) {
			const struct machine_value a = {.known = true, .v = v[i]},
						   b = {.known = true, .v = v[k]};
			int8_t x = (int8_t)v[i], y = (int8_t)v[k];
			alu_two(ALU_CMP, &a, &b, 1, &f);
			const bool right[] = {(int8_t)(x - y) != x - y, v[i] < v[k], x == y, v[i] <= v[k],
					      (int8_t)(x - y) < 0,      false,       x < y,  x <= y};
			for (unsigned c = 0; c < 16; c++) {
				bool holds;
				if (c >> 1 == 5)
					assert_false(alu_condition(&f, c, &holds));
				else
					assert_true(alu_condition(&f, c, &holds) &&
						    holds == (right[c >> 1] != (c & 1)));
			}
		}
}

static void bits_and_shifts(void **state)
{
	const struct machine_value mask = {.known = true, .v = 0x2aa}, nine = {.known = true, .v = 9},
				   eight = {.known = true, .v = 8};
	struct machine_flags f;
	bool holds;
	(void)state;
	alu_bit(&mask, &nine, 8, &f);
	assert_true(alu_condition(&f, 2, &holds) && holds);
	alu_bit(&mask, &eight, 8, &f);
	assert_true(alu_condition(&f, 2, &holds) && !holds);
	assert_false(alu_condition(&f, 4, &holds)); // bt leaves the others as they were
	assert_int_equal(alu_shift(5, &mask, &nine, 8, &f).v, 1);
	assert_int_equal(alu_extend(0x80, 1), (uint64_t)-128);
	assert_int_equal(alu_cut(0x12345, 2), 0x2345);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_branch_on_a_field_that_is_not_known),
		cmocka_unit_test(a_branch_on_two_fields),
		cmocka_unit_test(a_field_that_is_known_goes_through_the_stack),
		cmocka_unit_test(vectors_do_not_matter),
		cmocka_unit_test(what_is_not_known_ends_it),
		cmocka_unit_test(a_part_of_what_was_stored),
		cmocka_unit_test(conditions),
		cmocka_unit_test(bits_and_shifts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
