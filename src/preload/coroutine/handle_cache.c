// SPDX-License-Identifier: MIT
//
// One table for all threads, as coroutines move between them. It begins with two pages and
// grows fourfold while look-ups fail because other entries took the place, so that the cost of
// a switch does not depend on the number of coroutines. The thread that had to search writes
// an entry; all threads read it. The old table is kept for threads that still read it.
#include "preload/coroutine/handle_cache.h"

enum { LEAST = 1 << 10, MOST = 1 << 20 };

struct ctp_state **handle_cache_table;
uint64_t handle_cache_mask;
static uint32_t growing;
static struct ctp_state nobody; // is never suspended

static struct ctp_state **table_of(uint64_t n)
{
	struct ctp_state **t = memory_take(n * sizeof(*t));
	for (uint64_t i = 0; t && i < n; i++)
		t[i] = &nobody;
	return t;
}

int handle_cache_init(void)
{
	growing = 0;
	handle_cache_table = table_of(LEAST);
	handle_cache_mask = (LEAST - 1) * sizeof(*handle_cache_table);
	return handle_cache_table ? 0 : -1;
}

static void grow(uint64_t n)
{
	struct ctp_state **t;
	if (n >= MOST || !ctp_cas32(&growing, 0, 1))
		return;
	if (handle_cache_mask == (n - 1) * sizeof(*t) && (t = table_of(4 * n))) {
		ctp_store_ptr(&handle_cache_table, t);
		ctp_store64(&handle_cache_mask, (4 * n - 1) * sizeof(*t));
	}
	ctp_store32(&growing, 0);
}

// Is it found here still? A coroutine that is suspended at another depth each time has an entry for each
// handle.
static bool lives(const struct ctp_state *s, struct ctp_state **first)
{
	uint64_t apart = (uint64_t)handle_cache_place(s->slot) ^ (uint64_t)first;
	return s->slot && s->life != CTP_NONE && s->life <= CTP_RUNNING && apart <= sizeof(s);
}

void handle_cache_note(struct thread_ctx *g, uint64_t slot, struct ctp_state *s)
{
	uint64_t n = ctp_load64(&handle_cache_mask) / sizeof(s) + 1;
	struct ctp_state **first = handle_cache_place(slot), *was = ctp_load_ptr(first);
	struct ctp_state **second = (struct ctp_state **)((uint64_t)first ^ sizeof(s));
	if (!s || was == s)
		return;
	if (lives(was, first)) {
		const struct ctp_state *last = ctp_load_ptr(second);
		bool crowded = last != s && lives(last, first),
		     native = was->entity == CTP_NATIVE && s->entity != CTP_NATIVE;
		ctp_store_ptr(second, native ? s : was); // a thread's own stack is entered most
		if (crowded && ++g->crowded > n / 16) {
			if (g->thread->switches - g->crowded_since < 2 * n)
				grow(n);
			g->crowded = 0;
			g->crowded_since = g->thread->switches;
		}
		if (native)
			return;
	}
	ctp_store_ptr(first, s);
}
