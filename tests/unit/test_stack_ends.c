// SPDX-License-Identifier: MIT
//
// Which words that are the end of a suspect's mapping mean what begins there.
// Suspects are made up; threads and their records are this process's own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/memory/pieces.h"
#include "search/stacks/stack_ends.h"
#include "search/heap/malloc_heap.h"
#include "sanitized.h"

enum { PAGE = 4096, STACK = 16 * PAGE, CONTEXT = 64 };

struct bench {
	struct ctp_header header;
	struct ctp_ext ext;
	struct ctp_state *states; // the neighbour's
	struct ctp_region r;
	struct suspect s;
	struct suspect *who;
	struct inspection l;
	struct search_piece *pieces;
	struct stack_ends e;
};

// A suspect with a mapping that ends at `end`; its stack ends `above` bytes before.
static void bench(struct bench *b, uint64_t end, uint64_t above)
{
	memset(b, 0, sizeof(*b));
	b->states = aligned_alloc(64, sizeof(*b->states));
	memset(b->states, 0, sizeof(*b->states));
	b->ext.context_words = CONTEXT / 8;
	b->header.allocated_count = 1;
	b->r = (struct ctp_region){.header = &b->header, .ext = &b->ext, .states = b->states, .stations_max = 1};
	b->s.nmine = 1;
	b->s.mine[0] = (struct span){end - STACK, end};
	b->s.s.lo = end - STACK;
	b->s.s.hi = end - above;
	b->who = &b->s;
	b->l = (struct inspection){.r = &b->r, .pid = getpid(), .who = &b->who, .n = 1, .deadline_ns = UINT64_MAX};
	assert_int_equal(proc_maps_read(getpid(), &b->l.maps), 0);
	memory_of_process(&b->l.memory, getpid());
	b->l.memory.deadline_ns = UINT64_MAX;
}

static void find(struct bench *b)
{
	size_t n;
	b->l.memory.maps = b->l.maps.v;
	b->l.memory.nmaps = b->l.maps.n;
	b->pieces = pieces_take(&b->l, &n);
	pieces_find_ends(&b->e, &b->l, b->pieces, n);
}

static void unbench(struct bench *b)
{
	stack_ends_deinit(&b->e);
	free(b->pieces);
	memory_close(&b->l.memory);
	proc_maps_deinit(&b->l.maps);
	free(b->states);
	free(b->l.tasks.v);
}

// A coroutine whose stack begins at `lo`, in a block that begins at `block`; its context lies at `slot`.
static void neighbour(struct bench *b, uint64_t lo, uint64_t block, uint64_t slot, uint32_t how)
{
	struct ctp_state *s = b->states;
	s->owner = CTP_OWNER_GUEST;
	s->entity = CTP_COROUTINE;
	s->life = CTP_SUSPENDED;
	s->how = how;
	s->lo = lo;
	s->hi = block + STACK;
	s->block_lo = block;
	s->block_hi = block + STACK;
	s->slot = slot;
}

static bool explained(struct bench *b, uint64_t at, uint64_t end)
{
	return stack_ends_explain(&b->e, at, end);
}

static void what_holds_the_context_knows_its_stack(void **state)
{
	(void)state;
	static uint64_t context[CONTEXT / 8], elsewhere;
	struct bench b;
	uint64_t end = 0x7f0000010000;
	bench(&b, end, 0);
	neighbour(&b, end, end, (uintptr_t)context, CTP_HOW_SWAP);
	find(&b);
	assert_true(explained(&b, (uintptr_t)context, end) && explained(&b, (uintptr_t)&context[7], end));
	assert_false(explained(&b, (uintptr_t)&elsewhere, end));
	assert_false(explained(&b, (uintptr_t)context, end + 8)); // another address
	assert_false(explained(&b, end + 100, end)); // a frame of the neighbour's means the suspect
	unbench(&b);
}

static void a_block_knows_its_own_start(void **state)
{
	(void)state;
	struct bench b;
	uint64_t end = 0x7f0000010000;
	bench(&b, end, 0);
	neighbour(&b, end + CONTEXT, end, end, CTP_HOW_SWAP); // its context first, then its stack
	find(&b);
	assert_true(explained(&b, end, end) && explained(&b, end + STACK - 8, end));
	assert_false(explained(&b, end + STACK, end));
	unbench(&b);
}

