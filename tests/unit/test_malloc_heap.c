// SPDX-License-Identifier: MIT
//
// Which block of malloc's holds an address: blocks of this process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "own_memory.h"
#include "search/heap/malloc_heap.h"
#include "sanitized.h"

// malloc's blocks are found as before, also where most of them was never touched.
static void a_block_of_untouched_pages_is_found(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	char *block = malloc(4 << 20);
	struct own own;
	struct malloc_heap_query q = {.addr = (uintptr_t)block + (3 << 20)};
	own_open(&own);
	malloc_heap_resolve(&own.memory, &q, 1);
	assert_true(q.found);
	assert_int_equal(q.block.lo, (uintptr_t)block);
	own_close(&own);
	free(block);
}

static void *makes_an_arena(void *arg)
{
	*(void **)arg = malloc(300);
	return NULL;
}

// A thread's heap is found, too, where the kernel has put a stack just below it, and made one mapping of both.
static void an_arena_above_a_stack(void **state)
{
	enum { STACK_BYTES = 8 << 20, ARENA = 64 << 20 };
	pthread_t thread;
	void *block = NULL;
	(void)state;
	if (not_under(SANITIZED, "arenas are the C library's, and the sanitizer has none"))
		skip();
	assert_int_equal(pthread_create(&thread, NULL, makes_an_arena, &block), 0);
	pthread_join(thread, NULL);
	uintptr_t base = (uintptr_t)block & ~(uintptr_t)(ARENA - 1);
	if (base == ((uintptr_t)sbrk(0) & ~(uintptr_t)(ARENA - 1)))
		skip(); // there is one heap for all threads
	char *stack = mmap((void *)(base - STACK_BYTES), STACK_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	if (stack == MAP_FAILED)
		skip();
	stack[STACK_BYTES - 1] = 1;
	struct own own;
	struct malloc_heap_query q[] = {{.addr = base - 4096}, {.addr = base - 8}, {.addr = (uintptr_t)block + 8}};
	own_open(&own);
	malloc_heap_resolve(&own.memory, q, 3);
	assert_false(q[0].found);
	assert_false(q[1].found);
	assert_true(q[2].found);
	assert_int_equal(q[2].block.lo, (uintptr_t)block);
	own_close(&own);
	munmap(stack, STACK_BYTES);
	free(block);
}

// Any address in a block finds that block, but for its last 8 bytes, which lie in the next one's header.
static void each_address_of_a_block(void **state)
{
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	char *a = malloc(100), *b = malloc(5000);
	uint64_t lo = (uintptr_t)a;
	struct malloc_heap_query q[] = {{.addr = lo}, {.addr = lo + 95}, {.addr = (uintptr_t)b + 4991}, {.addr = lo - 8}};
	struct own own;
	own_open(&own);
	malloc_heap_resolve(&own.memory, q, 4); // sorts them
	for (size_t i = 0; i < 4; i++) {
		if (q[i].addr == lo - 8) {
			assert_false(q[i].found && q[i].block.lo == lo);
			continue;
		}
		bool of_a = q[i].addr < lo + 100 && q[i].addr >= lo;
		assert_true(q[i].found);
		assert_int_equal(q[i].block.lo, of_a ? lo : (uintptr_t)b);
		assert_true(q[i].block.hi - q[i].block.lo >= (of_a ? 96u : 4992u));
	}
	assert_false(malloc_heap_is_idle(&own.memory, lo - 16));
	own_close(&own);
	free(a);
	free(b);
}

// What the query finds that asks for this address; {0, 0}: nothing.
static struct span block_of(uint64_t addr)
{
	struct own own;
	struct malloc_heap_query q = {.addr = addr};
	own_open(&own);
	malloc_heap_resolve(&own.memory, &q, 1);
	own_close(&own);
	return q.found ? q.block : (struct span){0, 0};
}

// A block with a mapping of its own begins where an alignment has put it.
static void an_aligned_block_with_its_own_mapping(void **state)
{
	enum { BYTES = 3 << 20 };
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	for (size_t align = 16; align <= 2 << 20; align *= 2) {
		char *block = aligned_alloc(align, BYTES);
		memset(block, 0x12, 64);
		struct span found = block_of((uintptr_t)block + BYTES - 8);
		assert_int_equal(found.lo, (uintptr_t)block);
		assert_true(found.hi >= (uintptr_t)block + BYTES - 8);
		free(block);
	}
}

// Pages in it that nobody may touch, as a guard below a stack, leave it one block, and what lies above it.
static void blocks_with_guards_in_them(void **state)
{
	enum { BYTES = 1 << 20, PAGE = 4096, MANY = 5 };
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	char *v[MANY];
	for (int i = 0; i < MANY; i++) {
		v[i] = malloc(BYTES);
		uintptr_t guard = ((uintptr_t)v[i] + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
		assert_int_equal(mprotect((void *)guard, PAGE, PROT_NONE), 0);
	}
	struct own own;
	struct malloc_heap_query q[MANY];
	own_open(&own);
	for (int i = 0; i < MANY; i++)
		q[i] = (struct malloc_heap_query){.addr = (uintptr_t)v[i] + BYTES / 2};
	malloc_heap_resolve(&own.memory, q, MANY);
	own_close(&own);
	for (int i = 0; i < MANY; i++) {
		bool any = false;
		for (int k = 0; k < MANY; k++)
			any |= q[k].found && q[k].block.lo == (uintptr_t)v[i];
		assert_true(any);
	}
	for (int i = 0; i < MANY; i++) {
		mprotect((void *)(((uintptr_t)v[i] + PAGE - 1) & ~(uintptr_t)(PAGE - 1)), PAGE,
			 PROT_READ | PROT_WRITE);
		free(v[i]);
	}
}

// A mapping of the program's own is no block, even if its first words could be a header's but for their size.
static void a_mapping_is_no_block(void **state)
{
	enum { BYTES = 1 << 20 };
	(void)state;
	uint64_t *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	assert_int_equal(block_of((uintptr_t)p + BYTES / 2).lo, 0);
	p[1] = BYTES / 2 + 10;
	assert_int_equal(block_of((uintptr_t)p + BYTES / 4).lo, 0);
	munmap(p, BYTES);
}

struct counted {
	uint64_t chunks, idle, heaps, sound;
};

static void on_chunk(void *ctx, const struct malloc_heap_chunk *c)
{
	struct counted *n = ctx;
	n->chunks++;
	n->idle += c->idle;
}

static void on_heap(void *ctx, uint64_t state, uint64_t last, uint64_t end)
{
	struct counted *n = ctx;
	(void)state;
	n->heaps++;
	n->sound += last && last < end;
}

static void all_chunks_are_visited(void **state)
{
	enum { MANY = 500 };
	(void)state;
	if (not_under(SANITIZED, "blocks are the sanitizer's, not those of the C library"))
		skip();
	void *v[MANY];
	struct counted n = {0}, more = {0};
	struct malloc_heap_visitor visitor = {&n, on_chunk, on_heap};
	struct own own;
	own_open(&own);
	malloc_heap_visit(&own.memory, &visitor);
	for (int i = 0; i < MANY; i++)
		v[i] = malloc(200);
	own_close(&own);
	own_open(&own);
	visitor.ctx = &more;
	malloc_heap_visit(&own.memory, &visitor);
	assert_true(n.sound > 0 && n.sound <= n.heaps && n.idle < n.chunks);
	assert_true(more.chunks >= n.chunks + MANY / 2); // some come out of chunks that were free
	own_close(&own);
	for (int i = 0; i < MANY; i++)
		free(v[i]);
}

int main(void)
{
	mallopt(M_MMAP_THRESHOLD, 128 << 10); // a search allocates, too: the heap must not grow by it
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_above_a_stack), cmocka_unit_test(a_block_of_untouched_pages_is_found),
		cmocka_unit_test(each_address_of_a_block), cmocka_unit_test(all_chunks_are_visited),
		cmocka_unit_test(an_aligned_block_with_its_own_mapping), cmocka_unit_test(blocks_with_guards_in_them),
		cmocka_unit_test(a_mapping_is_no_block),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
