// SPDX-License-Identifier: MIT
//
// The arguments of USDT probes: what their words mean, and what they are worth.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "engine/target/usdt.h"

static struct usdt_argument one(const char *text)
{
	struct usdt_argument a;
	assert_true(usdt_next(&text, &a));
	assert_int_equal(*text, 0);
	return a;
}

static void arguments_are_told_apart(void **state)
{
	(void)state;
	const char *text = "-4@%edi 8@8(%rsp) 1@(%rax, %rcx, 4) 8f@%xmm0 2@$-7 8@foo+4(%rip) ";
	static const struct {
		unsigned bytes;
		bool is_signed, is_float;
		const char *operand;
	} want[] = { { 4, true, false, "%edi" },  { 8, false, false, "8(%rsp)" }, { 1, false, false, "(%rax, %rcx, 4)" },
		     { 8, false, true, "%xmm0" }, { 2, false, false, "$-7" },	  { 8, false, false, "foo+4(%rip)" } };
	struct usdt_argument a;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		assert_true(usdt_next(&text, &a));
		assert_int_equal(a.bytes, want[i].bytes);
		assert_int_equal(a.is_signed, want[i].is_signed);
		assert_int_equal(a.is_float, want[i].is_float);
		assert_int_equal(a.text_bytes, strlen(want[i].operand));
		assert_memory_equal(a.text, want[i].operand, a.text_bytes);
	}
	assert_false(usdt_next(&text, &a));
	static const char *const bad[] = { "%rax", "3@%rax", "99999999999999999999@%rax", "@", "8", "x@%rax" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(one(bad[i]).bytes, 0);
}

#ifdef __x86_64__
static struct usdt_state state_of(const unsigned char *stack, size_t bytes)
{
	struct usdt_state s = { .stack = stack, .stack_bytes = bytes };
	for (unsigned i = 0; i < USDT_REGISTERS; i++)
		s.regs[i] = 0x1122334455667700 + i;
	s.regs[USDT_SP] = 0x7000;
	return s;
}

static void values(void **state)
{
	(void)state;
	static const unsigned char stack[24] = { 0, 1, 2, 3, 4, 5, 6, 7, 0xf8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 16 };
	struct usdt_state s = state_of(stack, sizeof(stack));
	s.regs[6] = 0x7010; // bp
	s.regs[1] = 2;      // bx
	static const struct {
		const char *argument;
		uint64_t value;
	} want[] = {
		{ "8@%rax", 0x1122334455667700 }, { "4@%ecx", 0x55667702 },	  { "2@%dx", 0x7703 },
		{ "1@%sil", 0x04 },		  { "1@%ah", 0x77 },		  { "-4@%edi", 0x55667705 },
		{ "8@%r8", 0x1122334455667710 },  { "4@%r15d", 0x55667717 },	  { "2@%r9w", 0x7711 },
		{ "1@%r10b", 0x12 },		  { "8@$5", 5 },		  { "-4@$-1", 0xffffffff },
		{ "8@$0xffffffffffffffff", UINT64_MAX }, { "4@(%rsp)", 0x03020100 }, { "-8@8(%rsp)", (uint64_t)-8 },
		{ "1@0(%rbp)", 16 },		  { "2@-16(%rbp)", 0x0100 },	  { "1@(%rsp,%rbx,4)", 0xf8 },
		{ "1@1(%rsp, %rbx, 1)", 3 },
	};
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		struct usdt_argument a = one(want[i].argument);
		uint64_t value = 1234567;
		if (!usdt_value(&a, &s, &value) || value != want[i].value)
			fail_msg("%s is %llx", want[i].argument, (unsigned long long)value);
	}
}

static void what_is_not_known(void **state)
{
	(void)state;
	static const unsigned char stack[16];
	struct usdt_state s = state_of(stack, sizeof(stack));
	static const char *const unknown[] = { "8@foo(%rip)", "8f@%xmm0", "8@%fs:0", "8@%r16", "8@%r7",	   "4@%eax,",
					       "8@(%eax)",    "8@8(%rsp",  "8@",      "8@$x",	"8@16(%rsp)", "8@9(%rsp)",
					       "8@-1(%rsp)",  "8@(%rbx)",  "8@%",     "8@%r8x" };
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		struct usdt_argument a = one(unknown[i]);
		uint64_t value;
		if (usdt_value(&a, &s, &value))
			fail_msg("%s is known", unknown[i]);
	}
}

// What has to be asked for.
static void needs(void **state)
{
	(void)state;
	struct usdt_argument a = one("8@%rdi"), b = one("4@24(%rsp)"), c = one("8@-8(%rbp)"), d = one("8@(%rsp,%rbx,8)"), e = one("8@$1");
	assert_true(usdt_registers(&a) == 1 << 5 && usdt_depth(&a) == 0);
	assert_true(usdt_registers(&b) == 1 << 7 && usdt_depth(&b) == 28);
	assert_true(usdt_registers(&c) == 1 << 6 && usdt_depth(&c) == SIZE_MAX);
	assert_true(usdt_registers(&d) == (1 << 7 | 1 << 1) && usdt_depth(&d) == SIZE_MAX);
	assert_true(usdt_registers(&e) == 0 && usdt_depth(&e) == 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_told_apart),
#ifdef __x86_64__
		cmocka_unit_test(values), cmocka_unit_test(what_is_not_known), cmocka_unit_test(needs),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
