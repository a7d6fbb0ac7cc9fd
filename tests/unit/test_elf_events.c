// SPDX-License-Identifier: MIT
//
// The events of an ELF file: this test's own; and files that are damaged.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include <ctp/event.h>

#include "engine/target/elf_events.h"

CTP_EVENT(test, first, (int, n), (const char *, text));
CTP_EVENT(test, none);

static void own_events(void **state)
{
	(void)state;
	struct elf_events e = { 0 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	ctp_event(test, first, 1, "x"); // what is never signalled is not there
	ctp_event(test, none);
	assert_int_equal(elf_events_read(&e, fd), 0);
	close(fd);
	unsigned first = 0, none = 0, more = 0;
	for (size_t i = 0; i < e.n; i++) {
		const struct elf_event *is = &e.items[i];
		if (strcmp(is->provider, "test")) // what the header has of its own may stand there, too
			continue;
		bool one = !strcmp(is->name, "first");
		assert_non_null(strstr(is->file, "test_elf_events.c"));
		assert_string_equal(is->fields, one ? "int n, const char *text" : "");
		first += one;
		none += !strcmp(is->name, "none");
		more++;
	}
	assert_true(first == 1 && none == 1 && more == 2);
	elf_events_deinit(&e);
}

// Whatever a byte of the file becomes, it is read to its end or refused.
static void damaged_files(void **state)
{
	(void)state;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), copy = memfd_create("copy", MFD_CLOEXEC);
	off_t size = lseek(fd, 0, SEEK_END);
	unsigned char *bytes = malloc((size_t)size);
	assert_int_equal(pread(fd, bytes, (size_t)size, 0), size);
	unsigned char *notes = memmem(bytes, (size_t)size, "stapsdt", 8), *d = memmem(bytes, (size_t)size, CTP_EVENT_MAGIC, 8);
	assert_non_null(notes);
	assert_non_null(d);
	assert_int_equal(pwrite(copy, bytes, (size_t)size, 0), size);
	off_t from[] = { 0, (notes - bytes) - 16, (d - bytes) - 8, size - 64 * 40 };
	for (unsigned place = 0; place < 4; place++)
		for (off_t at = from[place]; at < from[place] + 200; at++)
			for (unsigned char value = 0xff; value; value = value == 0xff ? 0x7f : value >> 3) {
				struct elf_events e = { 0 };
				assert_int_equal(pwrite(copy, &value, 1, at), 1);
				int r = elf_events_read(&e, copy);
				assert_true(r == 0 || r == -ENOEXEC);
				elf_events_deinit(&e);
				assert_int_equal(pwrite(copy, bytes + at, 1, at), 1);
			}
	assert_int_equal(ftruncate(copy, size / 2), 0);
	struct elf_events e = { 0 };
	int r = elf_events_read(&e, copy);
	assert_true(r == 0 || r == -ENOEXEC);
	elf_events_deinit(&e);
	free(bytes);
	close(fd);
	close(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(own_events), cmocka_unit_test(damaged_files) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
