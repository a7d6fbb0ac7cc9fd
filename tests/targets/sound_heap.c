// SPDX-License-Identifier: MIT
//
// sound_heap.c - see sound_hide.h: words in memory that malloc has back, which
// are nobody's any more (freed_*: there is no way back), and in memory that
// looks like it, but is the program's.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sound_hide.h"

enum { SMALL = 56, LARGE = 2000, CACHED = 7, AT = 4, CACHE_LISTS = 64 };

// Does not return: what was freed may not be looked at.
static struct co *find_nothing(void)
{
	abort();
}

static void **block(size_t bytes)
{
	void **p = malloc(bytes);
	must(p ? 0 : -1);
	memset(p, 0, bytes);
	return p;
}

static void put(void **p, struct co *c)
{
	((void *volatile *)p)[AT] = c;
}

// ---- freed

static NOINLINE void hide_freed_cached(struct co *c)
{
	void **first = block(SMALL), **p = block(SMALL);
	put(p, c);
	free(first);
	free(p); // the list begins with it
}

static NOINLINE void hide_freed_fast(struct co *c)
{
	void **p[CACHED + 2];
	for (int i = 0; i < CACHED + 2; i++)
		p[i] = block(SMALL);
	put(p[CACHED], c);
	for (int i = 0; i < CACHED + 2; i++)
		free(p[i]);
	memset(p, 0, sizeof(p));
}

static void **neighbour[2];

static NOINLINE void hide_freed_bin(struct co *c)
{
	neighbour[0] = block(SMALL);
	void **p = block(LARGE);
	neighbour[1] = block(SMALL);
	put(p, c);
	free(p);
}

static NOINLINE void hide_freed_top(struct co *c)
{
	void **p = block(LARGE);
	put(p, c);
	free(p);
}

// In another thread's arena and cache.
static pthread_barrier_t both;
static struct co *handed;

static NOINLINE void free_handed(void)
{
	hide_freed_cached(handed);
	handed = NULL;
	wipe();
}

static void *thread_main(void *arg)
{
	free_handed();
	pthread_barrier_wait(&both);
	pthread_barrier_wait(&both); // for ever
	return arg;
}

static void hide_freed_thread(struct co *c)
{
	handed = c;
	pthread_barrier_init(&both, NULL, 2);
	co_thread(thread_main, NULL);
	pthread_barrier_wait(&both);
}

// ---- the program's own

// A free list on top of malloc, whose blocks keep what they had.
struct node {
	struct node *next;
	void *words[7];
};
static struct node *unused;

static void hide_node(struct co *c)
{
	struct node *v = (struct node *)block(CACHED * sizeof(*v));
	for (int i = 0; i < CACHED; i++) {
		v[i].next = unused;
		unused = &v[i];
	}
	v[2].words[AT] = c;
}

static struct co *find_node(void)
{
	for (struct node *n = unused; n; n = n->next)
		if (n->words[AT])
			return n->words[AT];
	return NULL;
}

// All that glibc has of a thread's cache, but for the key, which it tells nobody.
struct like_cache {
	uint16_t counts[CACHE_LISTS];
	void **entries[CACHE_LISTS];
};
static struct like_cache *like;

static void hide_like_cache(struct co *c)
{
	enum { LIST = (SMALL - 24) / 16 };
	void **p = block(SMALL);
	like = (struct like_cache *)block(sizeof(*like));
	like->counts[LIST] = 1;
	like->entries[LIST] = p;
	p[0] = (void *)((uintptr_t)p >> 12);
	p[1] = (void *)0x9e3779b97f4a7c15;
	put(p, c);
}

static struct co *find_like_cache(void)
{
	return like->entries[(SMALL - 24) / 16][AT];
}

const struct hide hides_heap[] = {
	{"freed_cached", NULL, hide_freed_cached, find_nothing},
	{"freed_fast", NULL, hide_freed_fast, find_nothing},
	{"freed_bin", NULL, hide_freed_bin, find_nothing},
	{"freed_top", NULL, hide_freed_top, find_nothing},
	{"freed_thread", NULL, hide_freed_thread, find_nothing},
	{"pool_list", NULL, hide_node, find_node},
	{"like_cache", NULL, hide_like_cache, find_like_cache},
	{NULL, NULL, NULL, NULL},
};
