// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGSYS
//
// A sandbox: its guests' forbidden system calls come as SIGSYS, and the handler
// answers in their place. In the same handler the supervisor gets its turn, on the
// stack of whoever was interrupted, and it collects the guests that it has cut off.
#include "ordered.h"

#define GUESTS 3

struct guest {
	int channel;
	bool revoked;
	struct co *agent;
};

static struct guest *guests; // a block of its own
static int ep, forbidden;

static void agent(void *arg)
{
	struct guest *g = arg;
	char request[32];
	while (co_read(ep, g->channel, request, sizeof(request)) > 0)
		;
	g->agent = NULL;
	ended++;
}

static NOINLINE void collect_revoked(void)
{
	for (int i = 0; i < GUESTS; i++)
		if (guests[i].revoked && guests[i].agent)
			co_resume(guests[i].agent);
}

// Comes only while the loop sleeps: then no coroutine is in the middle of anything.
static void on_sigsys(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	(void)context;
	forbidden++;
	collect_revoked();
}

static NOINLINE void admit_all(void)
{
	guests = must_alloc(GUESTS * sizeof(*guests));
	co_kind = CO_HEAP;
	for (int i = 0; i < GUESTS; i++) {
		int fds[2];
		pair("unix", fds);
		guests[i].channel = fds[0];
		guests[i].agent = co_new(agent, &guests[i]);
		co_resume(guests[i].agent);
		must(write(fds[1], "hello", 5));
	}
	for (int i = 0; i < GUESTS; i++)
		co_turn(ep, 0);
}

static NOINLINE void revoke_all(void)
{
	for (int i = 0; i < GUESTS; i++) {
		guests[i].revoked = true;
		close(guests[i].channel); // fault
	}
}

int main(void)
{
	struct sigaction act = {.sa_sigaction = on_sigsys, .sa_flags = SA_SIGINFO};
	sigset_t sys, none;
	struct epoll_event ev;
	sigemptyset(&none);
	sigemptyset(&sys);
	sigaddset(&sys, SIGSYS);
	must(sigprocmask(SIG_BLOCK, &sys, NULL));
	must(sigaction(SIGSYS, &act, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	admit_all();
	revoke_all();
	say("ready");
	while (!forbidden)
		epoll_pwait(ep, &ev, 1, -1, &none);
	return all_resumed(GUESTS);
}
