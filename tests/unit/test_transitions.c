// SPDX-License-Identifier: MIT
//
// Tests of trace/moves: who moves when, and what is known of each then; the same from a
// directory and from JSON lines.
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "builder.h"
#include "trace/transitions.h"
#include "trace_dir.h"

#define AT(t) (BUILDER_START + (t))

static struct builder b;

static int begin(void **state)
{
	return trace_dir_begin() ? -1 : builder_begin(&b, trace_dir);
}

// ------------------------------------------------------------- what is told

struct told {
	unsigned kind;
	uint64_t ns, from, to, from_n, to_n, tid;
	uint64_t from_since, to_since, entry, pc;
	uint32_t to_stack;
	bool native, to_was_suspended, gap;
};

struct heard {
	struct told moves[64];
	size_t n, enough;
};

static int hear(void *arg, const struct transition *m)
{
	struct heard *h = arg;
	assert_true(h->n < 64);
	struct told *t = &h->moves[h->n++];
	*t = (struct told){ .kind = m->kind, .ns = m->ns, .from_n = m->from_n, .to_n = m->to_n, .tid = m->tid, .pc = transitions_pc(m),
			    .gap = m->from_gap || m->to_gap };
	if (m->from) {
		t->from = m->from->id;
		t->from_since = m->from->since_ns;
		t->native = m->from->native;
	}
	if (m->to) {
		t->to = m->to->id;
		t->to_since = m->to->since_ns;
		t->to_stack = m->to->stack;
		t->to_was_suspended = m->to->suspended;
		t->entry = m->to->entry;
	}
	return h->n == h->enough ? 77 : 0;
}

static int walk(struct heard *h, const char *path)
{
	struct world_error error;
	struct world w;
	assert_int_equal(world_open(&w, path, 0, NULL, &error), 0);
	int r = transitions_walk(&w, hear, h);
	world_close(&w);
	return r;
}

// ------------------------------------------------------------- a small program

static size_t put(struct ctp_record *r, size_t at, uint64_t time, uint64_t w1, uint64_t w2, uint64_t w3)
{
	ctp_record_set(&r[at], &r[at + 1], time, w1, w2, w3);
	return at + 2;
}

static size_t put_switch(struct ctp_record *r, size_t at, uint64_t time, unsigned how, uint64_t from, uint64_t to, uint32_t stack,
			 uint32_t from_n, uint32_t to_n)
{
	return put(r, at, time, ctp_w1(CTP_EV_SWITCH, how, from) | (uint64_t)CTP_MARK_NEAR << 56, ctp_w2(to, stack),
		   from_n | (uint64_t)to_n << 32);
}

// Coroutine 3 begins on the thread of 1, and goes on, and ends, on that of 2.
static void program(void)
{
	struct ctp_record r[32];
	uint32_t there = builder_stack(&b, 2, (uint64_t[]){ 0x1234, 0x5678 });
	builder_thread(&b, 100, 1);
	builder_thread(&b, 200, 2);
	size_t n = put(r, 0, AT(10), ctp_w1(CTP_EV_THREAD, 0, 1), ctp_w2(0, 0), 100);
	n = put(r, n, AT(20), ctp_w1(CTP_EV_CREATE, 0, 3), ctp_w2(1, 0), 0x5000);
	n = put_switch(r, n, AT(30), CTP_HOW_SWAP, 1, 3, 0, 1, 1);
	n = put_switch(r, n, AT(40), CTP_HOW_SWAP, 3, 1, there, 2, 2);
	assert_int_equal(builder_stream(&b, 0, r, n, n, 0), 0);
	n = put(r, 0, AT(15), ctp_w1(CTP_EV_THREAD, 0, 2), ctp_w2(0, 0), 200);
	n = put_switch(r, n, AT(60), CTP_HOW_SWAP, 2, 3, 0, 1, 3);
	n = put_switch(r, n, AT(70), CTP_HOW_RETURN, 3, 2, 0, 4, 2);
	assert_int_equal(builder_stream(&b, 1, r, n, n, 0), 0);
	assert_int_equal(builder_end(&b), 0);
}

