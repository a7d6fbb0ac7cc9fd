// SPDX-License-Identifier: MIT
//
// Lines written before the files are stored, and after, are all on the disk; what is there already is not touched.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/record/image_files.h"

static char place[] = "/tmp/ctp-test-image-files-XXXXXX";

static int make_place(void **state)
{
	static struct output o = OUTPUT_NONE;
	*state = &o;
	if (!mkdtemp(place) || (o.fd = open(place, O_RDONLY | O_DIRECTORY)) < 0)
		return -1;
	return mkdirat(o.fd, "ctp", 0700);
}

static int remove_place(void **state)
{
	char command[64 + sizeof(place)];
	const struct output *o = *state;
	close(o->fd);
	snprintf(command, sizeof(command), "rm -rf %s", place);
	return system(command);
}

static void check_text(const struct output *o, const char *name, const char *want)
{
	char text[64] = "";
	int fd = openat(o->fd, name, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) >= 0);
	assert_string_equal(text, want);
	close(fd);
}

static void test_lines(void **state)
{
	const struct output *o = *state;
	struct image_files f = { 0 };
	assert_int_equal(image_files_open(&f), 0);
	FILE *witness = f.of[IMAGE_WITNESS];
	fputs("one\n", witness);
	fflush(witness);
	fputs("two\n", witness);
	assert_int_not_equal(faccessat(o->fd, "ctp/image0", F_OK, 0), 0); // nothing is on the disk yet
	assert_int_equal(image_files_store(&f, o, 0), 0);
	assert_ptr_equal(f.of[IMAGE_WITNESS], witness);
	check_text(o, "ctp/image0/witness.jsonl", "one\ntwo\n");
	fputs("three\n", witness);
	assert_int_equal(image_files_store(&f, o, 0), 0); // they are there
	image_files_flush(&f);
	check_text(o, "ctp/image0/witness.jsonl", "one\ntwo\nthree\n");
	check_text(o, "ctp/image0/sets.jsonl", "");
	image_files_close(&f);
	assert_null(f.of[IMAGE_WITNESS]);
}

static void test_another_file(void **state)
{
	const struct output *o = *state;
	struct image_files f = { 0 };
	int dir = output_image(o, 1, NULL), other = openat(dir, "slices.jsonl", O_WRONLY | O_CREAT, 0600);
	assert_true(dir >= 0 && other >= 0);
	assert_int_equal(write(other, "other\n", 6), 6);
	assert_int_equal(image_files_open(&f), 0);
	fputs("one\n", f.of[IMAGE_WITNESS]);
	fputs("two\n", f.of[IMAGE_SLICES]);
	assert_int_equal(image_files_store(&f, o, 1), -EEXIST);
	image_files_close(&f);
	check_text(o, "ctp/image1/witness.jsonl", "one\n"); // the others are stored nonetheless
	check_text(o, "ctp/image1/slices.jsonl", "other\n");
	close(other);
	close(dir);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_another_file),
	};
	return cmocka_run_group_tests(tests, make_place, remove_place);
}