static void what_lies_above_a_stack_is_found_by_the_end(void **state)
{
	(void)state;
	static uint64_t context[CONTEXT / 8];
	struct bench b;
	uint64_t end = 0x7f0000010000;
	bench(&b, end, 200); // a control block, say
	neighbour(&b, end, end, (uintptr_t)context, CTP_HOW_SWAP);
	find(&b);
	assert_false(explained(&b, (uintptr_t)context, end) || explained(&b, end + 8, end));
	unbench(&b);
}

static void a_block_with_the_handle(void **state)
{
	(void)state;
	uint64_t end = 0x7f0000010000, handle = end + STACK - 80, block[4] = {1, handle, end, 0};
	struct span at = {(uintptr_t)block, (uintptr_t)(block + 4)};
	struct bench b;
	bench(&b, end, 0);
	neighbour(&b, end, end, handle, CTP_HOW_FCONTEXT);
	find(&b);
	assert_true(stack_ends_may_explain(&b.e, end));
	assert_false(stack_ends_may_explain(&b.e, end + 8));
	assert_true(stack_ends_explain_in(&b.e, at, end));
	block[1] = handle + 8;
	assert_false(stack_ends_explain_in(&b.e, at, end));
	unbench(&b);
}

// ---- threads

struct thread {
	pthread_barrier_t there, over;
	int tid;
	uint64_t sp, record;
};

static void *idle_for(void *arg)
{
	struct thread *t = arg;
	t->tid = gettid();
	t->sp = (uintptr_t)&t;
	t->record = (uintptr_t)pthread_self();
	pthread_barrier_wait(&t->there);
	pthread_barrier_wait(&t->over);
	return NULL;
}

// Where what was mapped for its stack begins, below its guard.
static uint64_t begins(const struct inspection *l, uint64_t sp)
{
	const struct maps_line *m = proc_maps_find(&l->maps, sp);
	assert_non_null(m);
	return m > l->maps.v && m[-1].hi == m->lo && !strncmp(m[-1].perms, "---", 3) ? m[-1].lo : m->lo;
}

static void tasks_are(struct bench *b, int tid, uint64_t sp)
{
	b->l.tasks.v = calloc(2, sizeof(*b->l.tasks.v));
	b->l.tasks.n = tid ? 2 : 1;
	b->l.tasks.v[0] = (struct proc_task){.tid = getpid(), .state = 'S', .sp = (uintptr_t)b};
	b->l.tasks.v[1] = (struct proc_task){.tid = tid, .state = 'S', .sp = sp};
}

static unsigned explained_words(struct bench *b, uint64_t lo, uint64_t hi, uint64_t end)
{
	unsigned n = 0;
	for (uint64_t at = lo; at < hi; at += 8)
		n += explained(b, at, end);
	return n;
}

static void start(pthread_t *p, struct thread *t)
{
	pthread_barrier_init(&t->there, NULL, 2);
	pthread_barrier_init(&t->over, NULL, 2);
	assert_int_equal(pthread_create(p, NULL, idle_for, t), 0);
	pthread_barrier_wait(&t->there);
}

static void a_threads_record_has_one_word_of_its_own(void **state)
{
	(void)state;
	pthread_t p;
	struct thread t;
	struct bench b;
	start(&p, &t);
	bench(&b, PAGE, 0);
	uint64_t end = begins(&b.l, t.sp);
	unbench(&b);
	bench(&b, end, 0);
	tasks_are(&b, t.tid, t.sp);
	find(&b);
	assert_int_equal(explained_words(&b, t.record, t.record + PAGE / 2, end), 1);
	assert_int_equal(explained_words(&b, t.sp - PAGE, t.record, end), 0); // its frames and variables are the program's
	unbench(&b);
	bench(&b, end, 0);
	tasks_are(&b, t.tid, (uintptr_t)&b); // it runs, or rests, on another stack just now
	find(&b);
	assert_int_equal(explained_words(&b, t.sp - PAGE, t.record, end), 0);
	unbench(&b);
	pthread_barrier_wait(&t.over);
	pthread_join(p, NULL);
}

