// SPDX-License-Identifier: MIT
//
// How deep stacks have been, by what is left on them: stacks of this process, in tables that are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/slices/highwater.h"

enum { PAGE = 4096, STACK = 64 * PAGE, USED = 512 };

struct bench {
	struct ctp_header header;
	struct ctp_ext ext;
	struct ctp_state *states;
	struct ctp_region r;
	char *stack;
};

static void bench(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->states = aligned_alloc(64, sizeof(*b->states));
	memset(b->states, 0, sizeof(*b->states));
	b->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(b->stack != MAP_FAILED);
	b->header.allocated_count = 1;
	b->r = (struct ctp_region){
		.header = &b->header, .ext = &b->ext, .states = b->states, .stations_max = 1};
	struct ctp_state *s = b->states;
	s->owner = CTP_OWNER_GUEST;
	s->entity = CTP_COROUTINE;
	s->life = CTP_SUSPENDED;
	s->id = 41;
	s->runs = 1;
	s->lo = s->block_lo = (uintptr_t)b->stack;
	s->hi = s->block_hi = s->lo + STACK;
	memset(b->stack + STACK - PAGE, 1, PAGE); // it has run
}

static void unbench(struct bench *b)
{
	munmap(b->stack, STACK);
	free(b->states);
}

// A frame with `words` words, from `at` on.
static void frame(struct bench *b, size_t at, size_t words)
{
	for (size_t i = 0; i < words; i++)
		((uint64_t *)(b->stack + at))[i] = 0x1234567 + i;
}

// Bytes never used, as the line about it has it; -1: there is none.
static long unused(struct bench *b)
{
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	highwater_write(out, &b->r, getpid(), &(struct open_stacks){0}, UINT64_MAX);
	fclose(out);
	json_t *o = n ? json_loads(text, JSON_DISABLE_EOF_CHECK, NULL) : NULL;
	long found = o ? (long)json_integer_value(json_object_get(o, "unused")) : -1;
	if (o) {
		assert_string_equal(json_string_value(json_object_get(o, "rule")), "CTP020");
		assert_int_equal(json_integer_value(json_object_get(o, "coroutine")), 41);
		assert_int_equal(json_integer_value(json_object_get(o, "size")), STACK);
	}
	json_decref(o);
	free(text);
	return found;
}

static void only_the_last_tenth_is_near_the_end(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	assert_int_equal(unused(&b), -1);
	frame(&b, STACK / 2, USED);
	assert_int_equal(unused(&b), -1);
	frame(&b, PAGE, USED);
	assert_int_equal(unused(&b), PAGE);
	frame(&b, 64, USED);
	assert_int_equal(unused(&b), 64);
	unbench(&b);
}

static void paint_and_canaries_are_no_use(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	memset(b.stack, 0xa5, STACK - PAGE);
	assert_int_equal(unused(&b), -1);
	((uint64_t *)b.stack)[0] = 0xdeadbeef; // the lowest word, which must not change
	assert_int_equal(unused(&b), -1);
	frame(&b, 2 * PAGE, USED);
	assert_int_equal(unused(&b), 2 * PAGE);
	unbench(&b);
}

static void a_library_keeps_something_there(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	frame(&b, 0, 16);
	assert_int_equal(unused(&b), -1);
	frame(&b, 2 * PAGE, USED); // the stack's own use, behind it
	assert_int_equal(unused(&b), 2 * PAGE);
	frame(&b, PAGE / 2, USED); // no blank page between them
	assert_int_equal(unused(&b), 0);
	unbench(&b);
}

static void guards_are_not_the_stacks(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	frame(&b, 3 * PAGE, USED);
	assert_int_equal(mprotect(b.stack, 2 * PAGE, PROT_NONE), 0);
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	highwater_write(out, &b.r, getpid(), &(struct open_stacks){0}, UINT64_MAX);
	fclose(out);
	json_t *o = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	assert_int_equal(json_integer_value(json_object_get(o, "unused")), PAGE);
	assert_int_equal(json_integer_value(json_object_get(o, "size")), STACK - 2 * PAGE);
	json_decref(o);
	free(text);
	unbench(&b);
}

static void of_some_nothing_can_be_told(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	struct ctp_state *s = b.states, was;
	frame(&b, 64, USED);
	was = *s;
	assert_int_equal(unused(&b), 64);
	s->flags = CTP_STATE_SHARED_STACK; // others have been there, too
	assert_int_equal(unused(&b), -1);
	*s = was;
	s->life = CTP_FINISHED;
	assert_int_equal(unused(&b), -1);
	*s = was;
	s->runs = 0;
	assert_int_equal(unused(&b), -1);
	*s = was;
	s->block_lo = 0; // on the heap, perhaps
	s->lo += PAGE;
	assert_int_equal(unused(&b), -1);
	*s = was;
	s->seq = 1; // being written
	assert_int_equal(unused(&b), -1);
	unbench(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_last_tenth_is_near_the_end),
		cmocka_unit_test(paint_and_canaries_are_no_use),
		cmocka_unit_test(a_library_keeps_something_there),
		cmocka_unit_test(guards_are_not_the_stacks),
		cmocka_unit_test(of_some_nothing_can_be_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
