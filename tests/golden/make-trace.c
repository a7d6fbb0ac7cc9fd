// SPDX-License-Identifier: MIT
//
// Writes one of the golden tests' synthetic traces: make-trace SCENARIO DIR.
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "people.h"

#define PC(f) ((uint64_t)(uintptr_t)(f) + 5) // within its first lines

static uint32_t waiter, closer, opener, creator;

static void stacks(struct builder *b)
{
	builder_self(b);
	waiter = builder_stack(b, 2, (uint64_t[]){ PC(people_wait_readable), PC(people_conn_reader) });
	closer = builder_stack(b, 1, (uint64_t[]){ PC(people_reaper) });
	opener = builder_stack(b, 1, (uint64_t[]){ PC(people_accept) });
	creator = builder_stack(b, 1, (uint64_t[]){ PC(people_spawn) });
}

static struct ctp_state *reader(struct builder *b, uint64_t id, int fd)
{
	struct ctp_state *c = builder_coroutine(b, id, CTP_SUSPENDED);
	builder_fd(b, fd, 3, CTP_FD_OPEN)->opener_stack = opener;
	builder_wait(c, fd, 3, 1000 + (uint64_t)fd);
	c->entry = (uint64_t)(uintptr_t)people_conn_reader;
	c->stack = waiter;
	c->creator_stack = creator;
	return c;
}

static void lose(struct builder *b, const struct ctp_state *c, int fd, const char *holds, const char *open)
{
	builder_close(b, fd, 12, BUILDER_START + 2600000)->closer_stack = closer;
	builder_look(b, c, fd, 3, BUILDER_START + 3000000000ULL, holds, open);
}

// A server: the reaper has closed descriptors under their readers.
static void lost(struct builder *b)
{
	stacks(b);
	for (uint64_t i = 0; i < 3; i++) {
		char name[32];
		struct ctp_state *c = reader(b, 41 + i, 7 + (int)i);
		snprintf(name, sizeof(name), i < 2 ? "conn %d" : "", 41 + (int)i);
		builder_name(b, c, name);
		lose(b, c, 7 + (int)i, "++++++?", NULL);
	}
	lose(b, reader(b, 50, 20), 20, "+++++-?", "the word at all+0x38 leads to it");
}

static void people(struct builder *b)
{
	struct ctp_state *c = builder_coroutine(b, 12, CTP_RUNNING);
	c->entry = (uint64_t)(uintptr_t)people_reaper;
	reader(b, 60, 30);
	reader(b, 61, 31);
	builder_coroutine(b, 70, CTP_SUSPENDED);
	builder_coroutine(b, 71, CTP_CREATED);
	struct ctp_thread *t = builder_thread(b, 100, 1);
	t->switches = 6;
	t->created = 10;
	t->finished = 2;
	t->destroyed = 1;
}

static int streams(struct builder *b, bool torn)
{
	struct ctp_record r[9];
	ctp_record_set(&r[0], &r[1], BUILDER_START, ctp_w1(CTP_EV_THREAD, 0, 1), 0, 100);
	ctp_record_set(&r[2], &r[3], BUILDER_START + 1000, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, 1) | (uint64_t)CTP_MARK_NEAR << 56,
		       ctp_w2(41, 0), 1ULL << 32 | 1);
	for (unsigned i = 2; i < 7; i++)
		ctp_record_set_short(&r[i + 2], BUILDER_START + i * 1000, CTP_HOW_SWAP, i % 2 ? 41 : 1, i % 2 ? 0 : waiter, i);
	return builder_stream(b, 0, r, 9, 6, torn ? 100 : 0);
}

// One that waits for two, both of which were closed.
static void several(struct builder *b)
{
	stacks(b);
	struct ctp_state *c = reader(b, 41, 7);
	builder_fd(b, 8, 2, CTP_FD_OPEN);
	builder_wait(c, 8, 2, 1008);
	builder_close(b, 8, 12, BUILDER_START + 2500000)->closer_stack = closer;
	lose(b, c, 7, "++++++?", NULL);
}

// The run ended before anybody could have woken the reader.
static void ending(struct builder *b)
{
	stacks(b);
	lose(b, reader(b, 41, 7), 7, "++++-??", NULL);
	b->ext.exit_begun = BUILDER_START + 2700000;
	b->snapshot_ns = BUILDER_START + 3000000000ULL;
}

// ------------------------------------------------------------- a history for profiles

static struct ctp_record past[64];
static size_t npast;

static void put(uint64_t us, uint64_t w1, uint64_t w2, uint64_t w3)
{
	ctp_record_set(&past[npast], &past[npast + 1], BUILDER_START + us * 1000, w1, w2, w3);
	npast += 2;
}

static void moves(uint64_t us, uint64_t from, uint32_t from_n, uint32_t stack, uint64_t to, uint32_t to_n)
{
	put(us, ctp_w1(CTP_EV_SWITCH, CTP_HOW_SWAP, from) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(to, stack), from_n | (uint64_t)to_n << 32);
}

