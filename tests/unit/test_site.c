// SPDX-License-Identifier: MIT
//
// A recorded stack and the name of an address, out of tables that the program may have spoiled.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <string.h>

#include "engine/inspect/site.h"

static uint32_t at[4] = {0, 1, 5, 100};
static uint64_t words[8] = {3, 0x1010, 0x1020, 0x1030, 7, 0x1040, 0x1050, 0x1060}; // the second claims more than there is
static struct ctp_module modules[2] = {{.ready = 1, .base = 0x1000, .start = 0x1000, .end = 0x2000, .path = "/usr/bin/server"}};
static struct ctp_ext ext = {.module_count = 9};
static const struct ctp_region r = {.ext = &ext, .modules = modules, .modules_max = 2, .stack_index = at, .stacks_max = 4,
				    .stack_words = words, .stack_words_max = 8};

static void stacks_are_bounded(void **state)
{
	uint64_t pcs[8];
	(void)state;
	assert_int_equal(site_pcs(&r, 1, pcs, 8), 3);
	assert_int_equal(pcs[0], 0x1010);
	assert_int_equal(pcs[2], 0x1030);
	assert_int_equal(site_pcs(&r, 1, pcs, 2), 2);
	assert_int_equal(site_pcs(&r, 2, pcs, 8), 3);
	assert_int_equal(site_pcs(&r, 0, pcs, 8), 0);
	assert_int_equal(site_pcs(&r, 3, pcs, 8), 0);
	assert_int_equal(site_pcs(&r, 4, pcs, 8), 0);
}

static void names_are_of_the_module(void **state)
{
	char name[64];
	(void)state;
	site_name(&r, 0x1234, name, sizeof(name));
	assert_string_equal(name, "server+0x234");
	site_name(&r, 0x2000, name, sizeof(name));
	assert_string_equal(name, "");
	site_name(&r, 0, name, sizeof(name));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_are_bounded),
		cmocka_unit_test(names_are_of_the_module),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
