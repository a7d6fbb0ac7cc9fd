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
	for (uint64_t i = 0; i < 3; i++)
		lose(b, reader(b, 41 + i, 7 + (int)i), 7 + (int)i, "++++++?", NULL);
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

int main(int argc, char **argv)
{
	static struct builder b;
	if (argc != 3 || builder_begin(&b, argv[2]))
		return EXIT_FAILURE;
	const char *what = argv[1];
	if (!strcmp(what, "lost"))
		lost(&b);
	else if (!strcmp(what, "several"))
		several(&b);
	else if (!strcmp(what, "ending"))
		ending(&b);
	else
		stacks(&b);
	if (strcmp(what, "empty"))
		people(&b);
	b.complete = strcmp(what, "unfinished") != 0;
	b.no_tables = !b.complete;
	if (strcmp(what, "empty") && streams(&b, !strcmp(what, "cut")))
		return EXIT_FAILURE;
	return builder_end(&b) ? EXIT_FAILURE : EXIT_SUCCESS;
}
