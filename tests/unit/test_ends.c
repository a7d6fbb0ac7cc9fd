// SPDX-License-Identifier: MIT
//
// Words that are the end of the block before a frame, in this process's own heap.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/stackless/ends.h"
#include "sanitized.h"

enum { BYTES = 48, TRIES = 1000 }; // with its header it is full to the last word

struct two {
	char *before, *frame;
	uint64_t apart[4], words[3], behind[4];
	struct inspection l;
	struct graph g;
	struct graph_part part;
};

// Two blocks side by side; false: this allocator does not make such.
static bool make(struct two *t)
{
	static char *v[TRIES];
	t->before = NULL;
	for (size_t i = 0; i < TRIES && !t->before; i++) {
		v[i] = malloc(BYTES);
		if (i && v[i] == v[i - 1] + BYTES + 16) {
			t->before = v[i - 1];
			t->frame = v[i];
		}
	}
	memory_of_process(&t->l.memory, getpid());
	t->part = (struct graph_part){{(uintptr_t)t->frame, (uintptr_t)t->frame + BYTES + 8}, 0, false};
	struct graph_part header = {{(uintptr_t)t->frame - 16, 0}, 0, true};
	struct graph_part parts[] = {header, t->part};
	return t->before && !graph_init(&t->g, 1, parts, 2);
}

static bool is_end(struct two *t, unsigned word)
{
	const struct graph_edge e = {GRAPH_OUTSIDE, 0, (uintptr_t)&t->words[word]};
	return ends_word(&t->l, &t->g, &e);
}

static void ends(void **state)
{
	struct two t = {0};
	(void)state;
	if (SANITIZED || !make(&t))
		skip();
	uint64_t end = (uintptr_t)t.frame - 16;
	t.words[0] = (uintptr_t)t.before;
	t.words[1] = t.words[2] = end;
	assert_true(is_end(&t, 1));
	assert_true(is_end(&t, 2));
	t.words[0] = (uintptr_t)t.before + 16; // not that one's begin
	assert_false(is_end(&t, 1));
	t.words[0] = 0;
	assert_false(is_end(&t, 1));
	t.words[0] = (uintptr_t)t.before;
	t.words[1] = (uintptr_t)t.frame; // its handle
	assert_false(is_end(&t, 1));
	t.words[1] = end - 16;
	assert_false(is_end(&t, 1));
	graph_deinit(&t.g);
	memory_close(&t.l.memory);
}

static void they_are_taken_out(void **state)
{
	struct two t = {0};
	struct ends taken = {0};
	bool marked[2] = {false, false};
	(void)state;
	if (SANITIZED || !make(&t))
		skip();
	t.l.deadline_ns = UINT64_MAX;
	t.words[0] = (uintptr_t)t.before;
	t.words[1] = (uintptr_t)t.frame - 16;
	graph_word(&t.g, (uintptr_t)&t.words[1], t.words[1]);
	graph_word(&t.g, (uintptr_t)&t.words[2], (uintptr_t)t.frame);
	assert_int_equal(t.g.nedges, 2);
	assert_true(ends_take(&taken, &t.l, &t.g));
	assert_int_equal(taken.n, 1);
	assert_int_equal(t.g.nedges, 1);
	assert_int_equal(t.g.edges[0].at, (uintptr_t)&t.words[2]);
	assert_true(graph_spread(&t.g));
	assert_true(ends_mark(&taken, &t.g, marked));
	assert_false(marked[0]); // it is reached
	t.g.nedges = 0;
	t.g.reached[0] = false;
	assert_true(graph_spread(&t.g));
	assert_true(ends_mark(&taken, &t.g, marked));
	assert_true(marked[0]);
	marked[0] = false;
	taken.v[0].from = 0; // one that is lost itself has the word
	assert_true(ends_mark(&taken, &t.g, marked));
	assert_false(marked[0]);
	ends_deinit(&taken);
	graph_deinit(&t.g);
	memory_close(&t.l.memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(ends), cmocka_unit_test(they_are_taken_out)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
