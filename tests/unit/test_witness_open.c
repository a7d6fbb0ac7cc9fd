// SPDX-License-Identifier: MIT
//
// Of several looks at one coroutine: which ways are open, and who ran though it was shown to be lost.
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

#include "trace/looks/witness.h"

static struct witness_set set;
static char folder[] = "/tmp/ctp-witness-XXXXXX";

static int setup(void **state)
{
	(void)state;
	strcpy(folder + sizeof(folder) - 7, "XXXXXX");
	set = (struct witness_set){0};
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	char path[64];
	snprintf(path, sizeof(path), "%s/lines", folder);
	unlink(path);
	witness_deinit(&set);
	return rmdir(folder);
}

// Of coroutines from 100 on there are newer changes: they ran since.
static int counts(void *arg, uint64_t coroutine, uint64_t changes)
{
	(void)arg;
	(void)changes;
	return coroutine < 100 ? 1 : -1;
}

static void look_all(unsigned id, const char *p4, const char *p6a, const char *open)
{
	char path[64];
	snprintf(path, sizeof(path), "%s/lines", folder);
	FILE *f = fopen(path, "a");
	assert_non_null(f);
	fprintf(f,
		"{\"v\":1,\"ns\":5,\"rule\":\"CTP001\",\"coroutine\":%u,\"changes\":2,\"fd\":7,\"gen\":1,\"evidence\":["
		"{\"id\":\"P0\",\"holds\":true},{\"id\":\"P2\",\"holds\":true},{\"id\":\"P3\",\"holds\":true},{\"id\":\"P4\",\"holds\":%s},"
		"{\"id\":\"P6a\",\"holds\":%s,\"text\":\"of memory\"}],\"open\":[%s]}\n",
		id, p4, p6a, open);
	assert_int_equal(fclose(f), 0);
}

static void look(unsigned id, const char *p6a, const char *open)
{
	look_all(id, "true", p6a, open);
}

static const struct witness *read_all(void)
{
	int at = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(witness_read(&set, at, "lines", counts, NULL), 0);
	close(at);
	assert_int_equal(set.bad_lines, 0);
	return set.n ? &set.items[0] : NULL;
}

#define EVENT "\"an event of fd 4#1, which is registered\""
#define ROW "\"fd 4 in epoll fd 5 is registered and leads to it too\""
#define WORD "\"the word at 0x5000 (heap) leads to it\""

static void the_last_look_says_what_is_open(void **state)
{
	(void)state;
	look(41, "null", EVENT);
	look(41, "false", EVENT "," WORD);
	const struct witness *w = read_all();
	assert_int_equal(w->nopen, 2);
	assert_string_equal(w->open[1], "the word at 0x5000 (heap) leads to it");
}

// That nothing led to it lasts: a finding would contradict itself.
static void a_word_is_no_way_once_there_was_none(void **state)
{
	(void)state;
	look(41, "true", EVENT);
	look(41, "false", EVENT "," WORD "," ROW);
	const struct witness *w = read_all();
	assert_int_equal(w->items[PROOF_P6A].holds, HOLDS_TRUE);
	assert_int_equal(w->nopen, 2);
	assert_string_equal(w->open[0], "an event of fd 4#1, which is registered");
	assert_string_equal(w->open[1], "fd 4 in epoll fd 5 is registered and leads to it too");
}

// Where not all was shown, no disguise was looked for: that nothing led to it does not last, and is no answer.
static void plain_pointers_are_not_all(void **state)
{
	(void)state;
	look_all(41, "null", "true", "");
	look_all(42, "null", "true", "");
	look_all(42, "true", "null", "");
	look_all(43, "null", "true", "");
	look(43, "true", "");
	look(43, "false", "");
	look_all(44, "null", "true", "");
	look(44, "false", "");
	read_all();
	assert_int_equal(set.items[0].items[PROOF_P6A].holds, HOLDS_OPEN);
	assert_string_equal(set.items[0].items[PROOF_P6A].text,
			    "no plain pointer was found; disguises are looked for where all else is shown");
	assert_int_equal(set.items[1].items[PROOF_P6A].holds, HOLDS_OPEN);
	assert_int_equal(set.items[2].items[PROOF_P6A].holds, HOLDS_TRUE);
	assert_int_equal(set.items[3].items[PROOF_P6A].holds, HOLDS_FALSE);
}

static void nor_one_that_was_there_before(void **state)
{
	(void)state;
	look(41, "false", WORD);
	look(41, "true", "");
	assert_int_equal(read_all()->nopen, 0);
}

static void all_that_ran_are_kept_once(void **state)
{
	(void)state;
	look(100, "true", "");
	look(101, "true", "");
	look(100, "true", "");
	look(102, "false", ""); // not shown to be lost
	read_all();
	assert_int_equal(set.n, 0);
	assert_int_equal(set.nran, 2);
	assert_int_equal(set.ran[0], 100);
	assert_int_equal(set.ran[1], 101);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {TEST(the_last_look_says_what_is_open), TEST(a_word_is_no_way_once_there_was_none),
					   TEST(nor_one_that_was_there_before), TEST(plain_pointers_are_not_all),
					   TEST(all_that_ran_are_kept_once)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
