// SPDX-License-Identifier: MIT
//
// foreign.c - see foreign.h.
#include "foreign.h"

struct six jump_fcontext(long a, long b, long c, long d, long e, double x0, double x1, float x2, double x3, double x4,
			 double x5, double x6, double x7, long f, long g, long h)
{
	return (struct six){{a, b, c, d, e, f}, {x0, x1, x2, x3, x4, x5, x6, x7}, {g, h}};
}

vec ontop_fcontext(vec a, vec b, long n)
{
	return a - b + (float)n;
}

struct two make_fcontext(char *top, unsigned long bytes, long c, long d, long e, long f)
{
	return (struct two){(unsigned long)top + (unsigned long)c + (unsigned long)e,
			    bytes + (unsigned long)d + (unsigned long)f};
}

vec foreign_twice(vec a)
{
	struct six s = jump_fcontext(0, 0, 0, 0, 0, a[0], a[1], a[2], a[3], 0, 0, 0, 0, 0, 0, 0);
	vec zero = {0};
	return ontop_fcontext((vec){(float)s.d[0], (float)s.d[1], (float)s.d[2], (float)s.d[3]}, zero - a, 0);
}
