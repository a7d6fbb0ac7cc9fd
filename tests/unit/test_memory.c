// SPDX-License-Identifier: MIT
//
// The two kinds of memory that are searched: this process's own, and what a core file holds.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/corefile.h"
#include "own_memory.h"
#include "search/memory/memory_walk.h"

enum { PAGE = 4096, AT = 0x10000000 };

static void what_was_never_touched_stays_so(void **state)
{
	(void)state;
	unsigned char *three = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), to[3 * PAGE];
	struct own own;
	uint64_t entries[3];
	assert_ptr_not_equal(three, MAP_FAILED);
	three[PAGE] = 7;
	own_open(&own);
	if (memory_page_entries(&own.memory, (uintptr_t)three / PAGE, entries, 3) != 3)
		skip(); // the kernel does not show them
	memset(to, 1, sizeof(to));
	assert_int_equal(memory_peek_touched(&own.memory, (uintptr_t)three, to, sizeof(to)), sizeof(to));
	assert_true(to[0] == 0 && to[PAGE] == 7 && to[PAGE + 1] == 0 && to[3 * PAGE - 1] == 0);
	assert_int_equal(memory_page_entries(&own.memory, (uintptr_t)three / PAGE, entries, 3), 3);
	assert_false(entries[0] & (MEMORY_PRESENT | MEMORY_SWAPPED));
	assert_true(entries[1] & (MEMORY_PRESENT | MEMORY_SWAPPED));
	assert_false(entries[2] & (MEMORY_PRESENT | MEMORY_SWAPPED));
	own_close(&own);
	munmap(three, 3 * PAGE);
}

static void piece(void *ctx, const unsigned char *bytes, size_t n, uint64_t at)
{
	unsigned char *seen = ctx;
	for (size_t i = 0; i < n; i++)
		*seen += bytes[i];
}

// Nor does a file that exists in memory alone become more, shared or private, where words may lie across.
static void a_hole_stays_one(void **state)
{
	(void)state;
	const int kinds[] = {MAP_SHARED, MAP_PRIVATE};
	const struct span left_out = {8, 16}; // as ever, something is left out
	if (geteuid())
		skip(); // the kernel shows such files to root
	for (int i = 0; i < 2; i++) {
		struct own own;
		struct stat before, after;
		unsigned char sum = 0;
		int file = memfd_create("holes", 0);
		assert_true(file >= 0 && !ftruncate(file, 64 * PAGE));
		unsigned char *map = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, kinds[i], file, 0);
		assert_ptr_not_equal(map, MAP_FAILED);
		map[3 * PAGE] = 7;
		assert_int_equal(pwrite(file, "\5", 1, 9 * PAGE), 1);
		assert_int_equal(fstat(file, &before), 0);
		own_open(&own);
		own.memory.maps = memory_map(&own.memory, (uintptr_t)map);
		own.memory.nmaps = 1;
		struct memory_walk walk = {.memory = &own.memory, .skip = &left_out, .nskip = 1, .piece = piece, .ctx = &sum};
		assert_int_equal(memory_walk(&walk), 0);
		assert_int_equal(memory_walk(&walk), 0);
		assert_int_equal(sum, 2 * (7 + 5));
		assert_int_equal(fstat(file, &after), 0);
		assert_int_equal(after.st_blocks, before.st_blocks);
		own_close(&own);
		munmap(map, 64 * PAGE);
		close(file);
	}
}

enum { MANY = 4 * MEMORY_PAGES, APART = 513 };

// Every second one of pages that lie far apart, and its neighbour: as they are told, and as the table says.
static void expect_every_second(const struct memory *m, uint64_t lo, uint64_t hi)
{
	struct memory_pages p;
	size_t seen = 0;
	uint64_t at = lo;
	for (; at < hi; at = p.end) {
		assert_true(memory_touched(m, &p, at, hi, false));
		assert_in_range(p.n, 0, MEMORY_PAGES);
		assert_in_range(p.end, at + PAGE, hi);
		for (size_t i = 0; i < p.n; i++, seen++) {
			uint64_t want = lo + (2 * seen + 1) * APART * PAGE;
			assert_int_equal(p.v[i].lo, want);
			assert_int_equal(p.v[i].hi, want + 2 * PAGE);
		}
	}
	assert_int_equal(at, hi);
	assert_int_equal(seen, MANY / 2);
}

