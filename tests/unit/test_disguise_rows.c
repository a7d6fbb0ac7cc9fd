// SPDX-License-Identifier: MIT
//
// Numbers in disguise that stand in rows, in a program's file, or in the list of tagged values.
#include "disguise_pass.h"

#include <elf.h>

// Among as many other numbers, but in a table of structs; and where numbers that count up have as long rows.
static void rows_of_small_distances(void **state)
{
	uint64_t was[NODES];
	(void)state;
	memcpy(was, begins, sizeof(was));
	for (unsigned i = 0; i < 4; i++) {
		bool near = i % 2, apart = i / 2;
		open_memory();
		uint64_t base = 0x123456f00000;
		uint32_t *table = (uint32_t *)(void *)two;
		struct maps_line maps[2] = {{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		memory.maps = maps;
		memory.nmaps = 2;
		for (uint32_t k = 0; k < 800; k++)
			table[200 + k] = k + 0x80;
		for (unsigned k = 0; k < NODES; k++) {
			begins[k] = base + 0x2440 + (near ? 0x400 : 0x1bc0) * k;
			table[8 + (apart ? 3 * k * k : 2 * k)] = (uint32_t)(begins[k] - base) >> 6;
		}
		assert_int_equal(pass(0), near || apart ? 0 : NODES);
	}
	memcpy(begins, was, sizeof(was));
}

// The offsets and sizes of a library's sections lie behind its static storage: they are in its file. A number that
// the program has stored in that page is none of them, nor is one of a file of data.
static void rows_of_a_file(void **state)
{
	char path[] = "/tmp/test_disguise.XXXXXX";
	int file = mkstemp(path);
	uint64_t was[NODES], base = 0x123456f00000;
	uint32_t sizes[2048] = {0};
	(void)state;
	assert_true(file >= 0);
	memcpy(was, begins, sizeof(was));
	for (unsigned k = 0; k < NODES; k++) {
		begins[k] = base + 0x2440 + 0x1bc0 * k;
		sizes[8 + 2 * k] = (uint32_t)(begins[k] - base) >> 6;
	}
	assert_int_equal(write(file, sizes, sizeof(sizes)), sizeof(sizes));
	for (unsigned i = 0; i < 3; i++) {
		bool stored = i == 1, data = i == 2;
		open_memory();
		assert_ptr_equal(mmap(two, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0), two);
		uint32_t *table = (uint32_t *)(void *)two;
		for (unsigned k = 0; k < NODES; k++)
			table[8 + 2 * k + 1024 * stored] = sizes[8 + 2 * k];
		struct maps_line maps[3] = {{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		maps[1].path = path;
		maps[2] = (struct maps_line){.lo = map.hi, .hi = map.hi + 4096, .perms = "--xp", .path = path};
		memory.maps = maps;
		memory.nmaps = data ? 2 : 3;
		assert_int_equal(pass(0), stored || data ? NODES : 0);
	}
	memcpy(begins, was, sizeof(was));
	close(file);
	unlink(path);
}

// Half of an address that lies in a program's file is a number as any; not so where the program has stored it.
static void halves_of_a_file(void **state)
{
	char path[] = "/tmp/test_disguise.XXXXXX";
	int file = mkstemp(path);
	uint32_t words[2048] = {[8] = (uint32_t)ONE};
	(void)state;
	assert_int_equal(write(file, words, sizeof(words)), sizeof(words));
	for (unsigned stored = 0; stored < 2; stored++) {
		open_memory();
		assert_ptr_equal(mmap(two, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, file, 0), two);
		struct maps_line maps[2] = {map, {.lo = map.hi, .hi = map.hi + 4096, .perms = "--xp", .path = path}};
		maps[0].path = path;
		memory.maps = maps;
		memory.nmaps = 2;
		memcpy(two + 4096 * stored + 32, &words[8], 4);
		assert_int_equal(pass(0), stored);
	}
	close(file);
	unlink(path);
}

// Every process has a list of tagged values on its stack: 5 for the number of program headers, 9 for where it
// begins, 13 for its group.
static void rows_of_tags(void **state)
{
	static const uint64_t tags[] = {5, 7, 8, 9, 11, 12, 13, 14, 23, AT_RANDOM, 26, AT_EXECFN, 15, 27, 28, 0};
	static const uint64_t led[2][NODES] = {{5, 9, 13}, {15, 27, 28}}; // before and behind what tells
	uint64_t was[NODES], base = 0x123456f00000;
	(void)state;
	memcpy(was, begins, sizeof(was));
	for (unsigned i = 0; i < 4; i++) {
		open_memory();
		uint64_t *list = (uint64_t *)(void *)two;
		struct maps_line maps[2] = {{.lo = base, .hi = base + 4096, .perms = "-w-p", .path = "[vvar]"}, map};
		memory.maps = maps;
		memory.nmaps = 2;
		maps[1].path = "[stack]";
		for (unsigned k = 0; k < NODES; k++)
			begins[k] = base + (led[i / 2][k] << 12);
		for (size_t k = 0; k < sizeof(tags) / sizeof(*tags); k++) {
			list[2 * k] = tags[k];
			list[2 * k + 1] = tags[k] == AT_RANDOM || tags[k] == AT_EXECFN ? (uintptr_t)(two + 512) : 1000;
		}
		if (i % 2) // the program's own: nothing ends it
			list[2 * (sizeof(tags) / sizeof(*tags) - 1)] = 70;
		assert_int_equal(pass(0) > 0, i % 2);
	}
	memcpy(begins, was, sizeof(was));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_small_distances), cmocka_unit_test(rows_of_a_file),
					   cmocka_unit_test(halves_of_a_file), cmocka_unit_test(rows_of_tags)};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	disguised_deinit(&found);
	return failed;
}
