// SPDX-License-Identifier: MIT
//
// How far down stacks go that began without a call: stacks of this process, in tables that are made up.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/target/open_stacks.h"
#include "sanitized.h"

enum { PAGE = 4096, BYTES = 1 << 20, STATES = 4 };

struct bench {
	struct ctp_header header;
	struct ctp_ext ext;
	struct ctp_state *states;
	struct ctp_region r;
	struct open_stacks open;
};

static void bench(struct bench *b)
{
	memset(b, 0, sizeof(*b));
	b->states = aligned_alloc(64, STATES * sizeof(*b->states));
	memset(b->states, 0, STATES * sizeof(*b->states));
	b->ext.functions = 1;
	b->r = (struct ctp_region){
		.header = &b->header, .ext = &b->ext, .states = b->states, .stations_max = STATES};
}

static void unbench(struct bench *b)
{
	open_stacks_deinit(&b->open);
	free(b->states);
}

static struct ctp_state *add(struct bench *b, void *top)
{
	struct ctp_state *s = &b->states[b->header.allocated_count++];
	s->owner = CTP_OWNER_GUEST;
	s->entity = CTP_COROUTINE;
	s->life = CTP_SUSPENDED;
	s->id = 50 - b->header.allocated_count;
	s->lo = s->hi = (uintptr_t)top;
	return s;
}

// Where the stack ends that s has; 0: that is not found.
static uint64_t end_of(struct bench *b, const struct ctp_state *s, bool mapped)
{
	open_stacks_find(&b->open, &b->r, getpid(), UINT64_MAX);
	const struct open_stack *found = open_stacks_of(&b->open, s);
	if (found)
		assert_int_equal(found->mapped, mapped);
	return found ? found->lo : 0;
}

static void a_block_of_its_own(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	struct bench b;
	bench(&b);
	char *large = malloc(BYTES), *small = malloc(3 * PAGE);
	memset(small, 1, 3 * PAGE);
	struct ctp_state *s = add(&b, large + BYTES - 64), *t = add(&b, small + 3 * PAGE - 64);
	assert_int_equal(end_of(&b, s, true), (uintptr_t)large);
	assert_int_equal(end_of(&b, t, false), (uintptr_t)small);
	b.ext.functions = 0;
	assert_int_equal(end_of(&b, s, true), 0);
	b.ext.functions = 1;
	s->lo -= PAGE; // known
	assert_int_equal(end_of(&b, s, true), 0);
	s->lo = s->hi = (uintptr_t)large + BYTES - 3 * PAGE; // much lies above it
	assert_int_equal(end_of(&b, s, true), 0);
	free(large);
	free(small);
	unbench(&b);
}

static void a_guard_in_the_block(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	struct bench b;
	bench(&b);
	char *block = aligned_alloc(PAGE, BYTES);
	memset(block, 1, BYTES);
	assert_int_equal(mprotect(block, 2 * PAGE, PROT_NONE), 0);
	struct ctp_state *s = add(&b, block + BYTES - 64);
	assert_int_equal(end_of(&b, s, true), (uintptr_t)block + 2 * PAGE);
	mprotect(block, 2 * PAGE, PROT_READ | PROT_WRITE);
	free(block);
	unbench(&b);
}

static void several_in_a_block(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	struct bench b;
	bench(&b);
	char *block = malloc(BYTES);
	struct ctp_state *s = add(&b, block + BYTES - 64), *t = add(&b, block + BYTES / 2);
	assert_int_equal(end_of(&b, s, true), 0);
	assert_int_equal(end_of(&b, t, true), 0);
	t->life = CTP_FINISHED;
	assert_int_equal(end_of(&b, s, true), (uintptr_t)block);
	t->life = CTP_SUSPENDED; // within the last page, too
	t->lo = t->hi = s->hi + 32;
	assert_int_equal(end_of(&b, s, true), 0);
	free(block);
	unbench(&b);
}

static void no_block(void **state)
{
	(void)state;
	struct bench b;
	bench(&b);
	char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(end_of(&b, add(&b, p + BYTES), true), 0);
	munmap(p, BYTES);
	unbench(&b);
}

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10); // a search allocates, too: the heap must not grow by it
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_of_its_own),
		cmocka_unit_test(a_guard_in_the_block),
		cmocka_unit_test(several_in_a_block),
		cmocka_unit_test(no_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
