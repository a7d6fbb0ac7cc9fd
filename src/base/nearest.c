// SPDX-License-Identifier: MIT
//
// The distance of Damerau and Levenshtein in its restricted form: an exchanged pair is not edited again.
#include "base/nearest.h"

#include <string.h>

#define LONGEST 64

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

unsigned nearest_distance(const char *a, size_t n, const char *b)
{
	// rows of the table: the one before the last, the last, and the one that is being made
	unsigned rows[3][LONGEST + 1], *before = rows[0], *last = rows[1], *now = rows[2];
	size_t m = strlen(b);
	if (n > LONGEST || m > LONGEST)
		return (unsigned)(n > m ? n : m);
	for (size_t j = 0; j <= m; j++)
		last[j] = (unsigned)j;
	for (size_t i = 1; i <= n; i++) {
		now[0] = (unsigned)i;
		for (size_t j = 1; j <= m; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
		unsigned *free_row = before;
		before = last;
		last = now;
		now = free_row;
	}
	return last[m];
}

int nearest_is_near(size_t n, unsigned distance)
{
	return distance && distance <= (n + 2) / 3;
}
