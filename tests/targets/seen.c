// SPDX-License-Identifier: MIT
//
// seen.c [N] - coroutines for a debugger: N of them (3 without it), by the engine that
// $CO_ENGINE names. Each is suspended with six values of its own in registers, its seed times
// 3, 5, 7, 11, 13 and 17. Prints "ready"; each line on stdin makes one more round.
#include <stdio.h>
#include <stdlib.h>

#include "co.h"
#include "must.h"

#define OPAQUE(x) __asm__ volatile("" : "+r"(x))
static volatile long sum;

NOINLINE long seen_visit(long seed)
{
	sum += seed;
	return sum;
}

static NOINLINE long seen_keeps(long seed)
{
	long a = 3 * seed, b = 5 * seed, c = 7 * seed, d = 11 * seed, e = 13 * seed, f = 17 * seed;
	OPAQUE(a);
	OPAQUE(b);
	OPAQUE(c);
	OPAQUE(d);
	OPAQUE(e);
	OPAQUE(f);
	co_yield();
	seen_visit(seed);
	return a ^ b ^ c ^ d ^ e ^ f;
}

static NOINLINE void seen_main(void *arg)
{
	for (;;)
		sum += seen_keeps((long)(intptr_t)arg);
}

static NOINLINE void next_round(struct co **all, int n)
{
	for (int i = 0; i < n; i++)
		co_resume(all[i]);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3;
	struct co **all = must_alloc((size_t)n * sizeof(*all));
	char line[16];
	for (int i = 0; i < n; i++)
		all[i] = co_new(seen_main, (void *)(intptr_t)(100 + i));
	next_round(all, n);
	say("ready");
	while (fgets(line, sizeof(line), stdin)) {
		next_round(all, n);
		say("round");
	}
	return 0;
}
