// SPDX-License-Identifier: MIT
//
// manners_fibers.c - coroutines that tell AddressSanitizer of their switches.
// Built by its check, with the sanitizer. Throws no exception, leaks nothing.
#include <sanitizer/common_interface_defs.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

enum { FIBERS = 4, BYTES = 64 << 10 };

struct fiber {
	ucontext_t uc;
	char *stack;
	int ended;
};
static ucontext_t main_uc;
static struct fiber fibers[FIBERS], *current;
static const void *main_bottom;
static size_t main_bytes;
static long switches;

static void yield(int ends)
{
	void *fake = NULL;
	current->ended = ends;
	__sanitizer_start_switch_fiber(ends ? NULL : &fake, main_bottom, main_bytes);
	switches++;
	swapcontext(&current->uc, &main_uc);
	__sanitizer_finish_switch_fiber(fake, &main_bottom, &main_bytes);
}

static void body(void)
{
	__sanitizer_finish_switch_fiber(NULL, &main_bottom, &main_bytes);
	for (int i = 0; i < 100; i++) {
		volatile char local[100]; // instrumented
		local[i] = (char)i;
		yield(0);
		if (local[i] != (char)i)
			abort();
	}
	yield(1);
}

static void resume(struct fiber *f)
{
	void *fake;
	current = f;
	__sanitizer_start_switch_fiber(&fake, f->stack, BYTES);
	switches++;
	swapcontext(&main_uc, &f->uc);
	__sanitizer_finish_switch_fiber(fake, NULL, NULL);
}

int main(void)
{
	for (int i = 0; i < FIBERS; i++) {
		struct fiber *f = &fibers[i];
		f->stack = malloc(BYTES);
		getcontext(&f->uc);
		f->uc.uc_stack.ss_sp = f->stack;
		f->uc.uc_stack.ss_size = BYTES;
		makecontext(&f->uc, body, 0);
	}
	for (int i = 0; i <= 100; i++)
		for (int k = 0; k < FIBERS; k++)
			resume(&fibers[k]);
	for (int k = 0; k < FIBERS; k++)
		free(fibers[k].stack);
	printf("switches %ld\n", switches);
	return 0;
}
