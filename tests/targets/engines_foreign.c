// SPDX-License-Identifier: MIT
//
// engines_foreign.c - uses functions of its own library (foreign.c) that have
// the names of Boost.Context's and nothing else of it. Prints "ok NAME" lines.
#include <stdio.h>
#include <string.h>

#include "foreign.h"

static int bad;

static void ok(int holds, const char *name)
{
	printf("%s %s\n", holds ? "ok" : "NOT", name);
	bad |= !holds;
}

static void by_registers(void)
{
	struct six r = jump_fcontext(1, -2, 3, -4, 5, 0.5, -1.25, 7.75f, 8, 9, 10, 11, 12, -6, 77, -88);
	long want[] = {1, -2, 3, -4, 5, -6};
	ok(!memcmp(r.l, want, sizeof(want)), "integers");
	ok(r.d[0] == 0.5 && r.d[1] == -1.25 && r.d[2] == 7.75 && r.d[3] == 8, "xmm0 to xmm3");
	ok(r.d[4] == 9 && r.d[5] == 10 && r.d[6] == 11 && r.d[7] == 12, "xmm4 to xmm7");
	ok(r.stacked[0] == 77 && r.stacked[1] == -88, "on the stack");
}

static int same(vec a, float p, float q, float r, float s)
{
	return a[0] == p && a[1] == q && a[2] == r && a[3] == s;
}

static void by_vectors(void)
{
	ok(same(ontop_fcontext((vec){1, 2, 3, 4}, (vec){-1, -2, -3, -4}, 3), 5, 7, 9, 11), "vectors");
	ok(same(foreign_twice((vec){1, 2, 3, 4}), 2, 4, 6, 8), "called by its own library");
}

static void odd_words(void)
{
	static const unsigned long words[] = {0, 1, 7, 8, 4095, 4096, ~0UL, 1UL << 63, 0x7fffffffffffUL, 0x800000000000UL};
	int good = 1;
	for (int k = 0; k < 2000; k++) {
		struct six r;
		int i = k % 10;
		long w = (long)words[i], here = (long)&r;
		r = jump_fcontext(w, here, w, here, w, i, i, (float)i, i, i, i, i, i, here, w, here);
		good &= r.l[0] == w && r.l[1] == here && r.l[5] == here && r.stacked[0] == w && r.d[7] == i;
		struct two t = make_fcontext((char *)w, words[k % 7], k, here, k, i);
		good &= t.a == words[i] + 2UL * (unsigned)k && t.b == words[k % 7] + (unsigned long)(here + i);
	}
	ok(good, "words that could be handles");
}

static void makes(void)
{
	static char memory[4096];
	struct two r = make_fcontext(memory + sizeof(memory), sizeof(memory), 3, 4, -5, 6);
	ok(r.a == (unsigned long)memory + 4096 - 2 && r.b == 4096 + 10, "make");
}

int main(void)
{
	by_registers();
	by_vectors();
	odd_words();
	makes();
	return bad;
}
