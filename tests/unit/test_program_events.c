// SPDX-License-Identifier: MIT
//
// What events of the program's own say, read by their classes; and classes that are none.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "trace/stream/program_events.h"

static int folder(char *path, const char *text)
{
	char name[128];
	assert_non_null(mkdtemp(path));
	snprintf(name, sizeof(name), "%s/events.jsonl", path);
	FILE *f = fopen(name, "w");
	fputs(text, f);
	fclose(f);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd;
}

static void drop(const char *path, int fd)
{
	unlinkat(fd, "events.jsonl", 0);
	close(fd);
	rmdir(path);
}

#define CLASS(id, fields) \
	"{\"v\":1,\"id\":" #id ",\"provider\":\"http\",\"name\":\"n" #id "\",\"file\":\"f\",\"line\":7,\"fields\":[" fields "]}\n"
#define FIELD(name, kind, size) "{\"name\":\"" name "\",\"type\":\"t\",\"kind\":\"" kind "\",\"size\":" #size "}"

static void classes_are_read(void **state)
{
	(void)state;
	char path[] = "/tmp/ctp-program-events-XXXXXX";
	struct program_classes c = { 0 };
	int fd = folder(path, CLASS(0, FIELD("a", "signed", 4)) "nonsense\n" CLASS(2, "")    // not the next one
			CLASS(1, FIELD("a", "strange", 4)) CLASS(1, FIELD("a", "float", 2)) // no such kind, no such float
			CLASS(1, FIELD("a", "text", 8) "," FIELD("b", "bytes", 16)));
	assert_int_equal(program_classes_read(&c, fd), 0);
	assert_int_equal(c.n, 2);
	assert_int_equal(c.bad_lines, 4);
	assert_int_equal(c.items[1].nfields, 2);
	assert_ptr_equal(program_classes_find(&c, "http:n1"), &c.items[1]);
	assert_null(program_classes_find(&c, "http:n2"));
	assert_null(program_classes_find(&c, "httpn1"));
	assert_null(program_classes_find(&c, "htt:n1"));
	program_classes_deinit(&c);
	drop(path, fd);
}

static void values_are_read(void **state)
{
	(void)state;
	static const unsigned char says[] = "\xfe\xff" "\xff\xff\xff\xff" "\0\0\xc0\x3f" "\0\0\0\0\0\0\x02\xc0" "\x34\x12\0\0\0\0\0\0"
					    "a \x1b\"b\0" "\x09\0\0\0\x02\0\xab\x01";
	struct program_class k = { .provider = (char *)"p", .name = (char *)"n", .nfields = 7, .fields = {
		{ (char *)"i", (char *)"short", CTP_FIELD_SIGNED, 2 }, { (char *)"u", (char *)"unsigned", CTP_FIELD_UNSIGNED, 4 },
		{ (char *)"f", (char *)"float", CTP_FIELD_FLOAT, 4 }, { (char *)"d", (char *)"double", CTP_FIELD_FLOAT, 8 },
		{ (char *)"p", (char *)"void *", CTP_FIELD_POINTER, 8 }, { (char *)"t", (char *)"char *", CTP_FIELD_TEXT, 8 },
		{ (char *)"b", (char *)"ctp_bytes", CTP_FIELD_BYTES, 16 } } };
	struct program_event e = { .class = &k, .at = says };
	struct program_value v[CTP_EVENT_ROW_FIELDS];
	char text[256];
	program_event_values(&e, v);
	assert_int_equal((int64_t)v[0].word, -2);
	assert_int_equal(v[1].word, 0xffffffff);
	assert_int_equal(v[6].whole, 9);
	assert_int_equal(v[6].bytes, 2);
	program_event_text(&e, text, sizeof(text));
	assert_string_equal(text, "i = -2, u = 4294967295, f = 1.5, d = -2.25, p = 0x1234, t = \"a ?\"b\", b = ab01...");
	char little[12];
	program_event_text(&e, little, sizeof(little));
	assert_string_equal(little, "i = -2, u =");
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(classes_are_read), cmocka_unit_test(values_are_read) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
