// SPDX-License-Identifier: MIT
//
// Bodies in a large piece of code: by its file, across the pieces in which that is read, and in memory where the file is
// another one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/guest/exit.h"
#include "preload/guest/guest.h"
#include "preload/patch/code.h"

void sw_slot(void), sw_struct(void), sw_from(void);
void co_body(void);
static struct tracer tracer;
struct tracer *ctp_tracer = &tracer;

void co_body(void)
{
	abort();
}

enum { HEAD = 4096, CODE = 1 << 20, PIECE = 64 << 10, MOST = 64, BODIES = 12, LENGTH = 128 };

static char path[] = "/tmp/ctp-code-XXXXXX";
static ElfW(Phdr) ph[2] = {{.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = HEAD, .p_memsz = HEAD},
			   {.p_type = PT_LOAD,
			    .p_flags = PF_R | PF_X,
			    .p_offset = HEAD,
			    .p_vaddr = HEAD,
			    .p_filesz = CODE,
			    .p_memsz = CODE}};
static struct link_map map = {.l_name = path};
static struct object object = {.map = &map, .ph = ph, .nph = 2};
static uint64_t places[BODIES];
static int fd;

static int setup(void **state)
{
	static uint8_t bytes[HEAD + CODE];
	const uint8_t *at;
	void (*fns[])(void) = {sw_slot, sw_struct, sw_from};
	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 7 >> (i & 3));
	for (unsigned i = 0; i < BODIES; i++) { // at every distance from the end of a piece
		memcpy(&at, &fns[i % 3], sizeof(at));
		places[i] = (uint64_t)(i + 1) * PIECE - 11 * i;
		memcpy(bytes + HEAD + places[i], at, match_at(at, at + LENGTH)->length);
	}
	fd = mkstemp(path);
	assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
	uint8_t *p = mmap(NULL, sizeof(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	for (size_t i = 0; i < sizeof(bytes); i += 4096)
		*(volatile uint8_t *)(p + i) = p[i]; // its own from here on
	object.base = (uint64_t)p;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	munmap((void *)object.base, HEAD + CODE);
	close(fd);
	return unlink(path);
}

static size_t found(bool by_file)
{
	struct match m[MOST];
	size_t n = code_matches(&object, by_file, m, MOST);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(m[i].at, (uint8_t *)object.base + HEAD + places[i]);
	return n;
}

static void test_both(void **state)
{
	(void)state;
	assert_int_equal(found(false), BODIES);
	assert_int_equal(found(true), BODIES);
}

// Only what the file says is compared, and only what is in memory counts.
static void test_by_file(void **state)
{
	static const uint8_t zeros[LENGTH];
	(void)state;
	memset((uint8_t *)object.base + HEAD + places[BODIES - 1], 0, LENGTH);
	assert_int_equal(found(true), BODIES - 1);
	assert_int_equal(pwrite(fd, zeros, LENGTH, (off_t)(HEAD + places[BODIES - 2])), LENGTH);
	assert_int_equal(found(false), BODIES - 1);
	assert_int_equal(found(true), BODIES - 2);
}

// A file that is another one by now, or that has gone.
static void test_another_file(void **state)
{
	(void)state;
	assert_int_equal(pwrite(fd, "another", 7, 0), 7);
	assert_int_equal(found(true), BODIES - 1);
	map.l_name = (char *)"/no/such/file";
	assert_int_equal(found(true), BODIES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_by_file),
		cmocka_unit_test(test_another_file),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
