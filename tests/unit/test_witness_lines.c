// SPDX-License-Identifier: MIT
//
// Looks at one coroutine, merged. What weakens an answer goes with the look that gave it: a last look, at
// which nothing could be told any more, takes away neither.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ctp/rules.h"
#include "trace/looks/witness.h"

#define HEAD "{\"v\":1,\"ns\":1,\"rule\":\"CTP008\",\"coroutine\":4,\"changes\":6,\"cand\":4294967295,\"fd\":7,\"gen\":1,"
#define LOOK(id, holds, more) HEAD "\"evidence\":[{\"id\":\"" id "\",\"holds\":" holds ",\"text\":\"t\"}]" more "}\n"
#define PUT_OFF ",\"put_off\":true"
#define UNCHECKED ",\"unchecked\":true"

static int counts(void *arg, uint64_t coroutine, uint64_t changes)
{
	(void)arg;
	return coroutine == 4 && changes == 6;
}

// The entry after these lines. It is the caller's.
static struct witness_set read_lines(const char *text)
{
	struct witness_set set = {0};
	char path[] = "/tmp/ctp-witness.XXXXXX";
	int fd = mkstemp(path);
	size_t n = strlen(text);
	assert_int_equal(write(fd, text, n), (ssize_t)n);
	close(fd);
	int folder = open("/tmp", O_RDONLY | O_DIRECTORY);
	assert_int_equal(witness_read(&set, folder, path + sizeof("/tmp/") - 1, counts, NULL), 0);
	close(folder);
	unlink(path);
	assert_int_equal(set.bad_lines, 0);
	assert_int_equal(set.n, 1);
	return set;
}

#define AFTER(text, field, is)                                                                               \
	do {                                                                                                 \
		struct witness_set set = read_lines(text);                                                   \
		const struct witness *w = witness_find(&set, RULE_DELIVERED, 4, 7, 1);                       \
		assert_non_null(w);                                                                          \
		assert_int_equal(w->field, is);                                                              \
		witness_deinit(&set);                                                                        \
	} while (0)

static void a_turn_that_may_come(void **state)
{
	(void)state;
	AFTER(LOOK("P3", "true", PUT_OFF), put_off, true);
	AFTER(LOOK("P3", "true", PUT_OFF) LOOK("P3", "null", ""), put_off, true);
	AFTER(LOOK("P3", "true", PUT_OFF) LOOK("P3", "null", ""), items[PROOF_P3].holds, HOLDS_TRUE);
	AFTER(LOOK("P3", "true", PUT_OFF) LOOK("P4", "true", ""), put_off, true);
	AFTER(LOOK("P3", "true", PUT_OFF) LOOK("P3", "true", ""), put_off, false);
	AFTER(LOOK("P3", "true", PUT_OFF) LOOK("P3", "false", ""), put_off, false);
	AFTER(LOOK("P3", "true", "") LOOK("P3", "null", PUT_OFF), put_off, false);
}

static void a_search_that_nothing_checks(void **state)
{
	(void)state;
	AFTER(LOOK("P6a", "true", UNCHECKED), unchecked, true);
	AFTER(LOOK("P6a", "true", UNCHECKED) LOOK("P6a", "null", ""), unchecked, true);
	AFTER(LOOK("P6a", "true", UNCHECKED) LOOK("P6a", "true", ""), unchecked, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_that_may_come),
		cmocka_unit_test(a_search_that_nothing_checks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