static void nothing_on_an_ended_threads_stack_is_the_programs(void **state)
{
	(void)state;
	pthread_t p;
	struct thread t;
	struct bench b;
	start(&p, &t);
	bench(&b, PAGE, 0);
	uint64_t end = begins(&b.l, t.sp);
	unbench(&b);
	pthread_barrier_wait(&t.over);
	pthread_join(p, NULL); // the C library keeps its stack
	bench(&b, end, 0);
	if (!proc_maps_find(&b.l.maps, t.sp)) {
		unbench(&b);
		skip();
	}
	tasks_are(&b, 0, 0);
	find(&b);
	assert_true(explained(&b, t.sp & ~7ULL, end));
	assert_false(explained(&b, end - 8, end) || explained(&b, t.sp & ~7ULL, end + 8));
	unbench(&b);
}

static void the_loader_keeps_nothing_of_the_programs(void **state)
{
	(void)state;
	struct bench b;
	uint64_t end = 0x7f0000010000;
	bench(&b, end, 200);
	find(&b);
	for (size_t i = 0; i < b.l.maps.n; i++) {
		const struct maps_line *m = &b.l.maps.v[i];
		const char *base = strrchr(m->path, '/');
		bool loader = base && !strncmp(base, "/ld-linux", 9);
		assert_int_equal(explained(&b, m->lo, end), loader);
		assert_false(explained(&b, m->lo, end - 8)); // into the suspect
	}
	unbench(&b);
}

// ---- bare stacks: what begins at their end may be meant by any word at all

struct stack {
	char *at;      // a page of guard, then the stack
	uint64_t end;
	uint64_t context[CONTEXT / 8], neighbours[CONTEXT / 8];
};

// A suspect that was made by makecontext on a mapping of its own, and a neighbour whose stack begins at its end.
static void bare_bench(struct bench *b, struct stack *k)
{
	k->at = mmap(NULL, PAGE + STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(k->at, MAP_FAILED);
	assert_int_equal(mprotect(k->at, PAGE, PROT_NONE), 0);
	k->end = (uintptr_t)k->at + PAGE + STACK;
	memset(k->at + PAGE + STACK - 256, 0, 256);
	bench(b, k->end, 0);
	b->s.s.how = CTP_HOW_SWAP;
	b->s.s.lo = k->end - STACK;
	b->s.mine[0].lo = (uintptr_t)k->at;
	b->s.mine[1] = (struct span){(uintptr_t)k->context, (uintptr_t)k->context + CONTEXT};
	b->s.nmine = 2;
	neighbour(b, k->end, k->end, (uintptr_t)k->neighbours, CTP_HOW_SWAP);
}

// Is its end known by any word, wherever that stands? The bench is over then.
static bool by_any(struct bench *b, struct stack *k)
{
	find(b);
	bool any = explained(b, 0x1000, k->end);
	assert_true(explained(b, (uintptr_t)k->neighbours, k->end));
	unbench(b);
	return any;
}

static void the_end_of_a_bare_stack_means_what_begins_there(void **state)
{
	(void)state;
	struct bench b;
	struct stack k;
	bare_bench(&b, &k);
	assert_true(by_any(&b, &k));
	bare_bench(&b, &k); // a handle of its own, instead of a context elsewhere
	b.s.s.how = CTP_HOW_FCONTEXT;
	b.s.nmine = 1;
	assert_true(by_any(&b, &k));
}

static void what_is_not_bare_may_be_meant(void **state)
{
	(void)state;
	static uint64_t writable;
	static const uint64_t constant = 1;
	enum { ON_BOTTOM, ON_TOP, CONSTANT_ON_TOP, FOREIGN, ON_THE_HEAP, LARGE_GUARD, SMALL, UNEVEN, SHORT, NO_CONTEXT, WITH_CONTEXT, CASES };
	for (int i = 0; i < CASES; i++) {
		struct bench b;
		struct stack k;
		bare_bench(&b, &k);
		uint64_t *top = (uint64_t *)(k.at + PAGE + STACK);
		switch (i) {
		case ON_BOTTOM: k.at[PAGE + 100] = 1; break;
		case ON_TOP: top[-2] = (uintptr_t)&writable; break;
		case CONSTANT_ON_TOP: top[-2] = (uintptr_t)&constant; break;
		case FOREIGN: b.s.s.flags = CTP_STATE_FOREIGN; break;
		case ON_THE_HEAP: b.s.heap[0] = true; break;
		case LARGE_GUARD: b.s.mine[0].lo -= 64 * PAGE; break;
		case SMALL: b.s.s.lo = k.end - PAGE; break;
		case UNEVEN: b.s.s.lo += 8; break;
		case SHORT: b.s.s.hi -= PAGE; break; // what lies above it is the program's
		case NO_CONTEXT: b.s.nmine = 1; break;
		case WITH_CONTEXT: b.s.s.how = CTP_HOW_ONTOP; break; // it has an object besides: a control block
		}
		if (i == SHORT || i == ON_THE_HEAP) { // then not even its own record is asked
			find(&b);
			assert_false(explained(&b, 0x1000, k.end));
			unbench(&b);
		} else {
			assert_int_equal(by_any(&b, &k), i == CONSTANT_ON_TOP);
		}
		munmap(k.at, PAGE + STACK);
	}
}

// All that end there must be bare: two suspects, one after the other.
static void one_that_is_not_bare_is_enough(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct bench b;
		struct stack k;
		bare_bench(&b, &k);
		struct suspect second = b.s, *both[] = {&b.s, &second};
		b.l.who = both;
		b.l.n = 2;
		if (i == 1)
			second.s.flags = CTP_STATE_FOREIGN;
		if (i == 2)
			second.mine[1].hi = k.end; // its control block ends there
		assert_int_equal(by_any(&b, &k), i == 0);
		munmap(k.at, PAGE + STACK);
	}
}

