// SPDX-License-Identifier: MIT
//
// switch.c by Boost.Context: N coroutines in a ring, switched to in turn by one
// scheduler: prints the time of a switch in nanoseconds. Usage: fcontext COROUTINES SWITCHES [in-turn]
// in-turn: all leave now from here, now from there, as a server's do that read and write.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "now.h"
#include "probe.h"

// what libboost_context.so exports to C
struct transfer {
	void *from, *data;
};
void *make_fcontext(void *top, size_t bytes, void (*fn)(struct transfer));
struct transfer jump_fcontext(void *to, void *data);

enum { STACK_BYTES = 16384 };

GO_KIND struct transfer go(void *from, void *to)
{
	PROBE(from, to);
	return jump_fcontext(to, from);
}

static void body(struct transfer t)
{
	for (;;)
		t = go(NULL, t.from);
}

static __attribute__((noinline)) struct transfer elsewhere(void *from, void *to)
{
	volatile char room[64] = "";
	struct transfer t = go(from, to);
	(void)room[0]; // no tail call
	return t;
}

static void body_in_turn(struct transfer t)
{
	for (;;) {
		t = go(NULL, t.from);
		t = elsewhere(NULL, t.from);
	}
}

static void in_turn(void **contexts, long n, long rounds)
{
	for (long i = 0, at = 0; i < rounds; i++) {
		contexts[at] = go(NULL, contexts[at]).from;
		contexts[at] = elsewhere(NULL, contexts[at]).from;
		at = at + 1 == n ? 0 : at + 1;
	}
}

static void one_place(void **contexts, long n, long rounds)
{
	for (long i = 0, at = 0; i < rounds; i++) {
		contexts[at] = go(NULL, contexts[at]).from;
		at = at + 1 == n ? 0 : at + 1;
	}
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, switches = argc > 2 ? atol(argv[2]) : 1000000;
	bool turns = argc > 3;
	void **contexts = calloc((size_t)n, sizeof(*contexts));
	for (long i = 0; i < n; i++)
		contexts[i] = make_fcontext((char *)malloc(STACK_BYTES) + STACK_BYTES, STACK_BYTES, turns ? body_in_turn : body);
	for (long i = 0; i < n; i++) // first runs are not measured
		contexts[i] = go(NULL, contexts[i]).from;
	double t0 = now_ns();
	if (turns)
		in_turn(contexts, n, switches / 4);
	else
		one_place(contexts, n, switches / 2);
	printf("%.2f\n", (now_ns() - t0) / (double)(turns ? switches / 4 * 4 : switches / 2 * 2));
	return 0;
}
