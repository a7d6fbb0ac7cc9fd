// SPDX-License-Identifier: MIT
//
// Objects of this very process, as the loader has them: the program, a library, and what is none.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>

#include "preload/guest/exit.h"
#include "preload/patch/object.h"

static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;

static const struct link_map *map_of(const char *name)
{
	for (const struct link_map *m = _r_debug.r_map; m; m = m->l_next)
		if (strstr(m->l_name, name))
			return m;
	return NULL;
}

static bool is_code(const struct object *o, const void *fn)
{
	uint8_t *lo, *hi;
	const uint8_t *at = fn;
	for (unsigned i = 0; object_code(o, &i, &lo, &hi);)
		if (at >= lo && at < hi)
			return true;
	return false;
}

static const void *own_code(void)
{
	const void *at;
	bool (*fn)(const struct object *, const void *) = is_code;
	memcpy(&at, &fn, sizeof(at));
	return at;
}

static void test_program(void **state)
{
	struct object o;
	static int data;
	(void)state;
	assert_true(object_read(&o, _r_debug.r_map));
	assert_true(o.program);
	assert_true((uint64_t)own_code() >= o.start && (uint64_t)own_code() < o.end);
	assert_true(is_code(&o, own_code()));
	assert_true((uint64_t)&data >= o.start && (uint64_t)&data < o.end);
	assert_false(is_code(&o, &data));
	assert_false(is_code(&o, dlsym(RTLD_DEFAULT, "getpid")));
}

static void test_library(void **state)
{
	struct object o;
	(void)state;
	assert_non_null(map_of("libc.so"));
	assert_true(object_read(&o, map_of("libc.so")));
	assert_false(o.program);
	assert_true(is_code(&o, dlsym(RTLD_DEFAULT, "getpid")));
	assert_false(is_code(&o, own_code()));
	static const char *const names[] = {"getpid", "getppid", "makecontext", "malloc", "qsort"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		Dl_info found;
		const uint8_t *at = object_export(&o, names[i]);
		if (!at) // an IFUNC is no function
			continue;
		assert_true(dladdr(at, &found) && found.dli_saddr == at);
	}
	assert_ptr_equal(object_export(&o, "getppid"), dlsym(RTLD_DEFAULT, "getppid"));
	assert_null(object_export(&o, "no such function"));
	assert_null(object_export(&o, "environ")); // data
	assert_null(object_export(&o, ""));
}

// What a hostile or odd link map may say.
static void test_none(void **state)
{
	struct object o;
	static char zeros[8192] __attribute__((aligned(4096)));
	struct link_map before = {0}, m = {.l_name = (char *)"x", .l_prev = &before};
	(void)state;
	assert_false(object_read(&o, &m));
	m.l_addr = (ElfW(Addr))zeros;
	assert_false(object_read(&o, &m));
	m.l_addr = (ElfW(Addr))zeros + 8;
	assert_false(object_read(&o, &m));
	void *gone = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(gone != MAP_FAILED && !munmap(gone, 4096));
	m.l_addr = (ElfW(Addr))gone;
	assert_false(object_read(&o, &m));
	// headers that lie behind the first page
	memcpy(zeros, (const void *)map_of("libc.so")->l_addr, 4096);
	m.l_addr = (ElfW(Addr))zeros;
	assert_true(object_read(&o, &m));
	assert_null(object_export(&o, "getpid")); // no dynamic section
	((ElfW(Ehdr) *)(void *)zeros)->e_phoff = 4000;
	assert_false(object_read(&o, &m));
	((ElfW(Ehdr) *)(void *)zeros)->e_phoff = 64;
	((ElfW(Ehdr) *)(void *)zeros)->e_phnum = 0;
	assert_false(object_read(&o, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_program),
		cmocka_unit_test(test_library),
		cmocka_unit_test(test_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
