// SPDX-License-Identifier: MIT
//
// Tests of src/base: the map of ids, paths, durations, colors, mappings,
// URIs, lines of JSON, protobuf, names of calls.
#include <fcntl.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/calls.h"
#include "base/color.h"
#include "base/file.h"
#include "base/idmap.h"
#include "base/json.h"
#include "base/maps.h"
#include "base/protobuf.h"
#include "base/text.h"
#include "base/uri.h"

static void test_idmap(void **state)
{
	struct idmap m = { 0 };
	assert_int_equal(idmap_get(&m, 0), IDMAP_NONE);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_set(&m, i << 32, (uint32_t)i), 0);
	assert_int_equal(idmap_set(&m, 5ULL << 32, 77), 0);
	assert_int_equal(m.n, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(idmap_get(&m, i << 32), i == 5 ? 77 : i);
	assert_int_equal(idmap_get(&m, 1), IDMAP_NONE);
	assert_int_equal(idmap_set(&m, 1, IDMAP_NONE), -EINVAL);
	idmap_deinit(&m);
}

static void joins(const char *dir, const char *name, const char *want)
{
	char *got = file_join(dir, name);
	assert_string_equal(got, want);
	free(got);
}

static void test_paths(void **state)
{
	joins("/build", "../src/x.c", "/src/x.c");
	joins("/build/a", "./b//c", "/build/a/b/c");
	joins("/", "../../x", "/x");
	joins("dir", "../x", "x");
	joins("dir", "../../x", "../x");
	joins("..", "../x", "../../x");
	joins("a", "/abs/./x", "/abs/x");
	joins(NULL, "x", "x");
	assert_string_equal(file_base("/a/b"), "b");
	assert_string_equal(file_base("b"), "b");
}

static void lasts(uint64_t ns, const char *want)
{
	char buf[32];
	text_duration(buf, sizeof(buf), ns);
	assert_string_equal(buf, want);
}

static void cleaned(const char *text, const char *want)
{
	char buf[64];
	snprintf(buf, sizeof(buf), "%s", text);
	text_clean(buf);
	assert_string_equal(buf, want);
}

