// SPDX-License-Identifier: MIT
//
// Which memory is the allocator's again: of a child that made its blocks and
// sleeps. Addresses are the same here and there.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/target/proc.h"
#include "search/heap/malloc_free.h"
#include "search/mark/scan.h"
#include "sanitized.h"

enum { CACHED = 40, SMALL = 200, LARGE = 3000, WORDS = 8 };

struct blocks {
	uint64_t used, cached, binned, fenced, topped, ready;
};

static void *filled(size_t bytes)
{
	void *p = malloc(bytes);
	memset(p, 0x5a, bytes);
	return p;
}

static void child(struct blocks *b, bool spoiled)
{
	void *used = filled(LARGE), *binned = filled(LARGE), *fence = filled(SMALL), *cached = filled(CACHED), *top = filled(LARGE);
	b->used = (uintptr_t)used;
	b->binned = (uintptr_t)binned;
	b->fenced = (uintptr_t)fence;
	b->cached = (uintptr_t)cached;
	b->topped = (uintptr_t)top;
	free(binned);
	free(cached);
	free(top);
	if (spoiled)
		((size_t *)used)[-1] += 8; // its size is none
	__atomic_store_n(&b->ready, 1, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static bool in(const struct span_list *s, uint64_t at)
{
	return scan_find(s->v, s->n, at) < s->n;
}

static void find(bool spoiled, struct blocks *b, struct span_list *out)
{
	struct proc_maps maps;
	struct blocks *shared = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = fork();
	if (pid == 0)
		child(shared, spoiled);
	while (!__atomic_load_n(&shared->ready, __ATOMIC_ACQUIRE))
		sched_yield();
	assert_int_equal(proc_maps_read(pid, &maps), 0);
	struct memory m;
	memory_of_process(&m, pid);
	m.maps = maps.v;
	m.nmaps = maps.n;
	m.deadline_ns = UINT64_MAX;
	malloc_free_find(&m, out);
	memory_close(&m);
	proc_maps_deinit(&maps);
	*b = *shared;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	munmap(shared, sizeof(*b));
}

static void what_was_freed_is_found(void **state)
{
	(void)state;
	struct blocks b;
	struct span_list freed = {0};
	find(false, &b, &freed);
	assert_true(in(&freed, b.binned + WORDS * 8) && in(&freed, b.topped + WORDS * 8));
	assert_true(in(&freed, b.binned + LARGE - 8)); // to its end
	assert_false(in(&freed, b.used + WORDS * 8) || in(&freed, b.used) || in(&freed, b.used + LARGE - 8));
	assert_false(in(&freed, b.fenced) || in(&freed, b.fenced + SMALL - 8));
	free(freed.v);
}

static void a_threads_cache_is_known_by_its_key(void **state)
{
	(void)state;
	struct blocks b;
	struct span_list freed = {0};
	find(false, &b, &freed);
	if (!in(&freed, b.cached + 16))
		skip(); // a C library whose cache is made in another way
	assert_false(in(&freed, b.cached + CACHED)); // what comes behind is another's
	free(freed.v);
}

static void a_heap_that_is_not_sound_has_nothing_freed(void **state)
{
	(void)state;
	struct blocks b;
	struct span_list freed = {0};
	find(true, &b, &freed);
	assert_false(in(&freed, b.binned + WORDS * 8) || in(&freed, b.topped + WORDS * 8) || in(&freed, b.used));
	free(freed.v);
}

int main(void)
{
	if (not_under(SANITIZED, "the heap is the sanitizer's, and what is looked at here is the C library's"))
		return SKIPPED_PROGRAM;
	mallopt(M_PERTURB, 0);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_freed_is_found), cmocka_unit_test(a_threads_cache_is_known_by_its_key),
		cmocka_unit_test(a_heap_that_is_not_sound_has_nothing_freed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
