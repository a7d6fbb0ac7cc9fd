// SPDX-License-Identifier: MIT
//
// The answer to `ctp-ctl PID status` in words; an answer that lacks something is shown all the same.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ctl/status.h"

static char *text;

static void print(const char *status)
{
	size_t n;
	free(text);
	json_t *o = json_loads(status, 0, NULL);
	assert_non_null(o);
	FILE *to = open_memstream(&text, &n);
	status_print(o, to);
	fclose(to);
	json_decref(o);
}

static void each_thing_has_its_line(void **state)
{
	print("{\"pid\":12,\"program\":\"./a\\u001bb\",\"way\":\"attached\",\"ctp_run\":13,\"processes\":2,\"recording\":{\"state\":\"stopped\","
	      "\"since\":\"2026-01-01T00:00:00+00:00\",\"ns\":2000000000,\"stops\":2,\"stopped_ns\":1000000000,\"not_recorded\":7},"
	      "\"coroutines\":3,\"threads\":4,\"switches\":5,\"records\":6,\"events\":0,\"lost\":1,"
	      "\"output\":{\"path\":\"/x\",\"bytes\":2500000,\"max_bytes\":1073741824},\"flight_bytes\":null,\"event_list\":\"a:*\"}");
	assert_string_equal(text, "pid 12  ./a?b  (attached, ctp-run 13)\n"
				  "recording: stopped; since 2026-01-01T00:00:00+00:00 (2.0 s)\n"
				  "stopped: 2 times, 1.0 s in all: 7 records of that time are not in the history\n"
				  "seen: 3 coroutines, 5 switches on 4 threads of 2 processes; 6 records written, 1 lost\n"
				  "trace: /x, 2.5 MB, history of at most 1.1 GB\n"
				  "events: a:*, 0 written\n");
}

static void what_is_not_said_is_left_out(void **state)
{
	print("{\"flight_bytes\":64000000,\"lost\":-5}");
	assert_non_null(strstr(text, "flight: the newest 64.0 MB of history are kept in memory\n"));
	assert_non_null(strstr(text, "; 0 records written, 0 lost\n"));
	assert_non_null(strstr(text, "events: all, 0 written\n"));
	assert_null(strstr(text, "stopped: "));
}

static int end(void **state)
{
	free(text);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thing_has_its_line),
		cmocka_unit_test(what_is_not_said_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, end);
}
