// SPDX-License-Identifier: MIT
//
// foreign.h - other functions by the names of Boost.Context's.
#pragma once

typedef float vec __attribute__((vector_size(16)));
struct six {
	long l[6];
	double d[8];
	long stacked[2];
};
struct two {
	unsigned long a, b;
};
struct six jump_fcontext(long a, long b, long c, long d, long e, double x0, double x1, float x2, double x3, double x4,
			 double x5, double x6, double x7, long f, long g, long h); // its address is an argument too
vec ontop_fcontext(vec a, vec b, long n);
struct two make_fcontext(char *top, unsigned long bytes, long c, long d, long e, long f);
vec foreign_twice(vec a); // calls the others from inside the library