static void in_order(void **state)
{
	struct heard h = { .n = 0 };
	program();
	assert_int_equal(walk(&h, trace_dir), 0);
	assert_int_equal(h.n, 7);
	static const struct { unsigned kind; uint64_t ns, from, to, tid; } wanted[] = {
		{ CTP_EV_THREAD, AT(10), 1, 0, 100 }, { CTP_EV_THREAD, AT(15), 2, 0, 101 }, { CTP_EV_CREATE, AT(20), 3, 1, 100 },
		{ CTP_EV_SWITCH, AT(30), 1, 3, 100 }, { CTP_EV_SWITCH, AT(40), 3, 1, 100 }, { CTP_EV_SWITCH, AT(60), 2, 3, 101 },
		{ CTP_EV_SWITCH, AT(70), 3, 2, 101 },
	};
	for (size_t i = 0; i < h.n; i++) {
		assert_int_equal(h.moves[i].kind, wanted[i].kind);
		assert_int_equal(h.moves[i].ns, wanted[i].ns);
		assert_int_equal(h.moves[i].from, wanted[i].from);
		assert_int_equal(h.moves[i].to, wanted[i].to);
		assert_int_equal(h.moves[i].tid, wanted[i].tid);
		assert_false(h.moves[i].gap);
	}
}

static void what_is_known(void **state)
{
	struct heard h = { .n = 0 };
	program();
	assert_int_equal(walk(&h, trace_dir), 0);
	const struct told *first = &h.moves[3], *leaves = &h.moves[4], *again = &h.moves[5], *ends = &h.moves[6];
	assert_true(first->native);
	assert_int_equal(first->from_since, AT(10));
	assert_int_equal(first->to_since, AT(20)); // it was made then
	assert_int_equal(first->entry, 0x5000);
	assert_false(first->to_was_suspended);
	assert_false(leaves->native);
	assert_int_equal(leaves->from_since, AT(30));
	assert_int_equal(leaves->pc, 0x1234);
	assert_true(leaves->to_was_suspended);
	assert_int_equal(again->to_since, AT(40)); // on another thread
	assert_int_equal(again->to_stack, 1);
	assert_int_equal(again->entry, 0x5000);
	assert_int_equal(ends->from_since, AT(60));
	assert_int_equal(ends->from_n, 4);
}

// What was before a loss is not what was last.
static void gaps(void **state)
{
	struct heard h = { .n = 0 };
	struct ctp_record r[8];
	builder_thread(&b, 100, 1);
	size_t n = put_switch(r, 0, AT(30), CTP_HOW_SWAP, 1, 3, 0, 1, 1);
	n = put_switch(r, n, AT(90), CTP_HOW_SWAP, 1, 3, 0, 3, 3);
	assert_int_equal(builder_stream(&b, 0, r, n, n, 0), 0);
	assert_int_equal(builder_end(&b), 0);
	assert_int_equal(walk(&h, trace_dir), 0);
	assert_int_equal(h.n, 2);
	assert_false(h.moves[0].gap);
	assert_true(h.moves[1].gap);
}

static void the_sink_ends_it(void **state)
{
	struct heard h = { .enough = 4 };
	program();
	assert_int_equal(walk(&h, trace_dir), 77);
	assert_int_equal(h.n, 4);
}

// Two lines at one time on one thread are a switch; what stands alone is told so.
static void lines(void **state)
{
	struct heard h = { .n = 0 };
	char path[96];
	snprintf(path, sizeof(path), "%s/x.jsonl", dir);
	FILE *f = fopen(path, "we");
	assert_non_null(f);
	fputs("{\"probe_id\":1,\"tid\":9,\"addr\":\"0x0000000000000010\",\"seq\":2,\"is_active\":false,\"ts\":50,\"native\":true}\n"
	      "{\"probe_id\":3,\"tid\":9,\"addr\":\"0x0000000000000000\",\"seq\":2,\"is_active\":true,\"ts\":50}\n"
	      "{\"probe_id\":3,\"tid\":9,\"addr\":\"0x0000000000000020\",\"seq\":4,\"is_active\":false,\"ts\":60}\n"
	      "{\"probe_id\":4,\"tid\":8,\"addr\":\"0x0000000000000030\",\"seq\":4,\"is_active\":true,\"ts\":60,\"more\":1}\n", f);
	fclose(f);
	assert_int_equal(walk(&h, path), 0);
	assert_int_equal(h.n, 3);
	assert_int_equal(h.moves[0].from, 1);
	assert_int_equal(h.moves[0].to, 3);
	assert_int_equal(h.moves[0].pc, 0x10);
	assert_true(h.moves[0].native);
	assert_int_equal(h.moves[1].from, 3);
	assert_int_equal(h.moves[1].to, 0);
	assert_int_equal(h.moves[1].from_since, 50);
	assert_int_equal(h.moves[2].from, 0);
	assert_int_equal(h.moves[2].to, 4);
	assert_int_equal(h.moves[2].pc, 0x30);
	assert_true(h.moves[2].gap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(in_order, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(what_is_known, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(gaps, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(the_sink_ends_it, begin, trace_dir_end),
		cmocka_unit_test_setup_teardown(lines, begin, trace_dir_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
