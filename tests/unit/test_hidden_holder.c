// SPDX-License-Identifier: MIT
//
// Blocks that lead to a coroutine and to which nothing leads: which of them are leaks that the fault explains.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "ctp/rules.h"
#include "engine/memory/hidden_holder.h"

enum { SUSPECTS = 2, BLOCKS = 3, NODES = SUSPECTS + BLOCKS, BYTES = 64 };
enum node { LOST, OTHER, A, B, C }; // two coroutines, three blocks
static struct suspect suspects[SUSPECTS], *who[SUSPECTS];
static struct registration fired;
static struct inspection l;
static struct search s;
static struct span blocks[BLOCKS];

static uint64_t begin(enum node n)
{
	return 0x10000u * (n + 1);
}

static void open_case(void)
{
	struct graph_part parts[NODES];
	memset(suspects, 0, sizeof(suspects));
	s = (struct search){.nodes = SUSPECTS, .blocks = {.v = blocks, .n = BLOCKS}};
	l = (struct inspection){.who = who, .n = SUSPECTS};
	for (unsigned i = 0; i < NODES; i++) {
		parts[i] = (struct graph_part){{begin(i), begin(i) + BYTES}, i, false};
		if (i >= SUSPECTS)
			blocks[i - SUSPECTS] = parts[i].at;
	}
	for (unsigned i = 0; i < SUSPECTS; i++) {
		who[i] = &suspects[i];
		suspects[i] = (struct suspect){.rule = RULE_LOST_WAKEUP, .nmine = 1, .c.fd = -1};
	}
	assert_int_equal(graph_init(&s.g, NODES, parts, NODES), 0);
}

static void leads(enum node from, enum node to)
{
	graph_word(&s.g, begin(from) + 8 * (to + 1), begin(to));
}

// The block that is found to hold the first one; 0.
static uint64_t holder(void)
{
	assert_true(graph_spread(&s.g));
	struct hidden_holder *v = hidden_holders(&l, &s);
	assert_non_null(v);
	uint64_t block = v[LOST].block;
	assert_int_equal(v[LOST].word != 0, block != 0);
	free(v);
	graph_deinit(&s.g);
	return block;
}

static void what_holds(void **state)
{
	(void)state;
	open_case();
	assert_int_equal(holder(), 0);
	open_case();
	leads(A, LOST);
	assert_int_equal(holder(), begin(A));
	open_case(); // by others
	leads(B, A);
	leads(A, LOST);
	assert_int_equal(holder(), begin(B));
	open_case(); // two that lead to each other
	leads(A, LOST);
	leads(A, B);
	leads(B, A);
	assert_int_not_equal(holder(), 0);
	open_case(); // by another coroutine, to which it leads
	leads(A, OTHER);
	leads(OTHER, LOST);
	assert_int_equal(holder(), begin(A));
}

static void what_is_its_own(void **state)
{
	(void)state;
	open_case();
	leads(A, LOST);
	leads(LOST, A);
	assert_int_equal(holder(), 0);
	open_case(); // by what it leads to
	leads(A, LOST);
	leads(LOST, B);
	leads(B, A);
	assert_int_equal(holder(), 0);
	open_case(); // another lost one's
	leads(A, LOST);
	leads(OTHER, A);
	assert_int_equal(holder(), 0);
	open_case(); // but beside it there is one that is not
	leads(A, LOST);
	leads(LOST, A);
	leads(C, LOST);
	assert_int_equal(holder(), begin(C));
}

static void what_the_kernel_held(void **state)
{
	(void)state;
	open_case();
	leads(A, LOST);
	suspects[LOST].c = (struct ctp_cand){.fd = 7, .was.reg_data = begin(A)};
	assert_int_equal(holder(), 0);
	open_case();
	leads(A, LOST);
	suspects[LOST].s.nwaits = 1;
	suspects[LOST].s.waits[0] = (struct ctp_wait){.epfd = 3, .data = begin(A) + 8};
	assert_int_equal(holder(), 0);
	for (unsigned i = 0; i < 2; i++) {
		open_case();
		leads(A, LOST);
		fired = (struct registration){.data = begin(A), .events = i ? EPOLLIN | EPOLLONESHOT : EPOLLONESHOT};
		l.registrations.v = &fired;
		l.registrations.n = 1;
		assert_int_equal(holder(), i ? begin(A) : 0); // one that is armed is a root, elsewhere
	}
}

static void whom_it_is_not_asked_of(void **state)
{
	(void)state;
	static const unsigned rules[] = {RULE_NONE, RULE_PARKED};
	for (unsigned i = 0; i < 2; i++) {
		open_case();
		leads(A, LOST);
		suspects[LOST].rule = rules[i];
		assert_int_equal(holder(), 0);
	}
	open_case();
	leads(A, LOST);
	s.g.reached[LOST] = true;
	assert_int_equal(holder(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_holds),
		cmocka_unit_test(what_is_its_own),
		cmocka_unit_test(what_the_kernel_held),
		cmocka_unit_test(whom_it_is_not_asked_of),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
