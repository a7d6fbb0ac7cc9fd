// SPDX-License-Identifier: MIT
//
// Which block of malloc's holds an address: blocks of this process.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_above_a_stack), cmocka_unit_test(a_block_of_untouched_pages_is_found),
		cmocka_unit_test(each_address_of_a_block), cmocka_unit_test(all_chunks_are_visited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
