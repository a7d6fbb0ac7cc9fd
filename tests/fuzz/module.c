// SPDX-License-Identifier: MIT
//
// The object file that the fuzz targets of object files begin with: small, with inlined calls and
// two functions that are called as those of a C++20 coroutine, C alone.
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

int module_resume(unsigned short *frame) __asm__("_Z4leafi.actor");
int module_resume(unsigned short *frame)
{
	switch (frame[16]) {
	case 2:
		frame[16] = 4;
		return module_loop(2);
	case 4:
		frame[16] = 6;
		return 4;
	case 6:
		return module_outer(1);
	default:
		return 0;
	}
}

int module_destroy(unsigned short *frame) __asm__("_Z4leafi.destroy");
int module_destroy(unsigned short *frame)
{
	frame[16] |= 1;
	return module_resume(frame);
}
