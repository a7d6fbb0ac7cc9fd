// SPDX-License-Identifier: MIT
//
// The object file that the fuzz targets of object files begin with: small, with inlined calls, C alone.
int module_counter;
int module_outer(int n);
int module_loop(int n);

static inline __attribute__((always_inline)) int inner(int n)
{
	return n * 3 + module_counter++;
}

__attribute__((noinline)) int module_loop(int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += inner(i);
	return sum;
}

int module_outer(int n)
{
	return inner(n) + module_loop(n);
}
