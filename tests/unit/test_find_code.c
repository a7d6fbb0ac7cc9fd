// SPDX-License-Identifier: MIT
//
// What src/find reads out of machine code that was written by hand: calls before a return address, stubs, what a scan meets.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_image.h"
#include "find/code.h"

static struct fake_image f;

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	return 0;
}

static int close_image(void **state)
{
	fake_image_close(&f);
	return 0;
}

// Puts the bytes right before `back`, with something that is no call before them.
static void before(uint64_t back, const unsigned char *bytes, size_t n)
{
	static const unsigned char none[7] = {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90};
	fake_put(&f, back - sizeof(none), none, sizeof(none));
	fake_put(&f, back - n, bytes, n);
}

static void a_direct_call_names_its_function(void **state)
{
	uint64_t target, back = fake_leads(&f, fake_function(&f, 2) + 16, FAKE_CALL, fake_function(&f, 5));
	assert_true(code_call_before(&f.image, back, &target));
	assert_int_equal(target, fake_function(&f, 5));
	// One that would lead to data is none.
	back = fake_leads(&f, fake_function(&f, 2) + 16, FAKE_CALL, (uintptr_t)f.data);
	assert_false(code_call_before(&f.image, back, &target));
	assert_int_equal(target, 0);
}

static void a_call_by_a_slot_names_what_it_holds(void **state)
{
	uint64_t target, back = fake_function(&f, 3) + 32, held = fake_function(&f, 9);
	int32_t far = (int32_t)((uintptr_t)f.data + 40 - back);
	unsigned char call[6] = {0xff, 0x15};
	memcpy(call + 2, &far, 4);
	memcpy(f.data + 40, &held, 8);
	before(back, call, sizeof(call));
	assert_true(code_call_before(&f.image, back, &target));
	assert_int_equal(target, held);
}

static void an_indirect_call_is_one_and_names_nothing(void **state)
{
	static const struct {
		unsigned char bytes[7];
		size_t n;
		bool is;
	} calls[] = {
		{{0xff, 0xd0}, 2, true},                               // *%rax
		{{0x41, 0xff, 0xd4}, 3, true},                         // *%r12
		{{0xff, 0x10}, 2, true},                               // *(%rax)
		{{0xff, 0x50, 0x18}, 3, true},                         // *24(%rax)
		{{0xff, 0x54, 0x24, 0x08}, 4, true},                   // *8(%rsp)
		{{0xff, 0x90, 0x00, 0x01, 0x00, 0x00}, 6, true},       // *256(%rax)
		{{0xff, 0x94, 0xc8, 0x00, 0x01, 0x00, 0x00}, 7, true}, // *256(%rax,%rcx,8)
		{{0xff, 0xe0}, 2, false},                              // jmp *%rax
		{{0xff, 0x30}, 2, false},                              // push (%rax)
		{{0xff, 0x50}, 2, false},                              // cut off before its displacement
		{{0x89, 0xd0}, 2, false},                              // mov %edx, %eax
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		uint64_t target = 1, back = fake_function(&f, 7) + 32;
		before(back, calls[i].bytes, calls[i].n);
		assert_int_equal(code_call_before(&f.image, back, &target), calls[i].is);
		assert_int_equal(target, 0);
	}
}

static void nothing_is_read_before_the_mapping(void **state)
{
	uint64_t target;
	assert_false(code_call_before(&f.image, (uintptr_t)f.code + FAKE_PAGE + 64, &target));
	assert_int_equal(code_through_stub(&f.image, (uintptr_t)f.code + FAKE_PAGE), (uintptr_t)f.code + FAKE_PAGE);
}

static void stubs_lead_on(void **state)
{
	static const unsigned char forms[][6] = {{0xff, 0x25}, {0xf2, 0xff, 0x25}, {0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25},
						 {0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff}};
	static const size_t lengths[] = {2, 3, 6, 6};
	uint64_t held = fake_function(&f, 11), at = fake_function(&f, 20);
	memcpy(f.data + 64, &held, 8);
	for (size_t i = 0; i < 4; i++) {
		uint64_t end = fake_put(&f, at, forms[i], lengths[i]);
		if (i == 3)
			end = fake_put(&f, end, "\x25", 1);
		int32_t far = (int32_t)((uintptr_t)f.data + 64 - (end + 4));
		fake_put(&f, end, &far, 4);
		assert_int_equal(code_through_stub(&f.image, at), held);
	}
	assert_int_equal(code_through_stub(&f.image, fake_function(&f, 30)), fake_function(&f, 30));
}

struct met {
	unsigned kinds[CODE_LABEL + 1];
	struct code_hit last;
};

static void meet(void *ctx, const struct code_hit *h)
{
	struct met *m = ctx;
	m->kinds[h->kind]++;
	m->last = *h;
}

static struct met scan(unsigned wanted)
{
	struct met m = {.kinds = {0}};
	const struct code_visitor v = {&m, wanted, meet};
	assert_int_equal(code_scan(&f.image, &f.object, &v), 0);
	return m;
}

static void a_scan_meets_what_is_wanted(void **state)
{
	uint64_t at = fake_function(&f, 40);
	struct met m = scan(1u << CODE_CALL | 1u << CODE_JUMP);
	assert_int_equal(m.kinds[CODE_CALL] + m.kinds[CODE_JUMP], 0);
	uint64_t next = fake_leads(&f, at, FAKE_JUMP, fake_function(&f, 1));
	m = scan(1u << CODE_JUMP);
	assert_int_equal(m.kinds[CODE_JUMP], 1);
	assert_true(m.last.at == at && m.last.next == next && m.last.target == fake_function(&f, 1));
	m = scan(1u << CODE_CALL | 1u << CODE_CALL_SLOT);
	assert_int_equal(m.kinds[CODE_JUMP] + m.kinds[CODE_CALL] + m.kinds[CODE_CALL_SLOT], 0);
	// At the very end, too.
	next = fake_leads(&f, (uintptr_t)f.code + FAKE_PAGE - 5, FAKE_CALL, at);
	m = scan(1u << CODE_CALL);
	assert_true(m.kinds[CODE_CALL] == 1 && m.last.next == next && m.last.target == at);
}

static void a_label_is_one_that_is_stored_soon(void **state)
{
	// lea 0x100(%rip), %rax; mov %rax, 0x38(%rdi)
	static const unsigned char label[] = {0x48, 0x8d, 0x05, 0x00, 0x01, 0x00, 0x00, 0x48, 0x89, 0x47, 0x38};
	uint64_t at = fake_function(&f, 44);
	fake_put(&f, at, label, sizeof(label));
	struct met m = scan(1u << CODE_LABEL);
	assert_int_equal(m.kinds[CODE_LABEL], 1);
	assert_true(m.last.at == at && m.last.target == at + 7 + 0x100 && m.last.off == 0x38);
	fake_put(&f, at + 9, "\x4f", 1); // another register is stored
	assert_int_equal(scan(1u << CODE_LABEL).kinds[CODE_LABEL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_direct_call_names_its_function, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_call_by_a_slot_names_what_it_holds, open_image, close_image),
		cmocka_unit_test_setup_teardown(an_indirect_call_is_one_and_names_nothing, open_image, close_image),
		cmocka_unit_test_setup_teardown(nothing_is_read_before_the_mapping, open_image, close_image),
		cmocka_unit_test_setup_teardown(stubs_lead_on, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_scan_meets_what_is_wanted, open_image, close_image),
		cmocka_unit_test_setup_teardown(a_label_is_one_that_is_stored_soon, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