// 41 reads twice: the second time the event comes 300 us before it goes on. It waits still. 42 accepts, loses what it did
// next, and runs still. 43 is destroyed. The loop sleeps for 400 us.
static int history(struct builder *b)
{
	stacks(b);
	uint32_t loop = builder_stack(b, 1, (uint64_t[]){ PC(people_reaper) });
	struct ctp_state *c = reader(b, 41, 30);
	c->since = BUILDER_START + 2500000;
	c = builder_coroutine(b, 42, CTP_RUNNING);
	c->entry = (uint64_t)(uintptr_t)people_accept;
	c->since = BUILDER_START + 3000000;
	struct ctp_thread *t = builder_thread(b, 100, 1);
	t->switches = 11;
	t->created = 3;
	t->destroyed = 1;
	t->lost = 3;
	t->current = 42;
	put(0, ctp_w1(CTP_EV_THREAD, 0, 1), 0, 100);
	put(10, ctp_w1(CTP_EV_CREATE, 0, 41), ctp_w2(1, creator), (uint64_t)(uintptr_t)people_conn_reader);
	put(10, ctp_w1(CTP_EV_CREATE, 0, 42), ctp_w2(1, creator), (uint64_t)(uintptr_t)people_accept);
	put(10, ctp_w1(CTP_EV_CREATE, 0, 43), ctp_w2(1, creator), (uint64_t)(uintptr_t)people_conn_reader);
	moves(100, 1, 1, loop, 41, 1);
	moves(300, 41, 2, waiter, 1, 2);
	moves(350, 1, 3, loop, 43, 1);
	moves(400, 43, 2, 0, 1, 4);
	put(900, ctp_w1(CTP_EV_SLEPT, 0, 1), 0, 400000);
	put(900, ctp_w1(CTP_EV_READY, 0, 41), ctp_w2(1, 0), 30 | 3ULL << 32);
	moves(1000, 1, 5, loop, 42, 1);
	moves(1200, 42, 2, opener, 41, 3);
	moves(2500, 41, 4, waiter, 1, 6);
	put(2600, ctp_w1(CTP_EV_DESTROY, CTP_HOW_RELEASED, 43), ctp_w2(1, 0), 0);
	moves(3000, 1, 7, loop, 42, 5);
	return builder_stream(b, 0, past, npast, npast, 0);
}

// One coroutine from its beginning to its end: it waits, an event comes, it waits again, and how
// it went on from there is lost.
static int gap(struct builder *b)
{
	stacks(b);
	struct ctp_thread *t = builder_thread(b, 100, 1);
	t->life = CTP_THREAD_LIVE;
	t->switches = 8;
	t->lost = 2;
	t->created = t->finished = 1;
	put(0, ctp_w1(CTP_EV_THREAD, 0, 1), 0, 100);
	put(1, ctp_w1(CTP_EV_CREATE, 0, 41), ctp_w2(1, creator), (uint64_t)(uintptr_t)people_conn_reader);
	moves(2, 1, 1, 0, 41, 1);
	moves(5, 41, 2, waiter, 1, 2);
	put(16, ctp_w1(CTP_EV_SLEPT, 0, 1), 0, 10000);
	put(17, ctp_w1(CTP_EV_READY, 0, 41), ctp_w2(1, 0), 30 | 3ULL << 32);
	moves(18, 1, 3, 0, 41, 3);
	moves(20, 41, 4, waiter, 1, 4);
	moves(40, 1, 7, 0, 41, 7);
	put(45, ctp_w1(CTP_EV_SWITCH, CTP_HOW_RETURN, 41), ctp_w2(1, 0), 8ULL << 32 | 8);
	put(46, ctp_w1(CTP_EV_SIGNAL, 0, 1), 0, 15);
	return builder_stream(b, 0, past, npast, npast, 0);
}

int main(int argc, char **argv)
{
	static struct builder b;
	if (argc != 3 || builder_begin(&b, argv[2]))
		return EXIT_FAILURE;
	const char *what = argv[1];
	bool told = false; // its stream by itself
	if (!strcmp(what, "lost"))
		lost(&b);
	else if (!strcmp(what, "several"))
		several(&b);
	else if (!strcmp(what, "ending"))
		ending(&b);
	else if (!strcmp(what, "history") || !strcmp(what, "gap"))
		told = true;
	else
		stacks(&b);
	if (told && (!strcmp(what, "gap") ? gap(&b) : history(&b)))
		return EXIT_FAILURE;
	bool peopled = strcmp(what, "empty") && !told;
	if (peopled)
		people(&b);
	b.complete = strcmp(what, "unfinished") != 0;
	b.no_tables = !b.complete;
	if (peopled && streams(&b, !strcmp(what, "cut")))
		return EXIT_FAILURE;
	return builder_end(&b) ? EXIT_FAILURE : EXIT_SUCCESS;
}
