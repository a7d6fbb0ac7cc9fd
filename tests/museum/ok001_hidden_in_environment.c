// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept as text in the environment, as for scripts: in base 36, in octal digits from the
// other end, in base 62, and in Base64.
#include <stdio.h>
#include <string.h>

#include "evicted.h"

enum { KEPT = 4 };
static const char DIGITS[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
static const char OF_64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const unsigned BASES[KEPT] = {36, 8, 62, 64};

static const char *digits(int i)
{
	return i == 3 ? OF_64 : DIGITS;
}

static NOINLINE void keep(int i, struct co *c)
{
	char name[8], text[24], back[24];
	int n = 0;
	for (uint64_t v = (uintptr_t)c; v; v /= BASES[i])
		back[n++] = digits(i)[v % BASES[i]];
	for (int k = 0; k < n; k++)
		text[k] = i == 1 ? back[k] : back[n - 1 - k];
	text[n] = 0;
	snprintf(name, sizeof(name), "JOB%d", i);
	must(setenv(name, text, 1));
}

static NOINLINE struct co *find(int i)
{
	char name[8];
	uint64_t v = 0;
	snprintf(name, sizeof(name), "JOB%d", i);
	const char *text = getenv(name);
	int n = (int)strlen(text);
	for (int k = 0; k < n; k++)
		v = v * BASES[i] + (uint64_t)(strchr(digits(i), text[i == 1 ? n - 1 - k : k]) - digits(i));
	return (struct co *)(uintptr_t)v;
}

int main(void)
{
	return evict_and_serve(5, KEPT);
}
