// SPDX-License-Identifier: MIT
//
// What lies below a stack's pointer, and is dead: a made-up stack in this process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "own_memory.h"
#include "search/stacks/dead_stack.h"

enum { PAGE = 4096, PAGES = 8, BYTES = PAGES * PAGE };

struct bench {
	struct own own;
	struct dead_stack d;
	struct span_list out;
	uint64_t lo;
};

// A stack of which the topmost `touched` pages were used.
static int begin(struct bench *b, unsigned touched)
{
	unsigned char *stack = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t entry;
	*b = (struct bench){ .lo = (uintptr_t)stack };
	assert_ptr_not_equal(stack, MAP_FAILED);
	for (unsigned i = BYTES - touched * PAGE; i < BYTES; i++)
		stack[i] = (unsigned char)(i % 251);
	own_open(&b->own);
	assert_true(dead_stack_init(&b->d, &b->own.memory));
	return memory_page_entries(&b->own.memory, b->lo / PAGE, &entry, 1) == 1;
}

static void end(struct bench *b)
{
	dead_stack_deinit(&b->d);
	own_close(&b->own);
	free(b->out.v);
	munmap((void *)(uintptr_t)b->lo, BYTES);
}

static uint64_t *word(struct bench *b, uint64_t off)
{
	return (uint64_t *)(uintptr_t)(b->lo + off);
}

static void add(struct bench *b, uint64_t sp, uint64_t red, uint64_t floor, struct span left)
{
	b->out.n = 0;
	dead_stack_add(&b->d, &(struct dead_stack_of){ { b->lo, b->lo + BYTES }, b->lo + sp, red, floor, left }, &b->out);
}

static void is(struct bench *b, uint64_t from, uint64_t to)
{
	assert_int_equal(b->out.n, 1);
	assert_int_equal(b->out.v[0].lo - b->lo, from);
	assert_int_equal(b->out.v[0].hi - b->lo, to);
}

static const struct span none;

static void as_far_as_it_was_touched(void **state)
{
	struct bench b;
	(void)state;
	if (!begin(&b, 3))
		skip(); // the kernel does not show which pages were touched
	uint64_t sp = BYTES - 64;
	add(&b, sp, 0, 0, none);
	is(&b, BYTES - 3 * PAGE, sp);
	add(&b, sp, RED_ZONE, 0, none);
	is(&b, BYTES - 3 * PAGE, sp - RED_ZONE);
	end(&b);
}

static void never_its_lowest_page(void **state)
{
	struct bench b;
	(void)state;
	if (!begin(&b, PAGES))
		skip();
	add(&b, BYTES - 64, 0, 0, none);
	is(&b, PAGE, BYTES - 64);
	add(&b, PAGE + RED_ZONE, 0, 0, none); // it stands there
	assert_int_equal(b.out.n, 0);
	add(&b, BYTES + 8, 0, 0, none); // not on this stack
	assert_int_equal(b.out.n, 0);
	end(&b);
}

// A live word that points further down: a frame stands there.
static void frames_live_on_below(void **state)
{
	struct bench b;
	(void)state;
	if (!begin(&b, PAGES))
		skip();
	uint64_t sp = BYTES - 256, deeper = 5 * PAGE;
	*word(&b, sp + 64) = b.lo + deeper;
	add(&b, sp, 0, 0, none);
	is(&b, PAGE, deeper - RED_ZONE);
	struct span left = { b.lo + sp + 64, b.lo + sp + 72 }; // but not where its owner has left that behind
	add(&b, sp, 0, 0, left);
	is(&b, PAGE, sp);
	end(&b);
}

// A page that was wiped may begin somebody else's memory, unless nothing but a stack is there.
static void a_wiped_page_ends_it(void **state)
{
	struct bench b;
	(void)state;
	if (!begin(&b, PAGES))
		skip();
	memset(word(&b, 3 * PAGE), 0, PAGE);
	add(&b, BYTES - 64, 0, 0, none);
	is(&b, 4 * PAGE, BYTES - 64);
	add(&b, BYTES - 64, 0, b.lo + 2 * PAGE, none);
	is(&b, 2 * PAGE, BYTES - 64);
	end(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_far_as_it_was_touched), cmocka_unit_test(never_its_lowest_page),
		cmocka_unit_test(frames_live_on_below), cmocka_unit_test(a_wiped_page_ends_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
