// SPDX-License-Identifier: MIT
//
// A coroutine whose functions are called what a page would take for markup, if it let it. Built
// without -g, so that the symbol is all that is known of them.
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define MARKUP "</script><script>alert(1)</script><img src=x onerror=alert(2)>"

void body(void) __asm__("\"body" MARKUP "\"");
void leave(void) __asm__("\"leave" MARKUP "\"");

static ucontext_t home, own;

__attribute__((noinline)) void leave(void)
{
	must(swapcontext(&own, &home));
}

void body(void)
{
	for (;;)
		leave();
}

int main(void)
{
	size_t bytes = 64 << 10;
	must(getcontext(&own));
	own.uc_stack.ss_sp = must_alloc(bytes);
	own.uc_stack.ss_size = bytes;
	makecontext(&own, body, 0);
	must(swapcontext(&home, &own));
	must(swapcontext(&home, &own));
	say("ready");
	for (;;)
		pause();
}