static void touched_pages_are_found_far_apart(void **state)
{
	(void)state;
	size_t bytes = (MANY * APART + 2) * (size_t)PAGE;
	unsigned char *wide = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct own own;
	struct memory_pages p;
	assert_ptr_not_equal(wide, MAP_FAILED);
	madvise(wide, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 1; i < MANY; i += 2)
		wide[i * APART * PAGE] = wide[(i * APART + 1) * PAGE] = 1;
	own_open(&own);
	if (!memory_touched(&own.memory, &p, (uintptr_t)wide, (uintptr_t)wide + PAGE, false))
		skip(); // the kernel does not show them
	expect_every_second(&own.memory, (uintptr_t)wide, (uintptr_t)wide + bytes);
	own_close(&own);
	munmap(wide, bytes);
}

// More of them lie close together than are told at once.
static void expect_many_in_a_row(const struct memory *m, uint64_t lo)
{
	struct memory_pages p;
	uint64_t want = lo, at = lo;
	for (uint64_t hi = lo + 2 * MANY * PAGE; at < hi; at = p.end) {
		assert_true(memory_touched(m, &p, at, hi, false));
		for (size_t i = 0; i < p.n; i++, want += 2 * PAGE)
			assert_true(p.v[i].lo == want && p.v[i].hi == want + PAGE);
	}
	assert_int_equal(want, at);
}

// A file in place of the page map: nothing but its entries can be read there.
static void an_older_kernel_tells_the_same(void **state)
{
	(void)state;
	char path[] = "/tmp/ctp-test-memory-XXXXXX";
	const uint64_t lo = 0x10000000, pages = MANY * APART + 2, there[2] = {MEMORY_PRESENT, MEMORY_SWAPPED | MEMORY_FILE};
	struct memory m = {.page_map = mkstemp(path)};
	struct memory_pages p;
	assert_true(m.page_map >= 0);
	assert_int_equal(ftruncate(m.page_map, (off_t)((lo / PAGE + pages) * 8)), 0);
	for (size_t i = 1; i < MANY; i += 2)
		assert_int_equal(pwrite(m.page_map, there, sizeof(there), (off_t)((lo / PAGE + i * APART) * 8)), sizeof(there));
	expect_every_second(&m, lo, lo + pages * PAGE);
	uint64_t first = lo + APART * PAGE;
	assert_true(memory_touched(&m, &p, first, first + 2 * PAGE, true));
	assert_true(p.n == 1 && p.v[0].lo == first && p.v[0].hi == first + PAGE);
	assert_false(memory_touched(&m, &p, lo + pages * PAGE, lo + (pages + 1) * PAGE, false));
	const uint64_t close_by = 2 * lo;
	assert_int_equal(ftruncate(m.page_map, (off_t)((close_by / PAGE + 2 * MANY) * 8)), 0);
	for (size_t i = 0; i < 2 * MANY; i += 2)
		assert_int_equal(pwrite(m.page_map, there, sizeof(*there), (off_t)((close_by / PAGE + i) * 8)), sizeof(*there));
	expect_many_in_a_row(&m, close_by);
	close(m.page_map);
	unlink(path);
}

static void of_a_file_only_copies_are_its_own(void **state)
{
	(void)state;
	char path[] = "/tmp/ctp-test-memory-XXXXXX";
	int fd = mkstemp(path);
	struct own own;
	struct memory_pages p;
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	unsigned char *four = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	assert_ptr_not_equal(four, MAP_FAILED);
	uint64_t lo = (uintptr_t)four;
	volatile unsigned char seen = four[0];
	four[2 * PAGE] = seen = 1;
	own_open(&own);
	if (!memory_touched(&own.memory, &p, lo, lo + 4 * PAGE, true))
		skip(); // the kernel does not show them
	assert_true(p.end == lo + 4 * PAGE && p.n == 1 && p.v[0].lo == lo + 2 * PAGE && p.v[0].hi == lo + 3 * PAGE);
	assert_true(memory_touched(&own.memory, &p, lo, lo + 4 * PAGE, false));
	assert_true(p.n >= 1 && p.v[0].lo == lo);
	own_close(&own);
	munmap(four, 4 * PAGE);
	close(fd);
	unlink(path);
}

