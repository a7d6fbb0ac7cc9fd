// SPDX-License-Identifier: MIT
//
// Where this very program is: asked of a child, and without debug information.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <link.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "engine/session/places.h"

static uint32_t at[3] = {0, 1, 3};
static uint64_t words[4] = {1, 0, 1, 0x10};
static struct ctp_module modules[1];
static struct ctp_ext ext;
static const struct ctp_region r = {.ext = &ext, .modules = modules, .modules_max = 1, .stack_index = at, .stacks_max = 3,
				    .stack_words = words, .stack_words_max = 4};

static int first(struct dl_phdr_info *i, size_t size, void *base)
{
	(void)size;
	*(uint64_t *)base = i->dlpi_addr;
	return 1;
}

static __attribute__((noinline)) uint64_t here(void)
{
	return (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
}

static void know_ourselves(void)
{
	uint64_t base;
	ssize_t n = readlink("/proc/self/exe", modules[0].path, sizeof(modules[0].path) - 1);
	assert_true(n > 0);
	dl_iterate_phdr(first, &base);
	modules[0].base = modules[0].start = base;
	modules[0].end = base + (64UL << 20);
	modules[0].ready = ext.module_count = 1;
	words[1] = here();
}

static void a_child_tells_file_and_line(void **state)
{
	const struct ctp_state s = {.stack = 1}, nowhere = {.stack = 2}, none = {0};
	struct places p;
	char text[PLACES_TEXT];
	const char *said;
	(void)state;
	know_ourselves();
	places_init(&p, &r, getpid());
	places_plain(&p, &s, text, sizeof(text));
	assert_non_null(strstr(text, "test_places+0x"));
	assert_null(places_of(&p, &nowhere));
	while (!(said = places_of(&p, &s))) {
		places_turn(&p);
		if (p.looks)
			poll(&(struct pollfd){.fd = p.from, .events = POLLIN}, 1, -1);
	}
	assert_non_null(strstr(said, "test_places.c:"));
	places_plain(&p, &s, text, sizeof(text));
	assert_string_equal(text, said);
	assert_non_null(places_of(&p, &nowhere)); // in no module: there is nothing to say but the address
	assert_null(places_of(&p, &none));        // one that is asked for later, and never told
	places_turn(&p);
	places_deinit(&p);
	places_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_tells_file_and_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