// ---- what was never touched stays so

static void nothing_is_touched(void **state)
{
	(void)state;
	struct bench b;
	struct stack k;
	uint64_t entries[STACK / PAGE + 1];
	bare_bench(&b, &k);
	b.s.mine[1] = (struct span){(uintptr_t)k.at + PAGE, (uintptr_t)k.at + PAGE + CONTEXT}; // a block of the heap, perhaps
	assert_true(by_any(&b, &k));
	int map = open("/proc/self/pagemap", O_RDONLY);
	if (map < 0)
		skip();
	assert_int_equal(pread(map, entries, sizeof(entries), (off_t)((uintptr_t)k.at / PAGE * 8)), sizeof(entries));
	close(map);
	for (unsigned i = 0; i < STACK / PAGE; i++)
		assert_false(entries[i] >> 62);
	assert_true(entries[STACK / PAGE] >> 62); // its top
	struct malloc_heap_query q = {.addr = (uintptr_t)k.at + PAGE + 8};
	assert_int_equal(proc_maps_read(getpid(), &b.l.maps), 0);
	b.l.memory.maps = b.l.maps.v;
	b.l.memory.nmaps = b.l.maps.n;
	malloc_heap_resolve(&b.l.memory, &q, 1);
	assert_false(q.found);
	map = open("/proc/self/pagemap", O_RDONLY);
	assert_int_equal(pread(map, entries, sizeof(entries), (off_t)((uintptr_t)k.at / PAGE * 8)), sizeof(entries));
	close(map);
	for (unsigned i = 0; i < STACK / PAGE; i++)
		assert_false(entries[i] >> 62);
	proc_maps_deinit(&b.l.maps);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds_the_context_knows_its_stack), cmocka_unit_test(a_block_knows_its_own_start),
		cmocka_unit_test(what_lies_above_a_stack_is_found_by_the_end), cmocka_unit_test(a_block_with_the_handle),
		cmocka_unit_test(a_threads_record_has_one_word_of_its_own),
		cmocka_unit_test(nothing_on_an_ended_threads_stack_is_the_programs),
		cmocka_unit_test(the_loader_keeps_nothing_of_the_programs),
		cmocka_unit_test(the_end_of_a_bare_stack_means_what_begins_there), cmocka_unit_test(what_is_not_bare_may_be_meant),
		cmocka_unit_test(one_that_is_not_bare_is_enough), cmocka_unit_test(nothing_is_touched),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
