// SPDX-License-Identifier: MIT
//
// engines_fcontext.c - Boost.Context as C programs use it: jumps, functions
// put on top of another coroutine, and ends that give the stack back from the
// stack of whoever goes on.
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engines.h"
#include "fcontext.h"
#include "must.h"

static struct transfer go(fcontext_t to, void *data)
{
	switched();
	return jump_fcontext(to, data);
}

static struct transfer onto(fcontext_t to, void *data, struct transfer (*fn)(struct transfer))
{
	switched();
	return ontop_fcontext(to, data, fn);
}

static fcontext_t create(char *stack, size_t bytes, void (*fn)(struct transfer))
{
	made();
	return make_fcontext(stack + bytes, bytes, fn);
}

static void *plus(void *p, long n)
{
	return (void *)((intptr_t)p + n);
}

// Answers each number by the next one, for ever.
static void echo(struct transfer t)
{
	for (;;)
		t = go(t.from, plus(t.data, 1));
}

static fcontext_t ask(fcontext_t at, long n)
{
	struct transfer t = go(at, (void *)n);
	check(t.data == (void *)(n + 1));
	return t.from;
}

// ---- a coroutine that ends as Boost's do: by a function on top of the one who
// goes on, which gives the stack back

struct fiber {
	fcontext_t at;
	char *block; // what free gets, or munmap
	size_t bytes;
	bool heap;
	void (*body)(struct fiber *f);
};

static unsigned long buried;

static struct transfer bury(struct transfer t)
{
	struct fiber f = *(struct fiber *)t.data;
	__atomic_fetch_add(&buried, 1, __ATOMIC_RELAXED);
	if (f.heap)
		free(f.block);
	else
		must(munmap(f.block, f.bytes));
	return (struct transfer){NULL, NULL};
}

static void fiber_entry(struct transfer t)
{
	struct fiber *f = t.data;
	f->at = t.from;
	f->body(f);
	onto(f->at, f, bury);
	abort();
}

static void yield(struct fiber *f)
{
	f->at = go(f->at, f).from;
}

// Like Boost's: the record lies at the top of the stack it describes. `below`
// bytes of the block lie under the stack (a header of the allocator's user).
static struct fiber *fiber_new(size_t bytes, bool heap, size_t below, void (*body)(struct fiber *f))
{
	char *block = heap ? must_alloc(bytes) : must_map(bytes);
	struct fiber *f = (struct fiber *)(((uintptr_t)block + bytes - sizeof(*f)) & ~255ULL);
	*f = (struct fiber){.block = block, .bytes = bytes, .heap = heap, .body = body};
	char *top = (char *)f - 64, *low = block + below;
	f->at = create(low, (size_t)(top - low), fiber_entry);
	return f;
}

// Where it is to be resumed next; NULL once it is no more.
static fcontext_t resume(fcontext_t at, void *data)
{
	return go(at, data).from;
}

static void run_whole(struct fiber *f)
{
	for (fcontext_t at = f->at; at;)
		at = resume(at, f);
}

// ---- the cases

static void ping(void)
{
	fcontext_t at = create(must_map(STACK), STACK, echo);
	for (int i = 0; i < 1000; i++)
		at = ask(at, i);
	ended(0, 0);
}

static void many(void)
{
	enum { N = 10000, SMALL = 16 << 10 };
	fcontext_t *all = must_alloc(N * sizeof(*all));
	char *stacks = must_map((size_t)N * SMALL);
	for (int i = 0; i < N; i++)
		all[i] = create(stacks + (size_t)i * SMALL, SMALL, echo);
	for (int round = 0; round < 3; round++)
		for (int i = 0; i < N; i++)
			all[i] = ask(all[i], i);
	must(munmap(stacks, (size_t)N * SMALL));
	free(all);
	ended(0, N);
}

static void three_yields(struct fiber *f)
{
	for (int i = 0; i < 3; i++)
		yield(f);
}

// malloc'd stacks of all sizes: the later ones overlap the freed ones.
static void heap(void)
{
	for (int i = 0; i < 2000; i++)
		run_whole(fiber_new((size_t)(16 << 10) + (size_t)(i % 13) * 1000, true, 0, three_yields));
	ended(0, buried);
}

static void heap_header(void)
{
	for (int i = 0; i < 500; i++)
		run_whole(fiber_new((size_t)(16 << 10) + (size_t)(i % 13) * 1000, true, 96, three_yields));
	ended(0, buried);
}

static void mapped(void)
{
	for (int i = 0; i < 500; i++)
		run_whole(fiber_new(32 << 10, false, 0, three_yields));
	ended(0, buried);
}

