// SPDX-License-Identifier: MIT
//
// Lengths and operands of instructions, as the assembler writes them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "frames/x86.h"

static const struct {
	const char *bytes;
	unsigned n;
	const char *what;
} known[] = {
	{"\x90", 1, "nop"},
	{"\xf3\x0f\x1e\xfa", 4, "endbr64"},
	{"\x0f\xb7\x47\x2c", 4, "movzwl 0x2c(%rdi),%eax"},
	{"\x66\xc7\x43\x2c\x04\x00", 6, "movw $4,0x2c(%rbx)"},
	{"\xc6\x43\x2c\x02", 4, "movb $2,0x2c(%rbx)"},
	{"\x48\xc7\x03\x00\x00\x00\x00", 7, "movq $0,(%rbx)"},
	{"\x48\x63\x04\x82", 4, "movslq (%rdx,%rax,4),%rax"},
	{"\x48\x8d\x15\x47\x0a\x00\x00", 7, "lea 0xa47(%rip),%rdx"},
	{"\xff\xe0", 2, "jmp *%rax"},
	{"\x3e\xff\xe0", 3, "notrack jmp *%rax"},
	{"\x48\xb8\x01\x02\x03\x04\x05\x06\x07\x08", 10, "movabs $0x807060504030201,%rax"},
	{"\x66\xb8\x04\x00", 4, "mov $4,%ax"},
	{"\x0f\x84\x10\x00\x00\x00", 6, "je"},
	{"\xf6\x47\x2c\x01", 4, "testb $1,0x2c(%rdi)"},
	{"\xf7\xd8", 2, "neg %eax"},
	{"\xc5\xf8\x77", 3, "vzeroupper"},
	{"\xc5\xfa\x7f\x44\x24\x10", 6, "vmovdqu %xmm0,0x10(%rsp)"},
	{"\xc4\xe2\x7d\x18\x05\x01\x00\x00\x00", 9, "vbroadcastss 1(%rip),%ymm0"},
	{"\x62\xf1\xfe\x48\x6f\x07", 6, "vmovdqu64 (%rdi),%zmm0"},
	{"\x66\x0f\x3a\x0f\xc1\x08", 6, "palignr $8,%xmm1,%xmm0"},
	{"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, "nopw"},
	{"\xc8\x10\x00\x01", 4, "enter $0x10,$1"},
	{"\xa1\x01\x02\x03\x04\x05\x06\x07\x08", 9, "movabs 0x807060504030201,%eax"},
};

static void lengths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		uint8_t b[32];
		struct x86 x;
		memset(b, 0x90, sizeof(b));
		memcpy(b, known[i].bytes, known[i].n);
		if (!x86_decode(b, sizeof(b), &x) || x.length != known[i].n)
			fail_msg("%s: %u bytes", known[i].what, x.length);
		for (unsigned n = 0; n < known[i].n; n++) // cut off, it is none: never read behind the end
			assert_false(x86_decode(b, n, &x));
	}
}

static void operands(void **state)
{
	struct x86 x;
	(void)state;
	assert_true(
		x86_decode((const uint8_t *)"\x66\x41\xc7\x44\x24\x2c\x04\x00", 8, &x)); // movw $4,0x2c(%r12)
	assert_true(x.memory && x.base == 12 && x.index == X86_NO_REGISTER && x.displacement == 0x2c);
	assert_int_equal(x.size, 2);
	assert_int_equal(x.immediate, 4);
	assert_true(x86_decode((const uint8_t *)"\x4a\x8b\x44\xe8\xf8", 5, &x)); // mov -8(%rax,%r13,8),%rax
	assert_true(x.base == 0 && x.index == 13 && x.scale == 8 && x.displacement == -8 && x.size == 8);
	assert_true(x86_decode((const uint8_t *)"\x64\x48\x8b\x04\x25\x28\x00\x00\x00", 9,
			       &x)); // mov %fs:0x28,%rax
	assert_true(x.segment && x.base == X86_NO_REGISTER && !x.rip);
	assert_true(x86_decode((const uint8_t *)"\xeb\xfe", 2, &x)); // jmp to itself
	assert_int_equal(x.immediate, -2);
}

static void what_is_no_instruction(void **state)
{
	struct x86 x;
	(void)state;
	assert_false(x86_decode((const uint8_t *)"\x06\x90\x90", 3, &x)); // not in 64-bit mode
	assert_false(x86_decode((const uint8_t *)"\x67\x8b\x00", 3, &x)); // 32-bit addresses
	assert_false(x86_decode(
		(const uint8_t *)"\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x90", 16, &x));
	assert_false(x86_decode((const uint8_t *)"", 0, &x));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lengths),
		cmocka_unit_test(operands),
		cmocka_unit_test(what_is_no_instruction),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
