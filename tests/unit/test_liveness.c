// SPDX-License-Identifier: MIT
//
// Which registers a function will not use again, and where exceptions go on in it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "find/liveness.h"
#include "find/pads.h"

enum { BX = 3, BP = 5, R12 = 12, R13 = 13, LO = 0x1000, FAR = 0x9000 };

static struct liveness_code parts[2];

static const struct liveness_code *part_at(void *ctx, uint64_t addr)
{
	for (int i = 0; i < 2; i++)
		if (addr - parts[i].lo < parts[i].n)
			return &parts[i];
	return NULL;
}

static bool is_dead_at(size_t offset, unsigned number)
{
	const struct liveness_reader r = {NULL, part_at};
	return liveness_is_dead(&r, LO + offset, number);
}

#define IS_DEAD(code, offset, number) \
	(parts[0] = (struct liveness_code){.lo = LO, .bytes = code, .n = sizeof(code)}, parts[1].n = 0, is_dead_at(offset, number))

// 0: call; 5: test %eax,%eax; 7: jle 0; 9: xor %ebx,%ebx; 11: mov (%rsp,%rbx,1),%rax; 15: call *(%r12);
// 19: add $12,%rbx; 23: cmp %rbx,%rbp; 26: jne 11; 28: jmp 0
static const uint8_t loop[] = {0xe8, 0, 0, 0, 0, 0x85, 0xc0, 0x7e, 0xf7, 0x31, 0xdb, 0x48, 0x8b, 0x04, 0x1c,
			       0x41, 0xff, 0x14, 0x24, 0x48, 0x83, 0xc3, 0x0c, 0x48, 0x39, 0xdd, 0x75, 0xef, 0xeb, 0xe2};

static void what_is_set_anew_each_turn_is_dead(void **state)
{
	assert_true(IS_DEAD(loop, 5, BX));
	assert_true(IS_DEAD(loop, 5, BP)); // it is compared, and leads nowhere
	assert_true(IS_DEAD(loop, 5, R13));
	assert_false(IS_DEAD(loop, 5, R12)); // what it points to is called
	assert_false(IS_DEAD(loop, 11, BX)); // it is an index there
}

static void what_the_caller_gets_back_is_popped(void **state)
{
	static const uint8_t pops[] = {0x5b, 0x41, 0x5c, 0xc3}; // pop %rbx; pop %r12; ret
	static const uint8_t leaves[] = {0x5b, 0xc9, 0xc3};     // pop %rbx; leave; ret
	static const uint8_t pushes[] = {0x53, 0x5b, 0xc3};
	assert_true(IS_DEAD(pops, 0, BX));
	assert_true(IS_DEAD(pops, 0, R12));
	assert_false(IS_DEAD(pops, 0, R13));
	assert_false(IS_DEAD(leaves, 0, BP));
	assert_false(IS_DEAD(pushes, 0, BX));
}

static void each_use_counts(void **state)
{
	static const uint8_t all[][8] = {
		{0x48, 0x89, 0xdf, 0x5b, 0xc3},	      // mov %rbx,%rdi
		{0x48, 0x89, 0x1c, 0x24, 0x5b, 0xc3}, // mov %rbx,(%rsp)
		{0x48, 0x8b, 0x1b, 0x5b, 0xc3},	      // mov (%rbx),%rbx
		{0x48, 0x8d, 0x5b, 0x08, 0x5b, 0xc3}, // lea 8(%rbx),%rbx
		{0x48, 0x3b, 0x03, 0x5b, 0xc3},	      // cmp (%rbx),%rax
		{0x48, 0x83, 0x3b, 0x00, 0x5b, 0xc3}, // cmpq $0,(%rbx)
		{0xff, 0xd3, 0x5b, 0xc3},	      // call *%rbx
		{0x48, 0x93, 0x5b, 0xc3},	      // xchg %rax,%rbx
		{0x0f, 0xa2, 0x5b, 0xc3},	      // cpuid
		{0x66, 0xbb, 1, 0, 0x0f, 0x0b},	      // mov $1,%bx: the rest stays
		{0x0f, 0xb6, 0xc7, 0x5b, 0xc3},	      // movzbl %bh,%eax
		{0xff, 0xe0},			      // jmp *%rax: anywhere
		{0x75, 0x40, 0x5b, 0xc3},	      // jne into what is not known
		{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90},
	};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		assert_false(IS_DEAD(all[i], 0, BX));
}

static void other_parts_of_the_function_are_followed(void **state)
{
	static const uint8_t hot[] = {0xe8, 0, 0, 0, 0, 0x0f, 0x85, 0xf5, 0x7f, 0, 0, 0x5b, 0xc3}; // jne FAR; pop %rbx; ret
	static const uint8_t uses[] = {0x48, 0x89, 0xdf, 0xe8, 0, 0, 0, 0}, ends[] = {0xe8, 0, 0, 0, 0};
	const uint64_t pad = FAR;
	assert_false(IS_DEAD(hot, 5, BX)); // that part is not known
	parts[1] = (struct liveness_code){.lo = FAR, .bytes = uses, .n = sizeof(uses)};
	assert_false(is_dead_at(5, BX));
	parts[1] = (struct liveness_code){.lo = FAR, .bytes = ends, .n = sizeof(ends)}; // a call that does not return
	assert_true(is_dead_at(5, BX));
	assert_true(IS_DEAD(hot, 11, BX));
	parts[0].pads = &pad; // an exception goes on there
	parts[0].npads = 1;
	parts[1] = (struct liveness_code){.lo = FAR, .bytes = uses, .n = sizeof(uses)};
	assert_false(is_dead_at(11, BX));
}

static void tables_of_exceptions(void **state)
{
	static const uint8_t table[] = {0xff, 0x9b, 0x11, 0x01, 0x09, 2, 5, 0, 0, 9, 3, 0x90, 0x01, 0, 0x55};
	static const uint8_t wide[] = {0xff, 0xff, 0x03, 0x0d, 2, 0, 0, 0, 5, 0, 0, 0, 0x40, 0, 0, 0, 0};
	uint64_t pads[PADS_MOST];
	size_t n;
	assert_true(pads_read(table, sizeof(table), LO, pads, &n));
	assert_int_equal(n, 1);
	assert_int_equal(pads[0], LO + 0x90);
	assert_true(pads_read(wide, sizeof(wide), LO, pads, &n));
	assert_int_equal(n, 1);
	assert_int_equal(pads[0], LO + 0x40);
	for (size_t cut = 0; cut < sizeof(wide); cut++)
		assert_false(pads_read(wide, cut, LO, pads, &n));
	static const uint8_t based[] = {0x1b, 0, 0, 0, 0, 0xff, 1, 0}, odd[] = {0xff, 0xff, 0x0b, 0};
	assert_false(pads_read(based, sizeof(based), LO, pads, &n));
	assert_true(pads_read(odd, sizeof(odd), LO, pads, &n)); // without a row
	static const uint8_t strange[] = {0xff, 0xff, 0x0b, 1, 0};
	assert_false(pads_read(strange, sizeof(strange), LO, pads, &n));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_anew_each_turn_is_dead),
		cmocka_unit_test(what_the_caller_gets_back_is_popped),
		cmocka_unit_test(each_use_counts),
		cmocka_unit_test(other_parts_of_the_function_are_followed),
		cmocka_unit_test(tables_of_exceptions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