static void guarded(void)
{
	for (int i = 0; i < 200; i++) {
		struct fiber *f = fiber_new(32 << 10, false, 4096, three_yields);
		must(mprotect(f->block, 4096, PROT_NONE));
		run_whole(f);
	}
	ended(0, buried);
}

static int depth;
static void nest(struct fiber *f)
{
	(void)f;
	if (depth-- > 0)
		run_whole(fiber_new(32 << 10, true, 0, nest));
}

static void nested(void)
{
	for (int i = 0; i < 20; i++) {
		depth = 20;
		run_whole(fiber_new(32 << 10, true, 0, nest));
	}
	ended(0, buried);
}

// Runs on the coroutine's stack and returns into it.
static struct transfer add_hundred(struct transfer t)
{
	t.data = plus(t.data, 100);
	return t;
}

// Switches away, and back, before it returns into the coroutine.
static struct transfer ask_first(struct transfer t)
{
	t = go(t.from, plus(t.data, 1000));
	return t;
}

static void ontop(void)
{
	fcontext_t at = create(must_map(STACK), STACK, echo);
	at = ask(at, 0);
	for (long i = 0; i < 500; i++) {
		struct transfer t = onto(at, (void *)i, add_hundred);
		check(t.data == (void *)(i + 101));
		t = onto(t.from, (void *)i, ask_first);
		check(t.data == (void *)(i + 1000));
		at = ask(t.from, i);
	}
}

static void ontop_home(struct fiber *f)
{
	for (long i = 0; i < 100; i++) {
		struct transfer t = onto(f->at, (void *)i, add_hundred);
		f->at = t.from;
		check(t.data == (void *)i);
	}
}

static void ontop_back(void)
{
	struct fiber *f = fiber_new(STACK, true, 0, ontop_home);
	struct transfer t = go(f->at, f);
	for (long i = 0; i < 100; i++) {
		check(t.data == (void *)(i + 100));
		t = go(t.from, (void *)i);
	}
	check(!t.from);
	ended(0, 1);
}

// ---- threads

static struct {
	sem_t turn[2];
	fcontext_t at;
} shared;

static void *taker(void *arg)
{
	int me = (int)(intptr_t)arg;
	for (int i = 0; i < 300; i++) {
		sem_wait(&shared.turn[me]);
		shared.at = ask(shared.at, i);
		sem_post(&shared.turn[!me]);
	}
	return NULL;
}

