// SPDX-License-Identifier: MIT
//
// What is the loader's: pages with its list of libraries, its static storage, and addresses that it keeps of what
// it has unmapped. The loader is this process's; of what is stale, a page that stands for it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/target/proc.h"
#include "search/whole/bases.h"
#include "search/disguise/loader_pages.h"

enum { PAGE = 4096 };

static struct proc_maps maps;
static struct memory memory;

static int open_memory(void **state)
{
	(void)state;
	assert_int_equal(proc_maps_read(getpid(), &maps), 0);
	memory_of_process(&memory, getpid());
	memory.maps = maps.v;
	memory.nmaps = maps.n;
	memory.deadline_ns = UINT64_MAX;
	return 0;
}

static int close_memory(void **state)
{
	(void)state;
	memory_close(&memory);
	proc_maps_deinit(&maps);
	return 0;
}

// Those of the list of libraries that this program began with; what malloc has given is none of them.
static void pages_of_its_list(void **state)
{
	struct loader_pages p = {.n = 0};
	unsigned found = 0;
	(void)state;
	for (const struct link_map *l = _r_debug.r_map; l && l->l_addr != _r_debug.r_ldbase; l = l->l_next) {
		const struct maps_line *in = memory_map(&memory, (uintptr_t)l);
		if (*in->path) // the program's own lies in the loader's storage
			continue;
		assert_true(loader_pages_has(&p, &memory, (uintptr_t)l));
		found++;
	}
	assert_true(found);
	void *block = malloc(64), *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_false(loader_pages_has(&p, &memory, (uintptr_t)block));
	assert_false(loader_pages_has(&p, &memory, (uintptr_t)page));
	free(block);
	munmap(page, PAGE);
}

static void its_static_storage(void **state)
{
	static int own;
	int here;
	(void)state;
	assert_true(bases_is_loader(&memory, (uintptr_t)&_r_debug) || bases_is_loader(&memory, _r_debug.r_ldbase));
	assert_true(bases_is_loader(&memory, _r_debug.r_ldbase));
	assert_false(bases_is_loader(&memory, (uintptr_t)stdout)); // the C library's
	assert_true(bases_is_runtime(&memory, (uintptr_t)stdout));
	assert_false(bases_is_loader(&memory, (uintptr_t)&own));
	assert_false(bases_is_loader(&memory, (uintptr_t)&here));
	assert_false(bases_is_loader(&memory, 0));
}

// Begins of pages that are no file's: where ld.so.cache was. What lies in a file, or in the middle of a page, is
// something else.
static void what_it_has_unmapped(void **state)
{
	struct span_list stale = {0};
	struct maps_line lines[3] = {{0}};
	uint64_t *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uint64_t stack = 0x10000000, file = 0x20000000;
	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	lines[0] = (struct maps_line){.lo = stack, .hi = stack + 4 * PAGE, .perms = "rw-p", .path = ""};
	lines[1] = (struct maps_line){.lo = file, .hi = file + PAGE, .perms = "r--p", .ino = 1, .path = "/file"};
	lines[2] = (struct maps_line){
		.lo = (uintptr_t)page, .hi = (uintptr_t)page + PAGE, .perms = "rw-p", .ino = 1, .path = "/lib64/ld-linux-x86-64.so.2"};
	memory.maps = lines;
	memory.nmaps = 3;
	page[3] = stack + PAGE;
	page[5] = stack + PAGE + 8;
	page[7] = file;
	page[9] = 0x30000000; // nothing is there
	page[11] = stack;
	loader_pages_stale(&memory, &stale);
	assert_int_equal(stale.n, 2);
	assert_int_equal(stale.v[0].lo, (uintptr_t)&page[3]);
	assert_int_equal(stale.v[0].hi, (uintptr_t)&page[4]);
	assert_int_equal(stale.v[1].lo, (uintptr_t)&page[11]);
	stale.n = 0;
	lines[2].path = "/usr/lib/libc.so.6";
	loader_pages_stale(&memory, &stale);
	assert_int_equal(stale.n, 0);
	free(stale.v);
	munmap(page, PAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(pages_of_its_list, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(its_static_storage, open_memory, close_memory),
		cmocka_unit_test_setup_teardown(what_it_has_unmapped, open_memory, close_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
