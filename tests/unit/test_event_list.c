// SPDX-License-Identifier: MIT
//
// What --events accepts, and which of its items match nothing.
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "engine/start/event_list.h"

static void lists_are_checked(void **state)
{
	(void)state;
	static const struct {
		const char *value;
		bool sound;
	} rows[] = {
		{ "a:b", true }, { "a:b,!c", true }, { "*:x?", true }, { "a", true }, { ",a,", true },
		{ "", false }, { ",", false }, { "!", false }, { "a:", false }, { ":a", false }, { "a:b:c", false },
		{ "a-b", false }, { "a b!", false }, { "@/nonexistent/file", false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct event_list l = { 0 };
		char why[256];
		int r = event_list_parse(&l, rows[i].value, why, sizeof(why));
		if ((r == 0) != rows[i].sound)
			fail_msg("'%s': %d, %s", rows[i].value, r, why);
		assert_int_equal(*why == '\0', r == 0);
		assert_int_equal(l.text != NULL, r == 0);
		event_list_deinit(&l);
	}
}

static void a_file_is_read(void **state)
{
	(void)state;
	char path[] = "/tmp/ctp-event-list-XXXXXX", value[64], why[256];
	int fd = mkstemp(path);
	static const char text[] = "# all\n\nhttp:*, db:query\n!http:debug # not these\n";
	struct event_list l = { 0 };
	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	close(fd);
	snprintf(value, sizeof(value), "x:y,@%s", path);
	assert_int_equal(event_list_parse(&l, value, why, sizeof(why)), 0);
	assert_string_equal(l.text, "x:y,http:*, db:query,!http:debug ");
	unlink(path);
	event_list_deinit(&l);
}

static void what_matches_nothing(void **state)
{
	(void)state;
	struct ctp_ext ext = { .events = 2 };
	static struct ctp_event_row rows[2] = { { .ready = 1, .text = "http\0request\0" }, { .ready = 1, .text = "db\0query\0" } };
	struct ctp_region r = { .ext = &ext, .events = rows, .events_max = 2 };
	struct event_list l = { 0 };
	char buf[64], why[256];
	uint32_t seen = 0;
	assert_int_equal(event_list_parse(&l, "http:*,cache,!db:other,d?", why, sizeof(why)), 0);
	assert_true(event_list_unmatched(&l, buf, sizeof(buf)));
	assert_string_equal(buf, "http:*, cache, !db:other, d?");
	event_list_look(&l, &r, &seen);
	assert_int_equal(seen, 2);
	assert_true(event_list_unmatched(&l, buf, sizeof(buf)));
	assert_string_equal(buf, "cache, !db:other");
	ext.events = 7; // more than there is room for
	event_list_look(&l, &r, &seen);
	assert_int_equal(seen, 2);
	event_list_deinit(&l);
	assert_false(event_list_unmatched(&l, buf, sizeof(buf)));
}

// USDT probes of others are chosen by an item that spells their provider out, alone.
static void probes_of_others(void **state)
{
	(void)state;
	static const struct {
		const char *list;
		bool any, start, done;
	} rows[] = {
		{ "python:*", true, true, true },	    { "python", true, true, true },
		{ "*", false, false, false },		    { "*:gc__start", false, false, false },
		{ "pyt?on:*", false, false, false },	    { "!python:*", false, false, false },
		{ "python:gc__s*", true, true, false },	    { "python:*,!*:gc__done", true, true, false },
		{ "*,python:gc__done", true, false, true }, { "http:*", true, false, false },
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct event_list l = { 0 };
		char why[256];
		assert_int_equal(event_list_parse(&l, rows[i].list, why, sizeof(why)), 0);
		assert_int_equal(event_list_names_any(&l), rows[i].any);
		assert_int_equal(event_list_names(&l, "python", "gc__start"), rows[i].start);
		assert_int_equal(event_list_names(&l, "python", "gc__done"), rows[i].done);
		event_list_deinit(&l);
	}
	struct event_list all = { 0 };
	assert_false(event_list_names_any(&all));
	assert_false(event_list_names(&all, "python", "gc__start"));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lists_are_checked), cmocka_unit_test(a_file_is_read),
					    cmocka_unit_test(what_matches_nothing), cmocka_unit_test(probes_of_others) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