static void migrate(void)
{
	pthread_t t[2];
	shared.at = create(must_map(STACK), STACK, echo);
	for (int i = 0; i < 2; i++)
		sem_init(&shared.turn[i], 0, i == 0);
	for (int i = 0; i < 2; i++)
		t[i] = thread(taker, (void *)(intptr_t)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	ended(0, 0);
}

static void *heap_thread(void *arg)
{
	(void)arg;
	for (int i = 0; i < 200; i++)
		run_whole(fiber_new((size_t)(16 << 10) + (size_t)(i % 13) * 1000, true, 0, three_yields));
	return NULL;
}

static void threads(void)
{
	pthread_t t[8];
	for (int i = 0; i < 8; i++)
		t[i] = thread(heap_thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	ended(0, buried);
}

static void *ask_once(void *arg)
{
	fcontext_t *at = arg;
	*at = ask(*at, 5);
	return NULL;
}

// Begun on threads that have ended.
static void orphan(void)
{
	for (int i = 0; i < 50; i++) {
		fcontext_t at = create(must_map(STACK), STACK, echo);
		pthread_join(thread(ask_once, &at), NULL);
		at = ask(at, 6);
	}
	ended(0, 0);
}

// ---- who resumes whom

static struct fiber *worker[5];
static fcontext_t worker_at[5];

static void schedule(struct fiber *f)
{
	(void)f;
	for (int left = 5; left > 0;)
		for (int i = 0; i < 5; i++) {
			if (!worker_at[i])
				continue;
			worker_at[i] = resume(worker_at[i], worker[i]);
			left -= !worker_at[i];
		}
}

static void scheduler(void)
{
	for (int i = 0; i < 5; i++) {
		worker[i] = fiber_new(STACK, true, 0, three_yields);
		worker_at[i] = worker[i]->at;
	}
	run_whole(fiber_new(STACK, true, 0, schedule));
	ended(0, buried);
}

// Each goes to the next, the last one home; who is entered keeps the handle of
// who left where that one said.
enum { RING = 10 };
static fcontext_t ring[RING + 1]; // the last: home

static void ring_member(struct transfer t)
{
	static int next;
	int me = next++;
	for (;;) {
		*(fcontext_t *)t.data = t.from;
		t = go(ring[me + 1], &ring[me]);
	}
}

static void sideways(void)
{
	for (int i = 0; i < RING; i++)
		ring[i] = create(must_map(STACK), STACK, ring_member);
	for (int round = 0; round < 100; round++) {
		struct transfer t = go(ring[0], &ring[RING]);
		*(fcontext_t *)t.data = t.from;
	}
	ended(0, 0);
}

// ---- stacks

// A suspended one's stack is made into another's, now and then with other bounds.
static void reuse(void)
{
	char *stack = must_map(2 * STACK);
	for (int i = 0; i < 500; i++) {
		size_t shift = (size_t)(i % 7) * 64;
		fcontext_t at = create(stack + shift, STACK - 2 * shift, echo);
		for (int k = 0; k < i % 4; k++)
			at = ask(at, k);
	}
	must(munmap(stack, 2 * STACK));
	ended(0, 500);
}

static void unaligned(void)
{
	for (int i = 0; i < 32; i++) {
		char *stack = must_alloc((size_t)STACK + 64);
		fcontext_t at = create(stack + i, (size_t)(STACK - 3 * i), echo);
		at = ask(at, 1);
		at = ask(at, 2);
	}
	ended(0, 0);
}

static char in_bss[4][STACK];

static void fixed(void)
{
	char frame[STACK];
	fcontext_t at = create(frame, sizeof(frame), echo), other[4];
	for (int i = 0; i < 4; i++)
		other[i] = create(in_bss[i], sizeof(in_bss[i]), echo);
	for (int i = 0; i < 100; i++) {
		at = ask(at, i);
		other[i % 4] = ask(other[i % 4], i);
	}
	ended(0, 0);
}

// Its assembly never looks at the size, so some users give none.
static void nosize(void)
{
	fcontext_t at[3];
	for (int i = 0; i < 3; i++) {
		made();
		at[i] = make_fcontext((char *)must_map(STACK) + STACK, 0, echo);
	}
	for (int i = 0; i < 300; i++)
		at[i % 3] = ask(at[i % 3], i);
}

static void created(void)
{
	for (int i = 0; i < 5; i++)
		create(must_map(STACK), STACK, echo);
	char *gone = must_map(STACK);
	create(gone, STACK, echo);
	must(munmap(gone, STACK));
	ask(create(must_map(STACK), STACK, echo), 1);
	ended(0, 1);
}

static void signals(void)
{
	ticks(true);
	fcontext_t at = create(must_map(STACK), STACK, echo);
	for (int i = 0; i < 200000; i++)
		at = ask(at, i);
	ticks(false);
}

// The counts are for the check to see: what returns ends the program with status 0.
static void returning(struct transfer t)
{
	(void)t;
	say("coroutines 1 switches 1");
}

static void returns(void)
{
	go(create(must_map(STACK), STACK, returning), NULL);
}

static void exiting(struct transfer t)
{
	(void)t;
	say("coroutines 1 switches 1");
	exit(37);
}

static void exits(void)
{
	go(create(must_map(STACK), STACK, exiting), NULL);
}

// With makecontext's coroutines in one program, and one by the other.
static ucontext_t uc_home, uc;
static fcontext_t uc_at;

static void uc_body(void)
{
	for (int i = 0; i < 50; i++) {
		uc_at = ask(uc_at, i);
		swap(&uc, &uc_home);
	}
}

static void mixed(void)
{
	uc_at = create(must_map(STACK), STACK, echo);
	make(&uc, must_map(STACK), STACK, uc_body, NULL);
	for (int i = 0; i < 50; i++) {
		swap(&uc_home, &uc);
		uc_at = ask(uc_at, i);
	}
	ended(0, 0);
}

const struct engines_case cases[] = {
	{"ping", ping}, {"many", many}, {"heap", heap}, {"heap_header", heap_header}, {"mapped", mapped},
	{"guarded", guarded}, {"nested", nested}, {"ontop", ontop}, {"ontop_back", ontop_back},
	{"migrate", migrate}, {"threads", threads}, {"orphan", orphan}, {"scheduler", scheduler},
	{"sideways", sideways}, {"reuse", reuse}, {"unaligned", unaligned}, {"fixed", fixed},
	{"nosize", nosize}, {"created", created}, {"signals", signals}, {"returns", returns},
	{"exits", exits}, {"mixed", mixed}, {NULL, NULL},
};