static void test_clean(void **state)
{
	(void)state;
	cleaned("", "");
	cleaned("plain \"text\" ~", "plain \"text\" ~");
	cleaned("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	cleaned("\x1b[31m\n\t\x7f", "?[31m???");
	cleaned("\xc2\x9b""31m", "??31m"); // C1's way to begin a sequence
	cleaned("\xe2\x80\xaegpj", "???gpj"); // from right to left
	cleaned("\xc0\xaf \xe0\x80\xaf \xed\xa0\x80 \xf5\x80\x80\x80 \xff", "?? ??? ??? ???? ?");
	cleaned("\xc3", "?");
	cleaned("\xe2\x82", "??");
	cleaned("\xf0\x9f\x98x", "???x");
	cleaned("\x80x", "?x");
}

static void test_durations(void **state)
{
	lasts(412, "412 ns");
	lasts(1600000, "1.6 ms");
	lasts(3200000000, "3.2 s");
	lasts(252000000000, "4m12s");
	lasts(7620000000000, "2h07m");
}

static void fits(const char *s, size_t columns, size_t bytes, const char *want)
{
	char buf[64];
	assert_string_equal(text_fit(buf, bytes, s, columns), want);
}

static void test_fit(void **state)
{
	fits("close(fd);", 10, 64, "close(fd);");
	fits("close(fd);", 9, 64, "close(fd…");
	fits("close (fd);", 7, 64, "close…"); // no blank before it
	fits("größe", 5, 64, "größe");
	fits("größe", 4, 64, "grö…");
	fits("größe", 5, 7, "gr…"); // five columns have room, and seven bytes have not
	fits("abc", 0, 64, "…");
	fits("abc", 9, 3, "");
}

static void test_color(void **state)
{
	assert_false(color_wanted(COLOR_NEVER, 1));
	assert_true(color_wanted(COLOR_ALWAYS, -1));
	assert_false(color_wanted(COLOR_AUTO, -1));
}

static void test_maps(void **state)
{
	char file[] = "7f0000001000-7f0000003000 r-xp 00002000 fd:01 1234     /lib/a b.so (deleted)";
	char nameless[] = "10000-12000 rw-p 00000000 00:00 0", empty[] = "10000-10000 rw-p 00000000 00:00 0 ";
	char junk[] = "10000 12000";
	struct maps_line m;
	assert_true(maps_parse(file, &m));
	assert_true(m.lo == 0x7f0000001000 && m.hi == 0x7f0000003000 && m.offset == 0x2000);
	assert_true(m.major == 0xfd && m.minor == 1 && m.ino == 1234);
	assert_string_equal(m.perms, "r-xp");
	assert_string_equal(m.path, "/lib/a b.so (deleted)");
	assert_true(maps_parse(nameless, &m));
	assert_string_equal(m.path, "");
	assert_false(maps_parse(empty, &m));
	assert_false(maps_parse(junk, &m));
}

static void test_uri(void **state)
{
	char buf[64];
	(void)state;
	assert_true(uri_of_path("/a b/c", buf, sizeof(buf)));
	assert_string_equal(buf, "file:///a%20b/c");
	assert_true(uri_of_path("x:y%\xff", buf, sizeof(buf)));
	assert_string_equal(buf, "x%3Ay%25%FF");
	assert_true(uri_of_path("", buf, sizeof(buf)));
	assert_string_equal(buf, "");
	for (size_t room = 0; room < sizeof("file:///a%20b"); room++) {
		memset(buf, '#', sizeof(buf));
		assert_false(uri_of_path("/a b", buf, room));
		assert_int_equal(buf[room], '#');
	}
}

static int count_a(void *sum, const json_t *o)
{
	*(int *)sum += (int)json_integer_value(json_object_get(o, "a"));
	return *(int *)sum > 5 ? 7 : 0;
}

static void test_json_lines(void **state)
{
	char path[] = "/tmp/test_base.XXXXXX";
	int fd = mkstemp(path), sum = 0;
	uint64_t bad = 0;
	(void)state;
	dprintf(fd, "{\"a\":1}\n[]\n{\"a\":2}\nnonsense\n{\"a\"");
	assert_int_equal(json_each_line(AT_FDCWD, path, count_a, &sum, &bad), 0);
	assert_int_equal(sum, 3);
	assert_int_equal(bad, 3);
	assert_int_equal(json_each_line(AT_FDCWD, path, count_a, &sum, &bad), 7); // its own word, at once
	unlink(path);
	close(fd);
	assert_int_equal(json_each_line(AT_FDCWD, path, count_a, &sum, &bad), 0);
	assert_int_equal(bad, 4);
}

// As the format's own documentation has them, and lengths of one, two and three bytes.
static void test_protobuf(void **state)
{
	static const uint8_t want[] = { 0x08, 0x96, 0x01, 0x12, 0x07, 't', 'e', 's', 't', 'i', 'n', 'g', 0x1a, 0x03, 0x08, 0x96, 0x01,
					0xf9, 0x02, 8, 7, 6, 5, 4, 3, 2, 1, 0x1a, 0x00 };
	struct protobuf p = { 0 };
	protobuf_uint(&p, 1, 150);
	protobuf_string(&p, 2, "testing");
	size_t at = protobuf_begin(&p, 3);
	protobuf_uint(&p, 1, 150);
	protobuf_end(&p, at);
	protobuf_fixed64(&p, 47, 0x0102030405060708);
	protobuf_end(&p, protobuf_begin(&p, 3));
	assert_int_equal(p.error, 0);
	assert_int_equal(p.n, sizeof(want));
	assert_memory_equal(p.bytes, want, sizeof(want));
	protobuf_deinit(&p);
	static const struct { size_t bytes, head; } sizes[] = { { 127, 2 }, { 128, 3 }, { 16383, 3 }, { 16384, 4 }, { 100000, 4 } };
	char *text = calloc(1, 100000);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		size_t inner = sizes[i].bytes - (sizes[i].bytes < 130 ? 2 : sizes[i].bytes < 16387 ? 3 : 4);
		at = protobuf_begin(&p, 1);
		protobuf_bytes(&p, 2, text, inner);
		protobuf_end(&p, at);
		assert_int_equal(p.n, sizes[i].bytes + sizes[i].head);
		size_t length = 0;
		for (size_t k = 1; k < sizes[i].head; k++)
			length |= (size_t)(p.bytes[k] & 0x7f) << 7 * (k - 1);
		assert_int_equal(length, sizes[i].bytes);
		assert_int_equal(p.bytes[sizes[i].head], 2 << 3 | 2);
		p.n = 0;
	}
	free(text);
	protobuf_deinit(&p);
}

static void test_calls(void **state)
{
	char buf[64], three[4];
	assert_string_equal(calls_name(SYS_clock_nanosleep, buf, sizeof(buf)), "clock_nanosleep");
	assert_string_equal(calls_name(SYS_read, buf, sizeof(buf)), "read");
	assert_string_equal(calls_name(SYS_clock_nanosleep, three, sizeof(three)), "clo");
	assert_string_equal(calls_name(60000, buf, sizeof(buf)), "system call 60000");
	assert_string_equal(calls_name(-1, buf, sizeof(buf)), "system call -1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idmap), cmocka_unit_test(test_paths),
		cmocka_unit_test(test_durations), cmocka_unit_test(test_fit),
		cmocka_unit_test(test_color), cmocka_unit_test(test_maps),
		cmocka_unit_test(test_uri), cmocka_unit_test(test_json_lines),
		cmocka_unit_test(test_protobuf), cmocka_unit_test(test_clean),
		cmocka_unit_test(test_calls),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
