// SPDX-License-Identifier: MIT
//
// Frames of a PHP script, laid out in this process's own memory as PHP 8.2 has them, and as it has them not.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <unistd.h>

#include "unwind/php.h"

enum { FRAMES = 4, OPS = 3 };

struct text {
	uint64_t head, hash, length;
	char value[40];
};

struct op {
	uint64_t handler;
	uint32_t words[4], line, rest;
};

struct function {
	uint64_t kind, name, scope, unused[5], temporaries_and_cache;
	uint32_t cache_bytes, variables, count, pad;
	uint64_t opcodes, others[7], file;
	uint32_t first_line, last_line;
};

struct data {
	uint64_t opline, call, value, function, self[2], prev;
};

struct script {
	struct text inner, run, worker, file, suspend;
	uint64_t worker_class[2];
	struct op ops[OPS];
	struct function functions[FRAMES];
	struct data frames[FRAMES];
};

static struct unwind *self;

static uint64_t address(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void set(struct text *t, const char *value)
{
	t->length = strlen(value);
	memcpy(t->value, value, t->length + 1);
}

// Fiber's suspend() < inner() < Worker::run() < the file itself; the last has no function at all.
static void lay_out(struct script *s)
{
	memset(s, 0, sizeof(*s));
	set(&s->inner, "inner");
	set(&s->run, "run");
	set(&s->worker, "Worker");
	set(&s->suspend, "suspend");
	set(&s->file, "/srv/a.php");
	s->worker_class[1] = address(&s->worker);
	for (uint32_t i = 0; i < OPS; i++)
		s->ops[i].line = 10 + i;
	for (size_t i = 0; i < FRAMES; i++) {
		s->functions[i] = (struct function){.kind = 2, .count = OPS, .opcodes = address(s->ops),
						    .file = address(&s->file), .first_line = 10, .last_line = 12};
		s->frames[i] = (struct data){.opline = address(&s->ops[i % OPS]), .function = address(&s->functions[i]),
					     .prev = i + 1 < FRAMES ? address(&s->frames[i + 1]) : 0};
	}
	s->functions[0].kind = 1;
	s->functions[0].name = address(&s->suspend);
	s->functions[1].name = address(&s->inner);
	s->functions[2].name = address(&s->run);
	s->functions[2].scope = address(s->worker_class);
}

static size_t look(struct script *s, struct php_frame *out, size_t max)
{
	return php_list(self, address(&s->frames[0]), out, max);
}

static void test_frames(void **state)
{
	struct script s;
	struct php_frame f[8];
	(void)state;
	lay_out(&s);
	assert_int_equal(look(&s, f, 8), 4);
	assert_string_equal(f[0].name, "suspend");
	assert_string_equal(f[0].file, "");
	assert_string_equal(f[1].name, "inner");
	assert_string_equal(f[1].file, "/srv/a.php");
	assert_int_equal(f[1].line, 11);
	assert_string_equal(f[2].name, "Worker::run");
	assert_int_equal(f[2].line, 12);
	assert_string_equal(f[3].name, "{main}");
	assert_int_equal(f[3].line, 10);
	assert_int_equal(look(&s, f, 2), 2);
	s.frames[3].function = 0; // the first frame of a fiber
	assert_int_equal(look(&s, f, 8), 3);
}

// A word that is not what it would be in this layout: nothing is told of any frame.
static void test_other_layout(void **state)
{
	struct script s;
	struct php_frame f[8];
	(void)state;
	uint64_t *words[] = {&s.frames[1].opline, &s.functions[1].opcodes, &s.functions[1].file, &s.functions[2].scope,
			     &s.functions[1].name, &s.functions[1].kind, &s.frames[1].function, &s.frames[0].prev,
			     &s.file.length, &s.inner.length};
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		static const uint64_t bad[] = {3, 0x7fff0000, UINT64_MAX, UINT64_MAX - 7};
		for (size_t k = 0; k < 4; k++) {
			lay_out(&s);
			*words[i] = bad[k];
			assert_int_equal(look(&s, f, 8), 0);
		}
	}
	lay_out(&s);
	s.ops[1].line = 13; // behind the function's end
	assert_int_equal(look(&s, f, 8), 0);
	lay_out(&s);
	s.functions[1].count = 1;
	assert_int_equal(look(&s, f, 8), 0);
	lay_out(&s);
	s.frames[3].prev = address(&s.frames[0]); // a ring has an end, too
	assert_int_equal(look(&s, f, 8), 8);
	assert_int_equal(php_list(self, 0, f, 8), 0);
	assert_int_equal(php_list(self, 12, f, 8), 0);
}

// Names are the program's: long ones are cut, and nothing goes to a terminal that is not text.
static void test_texts(void **state)
{
	struct script s;
	struct php_frame f[8];
	(void)state;
	lay_out(&s);
	set(&s.inner, "in\033er");
	assert_int_equal(look(&s, f, 8), 4);
	assert_string_equal(f[1].name, "in?er");
	struct {
		struct text t;
		char more[400];
	} big = {.t = {.length = 200}};
	memset(big.t.value, 'x', 200);
	s.functions[1].name = address(&big);
	s.functions[1].scope = address(s.worker_class);
	assert_int_equal(look(&s, f, 8), 4);
	assert_int_equal(strlen(f[1].name), PHP_NAME - 1);
	assert_memory_equal(f[1].name, "Worker::xxx", 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_other_layout),
		cmocka_unit_test(test_texts),
	};
	if (unwind_new(&self, getpid()))
		return 77;
	int r = cmocka_run_group_tests(tests, NULL, NULL);
	unwind_free(self);
	return r;
}
