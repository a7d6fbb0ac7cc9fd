// SPDX-License-Identifier: MIT
//
// Behind which calls a coroutine may be suspended: those of a switch, by whatever way it is called, and no others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_image.h"
#include "find/sites.h"

// push %rbp, %rbx, %r12 to %r15; mov %rsp, (%rdi); mov (%rsi), %rsp; pops; ret
static const unsigned char pushes[] = {0x55, 0x53, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57, 0x48, 0x89, 0x27, 0x48,
				       0x8b, 0x26, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};
// mov reg, off(%rdi); lea 8(%rsp), %rdx; mov %rdx, 0x30(%rdi); mov (%rsp), %rax; mov %rax, 0x38(%rdi); xor %rax, %rax; ret
static const unsigned char saves[] = {0x48, 0x89, 0x1f, 0x48, 0x89, 0x6f, 0x08, 0x4c, 0x89, 0x67, 0x10, 0x4c, 0x89, 0x6f, 0x18,
				      0x4c, 0x89, 0x77, 0x20, 0x4c, 0x89, 0x7f, 0x28, 0x48, 0x8d, 0x54, 0x24, 0x08, 0x48, 0x89,
				      0x57, 0x30, 0x48, 0x8b, 0x04, 0x24, 0x48, 0x89, 0x47, 0x38, 0x48, 0x31, 0xc0, 0xc3};
// mov 0x38(%rdi), %rdx; mov 0x30(%rdi), %rsp; jmp *%rdx
static const unsigned char restores[] = {0x48, 0x8b, 0x57, 0x38, 0x48, 0x8b, 0x67, 0x30, 0xff, 0xe2};

enum { SWITCH = 3, JUMPER = 6, PLAIN = 10, SAVE = 20, RESTORE, FAR = 40 };

static struct fake_image f;
static struct sites s;

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	fake_put(&f, fake_function(&f, SWITCH), pushes, sizeof(pushes));
	return 0;
}

static int close_image(void **state)
{
	sites_deinit(&s);
	fake_image_close(&f);
	return 0;
}

static uint64_t call(int from, int to)
{
	return fake_leads(&f, fake_function(&f, from) + 8, FAKE_CALL, fake_function(&f, to));
}

static const struct site_engine *engine_behind(uint64_t addr)
{
	return sites_engine(&s, addr);
}

static void behind_a_call_of_a_switch(void **state)
{
	uint64_t is = call(5, SWITCH), other = call(7, PLAIN);
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_int_equal(s.n, 1);
	assert_non_null(engine_behind(is));
	assert_int_equal(engine_behind(is)->kind, SITE_ASSEMBLY);
	assert_int_equal(engine_behind(is)->function, fake_function(&f, SWITCH));
	assert_int_equal(engine_behind(is)->recipe.regs[CTP_REG_PC].off, 48);
	assert_null(engine_behind(other));
	assert_null(engine_behind(is - 5));
}

// A call into the middle of a switch function saves something else.
static void not_into_its_middle(void **state)
{
	uint64_t is = fake_leads(&f, fake_function(&f, 5) + 8, FAKE_CALL, fake_function(&f, SWITCH) + 1);
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_null(engine_behind(is));
}

static void behind_a_call_of_what_jumps_to_it(void **state)
{
	uint64_t is = call(5, JUMPER), behind = call(7, JUMPER); // the first one is met before the jump
	fake_leads(&f, fake_function(&f, JUMPER) + 20, FAKE_JUMP, fake_function(&f, SWITCH));
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_non_null(engine_behind(is));
	assert_non_null(engine_behind(behind));
	assert_int_equal(engine_behind(is)->function, fake_function(&f, SWITCH));
}

static void behind_a_call_by_a_slot(void **state)
{
	uint64_t held = fake_function(&f, SWITCH), at = fake_function(&f, 8) + 8;
	memcpy(f.data + 64, &held, 8);
	int32_t far = (int32_t)((uintptr_t)f.data + 64 - (at + 6));
	fake_put(&f, fake_put(&f, at, "\xff\x15", 2), &far, 4);
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_non_null(engine_behind(at + 6));
	sites_deinit(&s);
	held = fake_function(&f, PLAIN);
	memcpy(f.data + 64, &held, 8);
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_null(engine_behind(at + 6));
}

// Only near what restores: alone it may be anything.
static void behind_a_call_of_what_saves(void **state)
{
	uint64_t is = call(5, SAVE), far = call(7, FAR);
	fake_put(&f, fake_function(&f, SAVE), saves, sizeof(saves));
	fake_put(&f, fake_function(&f, FAR), saves, sizeof(saves));
	fake_put(&f, fake_function(&f, RESTORE), restores, sizeof(restores));
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_non_null(engine_behind(is));
	assert_true(engine_behind(is)->recipe.returns);
	assert_null(engine_behind(far));
}

static void a_label_is_stored_where_the_address_is_saved(void **state)
{
	// lea 0x40(%rip), %rax; mov %rax, 0x30(%rdi)
	static const unsigned char label[] = {0x48, 0x8d, 0x05, 0x40, 0x00, 0x00, 0x00, 0x48, 0x89, 0x47, 0x30};
	uint64_t at = fake_function(&f, 30);
	call(5, SWITCH);
	fake_put(&f, at, label, sizeof(label));
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_int_equal(s.nlabels, 1);
	assert_int_equal(s.labels[0].addr, at + 7 + 0x40);
	sites_deinit(&s);
	fake_put(&f, at + 10, "\x38", 1); // elsewhere
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_int_equal(s.nlabels, 0);
}

static void without_a_switch_there_is_none(void **state)
{
	memset(f.code, 0x90, FAKE_PAGE);
	call(5, PLAIN);
	assert_int_equal(sites_find(&s, &f.objects), 0);
	assert_int_equal(s.n + s.nlabels + s.nstarts + s.nengines, 0);
	assert_false(sites_is_start(&s, fake_function(&f, 1)));
	assert_false(sites_is_leave(&s, fake_function(&f, 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(behind_a_call_of_a_switch, open_image, close_image),
		cmocka_unit_test_setup_teardown(not_into_its_middle, open_image, close_image),
		cmocka_unit_test_setup_teardown(behind_a_call_of_what_jumps_to_it, open_image, close_image),
		cmocka_unit_test_setup_teardown(behind_a_call_by_a_slot, open_image, close_image),
		cmocka_unit_test_setup_teardown(behind_a_call_of_what_saves, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_label_is_stored_where_the_address_is_saved, open_image, close_image),
		cmocka_unit_test_setup_teardown(without_a_switch_there_is_none, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
