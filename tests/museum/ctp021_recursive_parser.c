// SPDX-License-Identifier: MIT
// expect: CTP021 proven, 1 coroutine
// end: crash
//
// A server parses each request on a coroutine of its own, with a guard page below
// the stack. The parser goes down one level for each bracket, and nobody counts
// them: a request of a few thousand brackets runs into the guard.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { STACK_BYTES = 64 << 10, GUARD_BYTES = 4096, BRACKETS = 4000 };

static ucontext_t loop, handler;
static char request[BRACKETS + 1];

__attribute__((noinline)) static const char *parse_value(const char *at);

__attribute__((noinline)) static const char *parse_array(const char *at)
{
	char name[128];
	memset(name, *at, sizeof(name));
	at = parse_value(at + 1); // fault
	return at + (name[*at & 1] == ']');
}

static const char *parse_value(const char *at)
{
	return *at == '[' ? parse_array(at) : at + 1;
}

static void handle_request(void)
{
	if (parse_value(request) > request)
		say("parsed");
}

int main(void)
{
	char *memory = must_map(GUARD_BYTES + STACK_BYTES);
	must(mprotect(memory, GUARD_BYTES, PROT_NONE));
	memset(request, '[', BRACKETS);
	must(getcontext(&handler));
	handler.uc_stack.ss_sp = memory + GUARD_BYTES;
	handler.uc_stack.ss_size = STACK_BYTES;
	handler.uc_link = &loop;
	makecontext(&handler, handle_request, 0);
	say("ready");
	swapcontext(&loop, &handler);
	return 0;
}
