// SPDX-License-Identifier: MIT
// expect: CTP011 suspect, 1 coroutine
//
// Sessions do not return, they leave for good (setcontext). The registry still
// names one that has left, and a broadcast resumes it.
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 3

static ucontext_t sessions[SESSIONS], loop;
static volatile int current;
static volatile bool shut_down;

static void session(void)
{
	do
		swapcontext(&sessions[current], &loop);
	while (shut_down);
	setcontext(&loop);
}

static NOINLINE void resume(int i)
{
	current = i;
	swapcontext(&loop, &sessions[i]);
}

static NOINLINE void broadcast(void)
{
	for (int i = 0; i < SESSIONS; i++)
		resume(i); // fault
}

int main(void)
{
	for (int i = 0; i < SESSIONS; i++) {
		must(getcontext(&sessions[i]));
		sessions[i].uc_stack.ss_sp = must_map(64 << 10);
		sessions[i].uc_stack.ss_size = 64 << 10;
		makecontext(&sessions[i], session, 0);
		resume(i);
	}
	resume(1); // the client has said goodbye
	shut_down = true;
	broadcast();
	say("ready");
	pause();
}