static void a_read_ends_at_a_hole(void **state)
{
	(void)state;
	// A page without access on either side: without them, the kernel may join the three to a mapping beside them.
	unsigned char *five = mmap(NULL, 5 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *three = five + PAGE, to[3 * PAGE];
	struct own own;
	assert_ptr_not_equal(five, MAP_FAILED);
	mprotect(three, 3 * PAGE, PROT_READ | PROT_WRITE);
	memset(three, 5, 3 * PAGE);
	mprotect(three + PAGE, PAGE, PROT_NONE);
	munmap(three + 2 * PAGE, PAGE);
	own_open(&own);
	assert_int_equal(memory_peek(&own.memory, (uintptr_t)three, to, sizeof(to), false), PAGE);
	assert_int_equal(memory_peek(&own.memory, (uintptr_t)three, to, sizeof(to), true), 2 * PAGE);
	assert_int_equal(to[2 * PAGE - 1], 5);
	assert_int_equal(memory_map(&own.memory, (uintptr_t)three)->lo, (uintptr_t)three);
	assert_null(memory_map(&own.memory, (uintptr_t)three + 2 * PAGE));
	own_close(&own);
	munmap(five, 3 * PAGE);
	munmap(five + 4 * PAGE, PAGE);
}

// Two pages, a gap of one, and a page behind it.
static int make_core(char *path)
{
	struct {
		Elf64_Ehdr e;
		Elf64_Phdr p[2];
	} h = {.e = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT}, .e_type = ET_CORE, .e_machine = EM_X86_64,
		     .e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr), .e_ehsize = sizeof(Elf64_Ehdr),
		     .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2}};
	h.p[0] = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = PAGE, .p_vaddr = AT, .p_filesz = 2 * PAGE, .p_memsz = 2 * PAGE};
	h.p[1] = (Elf64_Phdr){.p_type = PT_LOAD, .p_offset = 3 * PAGE, .p_vaddr = AT + 3 * PAGE, .p_filesz = PAGE, .p_memsz = PAGE};
	unsigned char pages[3 * PAGE];
	for (size_t i = 0; i < sizeof(pages); i++)
		pages[i] = (unsigned char)(i / PAGE + 1);
	int fd = mkstemp(path);
	bool made = fd >= 0 && write(fd, &h, sizeof(h)) == sizeof(h) && pwrite(fd, pages, sizeof(pages), PAGE) == sizeof(pages);
	close(fd);
	return made ? 0 : -1;
}

static void a_core_is_read_alike(void **state)
{
	(void)state;
	char path[] = "/tmp/ctp-test-memory-XXXXXX";
	unsigned char to[4 * PAGE];
	uint64_t entries[4];
	struct corefile core;
	struct memory m;
	assert_int_equal(make_core(path), 0);
	assert_int_equal(corefile_open(&core, path), 0);
	memory_of_core(&m, &core);
	assert_int_equal(memory_peek(&m, AT, to, sizeof(to), false), 2 * PAGE);
	assert_true(to[0] == 1 && to[2 * PAGE - 1] == 2);
	assert_int_equal(memory_peek(&m, AT + 100, to, PAGE, false), PAGE);
	assert_true(to[PAGE - 101] == 1 && to[PAGE - 100] == 2);
	assert_int_equal(memory_peek(&m, AT + 2 * PAGE, to, 1, true), 0);
	assert_int_equal(memory_peek(&m, AT + 4 * PAGE - 1, to, 2, false), 1);
	assert_int_equal(to[0], 3);
	assert_int_equal(memory_page_entries(&m, AT / PAGE, entries, 4), 4);
	assert_true(entries[0] && entries[1] && !entries[2] && entries[3]);
	assert_int_equal(memory_peek_touched(&m, AT, to, 4 * PAGE), 4 * PAGE);
	assert_true(to[2 * PAGE] == 0 && to[3 * PAGE] == 3);
	memory_close(&m);
	corefile_close(&core);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_never_touched_stays_so), cmocka_unit_test(a_hole_stays_one),
		cmocka_unit_test(touched_pages_are_found_far_apart), cmocka_unit_test(an_older_kernel_tells_the_same),
		cmocka_unit_test(of_a_file_only_copies_are_its_own), cmocka_unit_test(a_read_ends_at_a_hole),
		cmocka_unit_test(a_core_is_read_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
