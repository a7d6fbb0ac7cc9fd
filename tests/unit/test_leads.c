// SPDX-License-Identifier: MIT
//
// To which coroutine the data of an epoll registration leads: two of them, each with a stack and a control block.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_image.h"
#include "find/leads.h"

enum { BLOCK = 0x100, OTHER_BLOCK = 0x200, STACK = 0x400, OTHER_STACK = 0x800, STACK_BYTES = 0x400, HOLDER = 0x300, SECOND = HOLDER + 0x80 };

static struct fake_image f;
static struct context v[2];
static struct contexts c;

static uint64_t at(unsigned offset)
{
	return (uintptr_t)f.data + offset;
}

static void hold(unsigned offset, uint64_t word)
{
	memcpy(f.data + offset, &word, sizeof(word));
}

static int open_image(void **state)
{
	fake_image_open(&f, "/bin/fake");
	v[0] = (struct context){.id = at(BLOCK), .lo = at(STACK), .hi = at(STACK + STACK_BYTES)};
	v[1] = (struct context){.id = at(OTHER_BLOCK), .lo = at(OTHER_STACK), .hi = at(OTHER_STACK + STACK_BYTES)};
	c = (struct contexts){.image = &f.image, .v = v, .n = 2};
	return 0;
}

static int close_image(void **state)
{
	fake_image_close(&f);
	return 0;
}

static uint32_t leads(uint64_t data)
{
	uint32_t to;
	assert_int_equal(leads_find(&c, &data, 1, &to), 0);
	return to;
}

static void to_its_control_block_or_its_stack(void **state)
{
	assert_int_equal(leads(at(BLOCK)), 0);
	assert_int_equal(leads(at(BLOCK + 24)), 0);
	assert_int_equal(leads(at(OTHER_BLOCK)), 1);
	assert_int_equal(leads(at(STACK)), 0);
	assert_int_equal(leads(at(STACK + STACK_BYTES - 1)), 0);
	assert_int_equal(leads(at(OTHER_STACK + 8)), 1);
	assert_int_equal(leads(at(OTHER_STACK + STACK_BYTES)), LEADS_NOWHERE);
	assert_int_equal(leads(at(BLOCK - 72)), LEADS_NOWHERE);
}

static void through_what_it_points_to(void **state)
{
	assert_int_equal(leads(at(HOLDER)), LEADS_NOWHERE);
	hold(HOLDER + 16, at(OTHER_BLOCK));
	assert_int_equal(leads(at(HOLDER)), 1);
	hold(HOLDER + 32, at(OTHER_STACK + 64)); // the same one again
	assert_int_equal(leads(at(HOLDER)), 1);
	hold(HOLDER + 40, at(STACK + 64)); // two of them: nobody's
	assert_int_equal(leads(at(HOLDER)), LEADS_NOWHERE);
	hold(SECOND + 120, at(BLOCK)); // as far as is looked
	hold(SECOND + 128, at(OTHER_BLOCK));
	assert_int_equal(leads(at(SECOND)), 0);
}

static void numbers_lead_nowhere(void **state)
{
	const uint64_t data[] = {0, 7, UINT32_MAX, UINT64_MAX, at(STACK) + (1ULL << 46), (uintptr_t)f.code};
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++)
		assert_int_equal(leads(data[i]), LEADS_NOWHERE);
}

static void many_at_once(void **state)
{
	const uint64_t data[] = {at(OTHER_STACK), 3, at(BLOCK), at(STACK + 16)};
	uint32_t to[4];
	assert_int_equal(leads_find(&c, data, 4, to), 0);
	assert_true(to[0] == 1 && to[1] == LEADS_NOWHERE && to[2] == 0 && to[3] == 0);
	assert_int_equal(leads_find(&c, data, 0, to), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(to_its_control_block_or_its_stack, open_image, close_image),
		cmocka_unit_test_setup_teardown(through_what_it_points_to, open_image, close_image),
		cmocka_unit_test_setup_teardown(numbers_lead_nowhere, open_image, close_image),
		cmocka_unit_test_setup_teardown(many_at_once, open_image, close_image),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
