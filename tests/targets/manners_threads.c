// SPDX-License-Identifier: MIT
//
// manners_threads.c - threads that come and go, with and without what they made.
//   t-threads NAME N [AT ONCE]: prints coroutines and switches as it counted them.
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static atomic_long coroutines;

static void spin(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		co_yield();
}

static struct co *make(long yields)
{
	atomic_fetch_add(&coroutines, 1);
	return co_new(spin, (void *)yields);
}

static void all_of(struct co *c, long yields)
{
	for (long i = 0; i <= yields; i++)
		co_resume(c);
}

static void tell(void)
{
	printf("coroutines %ld switches %lu\n", atomic_load(&coroutines), co_switches);
}

static pthread_t start_on(size_t bytes, void *(*fn)(void *), void *arg)
{
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	must(pthread_attr_setstacksize(&a, bytes));
	must(pthread_create(&t, &a, fn, arg));
	pthread_attr_destroy(&a);
	return t;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
	return start_on(64 << 10, fn, arg);
}

// ------------------------------------------------------------- one after the other, some at once

static void *one(void *arg)
{
	all_of(make((long)arg), (long)arg);
	return NULL;
}

// N threads in all, never more than `width` at a time; each makes, runs and frees a coroutine.
static int do_sequence(long n, long width)
{
	pthread_t t[64];
	for (long i = 0; i < n; i += width) {
		for (long k = 0; k < width; k++)
			t[k] = start(one, (void *)2);
		for (long k = 0; k < width; k++)
			must(pthread_join(t[k], NULL));
	}
	tell();
	return 0;
}

static pthread_barrier_t here;

static void *meets(void *arg)
{
	struct co *c = make((long)arg);
	co_resume(c);
	pthread_barrier_wait(&here);
	all_of(c, (long)arg - 1);
	return NULL;
}

static int do_at_once(long n, long width)
{
	pthread_t *t = calloc((size_t)n, sizeof(*t));
	(void)width;
	must(pthread_barrier_init(&here, NULL, (unsigned)n));
	for (long i = 0; i < n; i++)
		t[i] = start(meets, (void *)3);
	for (long i = 0; i < n; i++)
		must(pthread_join(t[i], NULL));
	tell();
	return 0;
}

// ------------------------------------------------------------- churn

// Makes coroutines without end: some run to theirs, some are freed suspended,
// some never begin.
static void *churns(void *arg)
{
	for (long i = 0; i < (long)arg; i++) {
		struct co *c = make(3);
		switch (i % 4) {
		case 0:
			all_of(c, 3);
			break;
		case 1:
			co_resume(c);
			co_resume(c);
			co_free(c);
			break;
		case 2:
			co_free(c);
			break;
		default:
			all_of(c, 3);
		}
	}
	return NULL;
}

static int do_churn_maps(long n, long width)
{
	pthread_t t[64];
	for (long i = 0; i < n; i += 8 * width) {
		for (long k = 0; k < width; k++)
			t[k] = start(churns, (void *)8);
		for (long k = 0; k < width; k++)
			must(pthread_join(t[k], NULL));
	}
	tell();
	return 0;
}

// The same on stacks by malloc, which come back to the next at once.
static int do_churn(long n, long width)
{
	co_kind = CO_HEAP;
	return do_churn_maps(n, width);
}

// ------------------------------------------------------------- memory that once held stacks

enum { PAGES = 64, PAGE = 4096 };
static char *pool;
static atomic_bool over;

static void nothing(void *arg)
{
	(void)arg;
}

// Gives back, over and over, pages on which coroutines stood that ended long ago.
static void *gives_back(void *arg)
{
	while (!over) {
		must(munmap(pool, PAGES * PAGE));
		void *again = mmap(pool, PAGES * PAGE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		must(again == pool ? 0 : -1);
	}
	return arg;
}

// Meanwhile others begin elsewhere, as many as N.
static int do_stale(long n, long width)
{
	(void)width;
	struct co old[PAGES];
	pool = must_map(PAGES * PAGE);
	for (int i = 0; i < PAGES; i++) {
		co_init(&old[i], nothing, NULL, pool + i * PAGE, PAGE);
		old[i].pinned = true;
	}
	for (int i = 0; i < PAGES; i++)
		co_resume(&old[i]);
	atomic_fetch_add(&coroutines, PAGES);
	enum { ROOM = 64, BYTES = 16 << 10 };
	char *room = must_map(ROOM * BYTES); // nobody maps memory meanwhile: it could come to lie in the pool
	pthread_t t = start(gives_back, NULL);
	for (long i = 0; i < n; i++) {
		struct co c;
		co_init(&c, nothing, NULL, room + i % ROOM * BYTES, BYTES);
		c.pinned = true;
		co_resume(&c);
	}
	atomic_fetch_add(&coroutines, n);
	over = true;
	must(pthread_join(t, NULL));
	tell();
	return 0;
}

// ------------------------------------------------------------- its maker ends, it goes on elsewhere

struct heir {
	struct co *c;
};

static void *leaves_behind(void *arg)
{
	struct heir *h = arg;
	h->c = make(4);
	co_resume(h->c);
	co_resume(h->c);
	return NULL;
}

static void *inherits(void *arg)
{
	struct heir *h = arg;
	co_resume(h->c);
	return NULL;
}

static int do_heirs(long n, long width)
{
	struct heir *h = calloc((size_t)width, sizeof(*h));
	for (long i = 0; i < n; i += width) {
		for (long k = 0; k < width; k++)
			must(pthread_join(start(leaves_behind, &h[k]), NULL));
		for (long k = 0; k < width; k++)
			must(pthread_join(start(inherits, &h[k]), NULL));
		for (long k = 0; k < width; k++)
			all_of(h[k].c, 1);
	}
	tell();
	return 0;
}

// ------------------------------------------------------------- after the end

static pthread_key_t key;

// Hooks in the destructors of thread-specific data, over and over: the thread
// has all but ended.
static void last_words(void *arg)
{
	long round = (long)arg;
	all_of(make(1), 1);
	close(dup(0));
	pthread_setspecific(key, (void *)(round + 1)); // once more, as often as there are rounds
}

static void *ends(void *arg)
{
	all_of(make(1), 1);
	pthread_setspecific(key, (void *)1);
	return arg;
}

static int do_destructors(long n, long width)
{
	(void)width;
	must(pthread_key_create(&key, last_words));
	for (long i = 0; i < n; i++)
		must(pthread_join(start(ends, NULL), NULL));
	tell();
	return 0;
}

// ------------------------------------------------------------- on as little stack as there may be

static void *on_little(void *arg)
{
	close(dup(0)); // its first hook
	all_of(make((long)arg), (long)arg);
	return NULL;
}

static int do_little(long n, long width)
{
	(void)width;
	for (long i = 0; i < n; i++)
		must(pthread_join(start_on(PTHREAD_STACK_MIN, on_little, (void *)3), NULL));
	tell();
	return 0;
}

static const struct {
	const char *name;
	int (*run)(long n, long width);
} cases[] = {
	// clang-format off
	{"sequence", do_sequence},
	{"at-once", do_at_once},
	{"churn", do_churn},
	{"churn-maps", do_churn_maps},
	{"stale", do_stale},
	{"heirs", do_heirs},
	{"little", do_little},
	{"destructors", do_destructors},
	// clang-format on
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			return cases[i].run(argc > 2 ? atol(argv[2]) : 100, argc > 3 ? atol(argv[3]) : 4);
	fprintf(stderr, "t-threads: what?\n");
	return 2;
}
