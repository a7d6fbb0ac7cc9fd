// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP005 likely
// order: SIGUSR1
//
// Actors that wait for anything in one and the same place: a byte of their client, or
// a permit that others return. The client's row is one-shot and was not armed again
// by who now waits for a permit, though that is where it was woken before. Its bytes
// wait in the socket; it will come to them.
#include "ordered.h"

#define ACTORS 4
#define PERMITS 1

enum message { BYTES, PERMIT };

static struct actor {
	struct co *co;
	int fd, peer, requests;
	enum message message;
	bool wants_permit;
} actors[ACTORS], *owner;
static int ep, permits = PERMITS;

// The one place.
static NOINLINE enum message next_message(struct actor *a)
{
	co_yield();
	return a->message;
}

static void deliver(struct actor *a, enum message m)
{
	a->message = m;
	co_resume(a->co);
}

static void arm(struct actor *a)
{
	co_watch(ep, a->fd, EPOLLIN | EPOLLONESHOT, a->co);
}

static void ask_for_permit(struct actor *a)
{
	a->wants_permit = true;
	if (permits) {
		permits--;
		a->wants_permit = false;
		owner = a;
	}
}

static void return_permit(void)
{
	owner = NULL;
	for (int i = 0; i < ACTORS; i++)
		if (actors[i].wants_permit) {
			actors[i].wants_permit = false;
			owner = &actors[i];
			deliver(owner, PERMIT);
			return;
		}
	permits++;
}

static bool serve_request(struct actor *a)
{
	char request[8];
	ssize_t n = read(a->fd, request, sizeof(request));
	if (n == 0)
		return false;
	a->requests++;
	return true;
}

// Each byte costs a permit, which goes back by the loop's hand.
static void act(void *arg)
{
	struct actor *a = arg;
	arm(a);
	for (;;) {
		if (next_message(a) == BYTES) {
			ask_for_permit(a);
			if (owner != a)
				continue; // not armed: first the permit
		}
		if (!serve_request(a))
			break;
		arm(a);
	}
	ended++;
}

static NOINLINE void begin(struct actor *a)
{
	int fds[2];
	pair("unix", fds);
	a->fd = fds[0];
	a->peer = fds[1];
	a->co = co_new(act, a);
	co_resume(a->co);
}

static NOINLINE void send_each(void)
{
	for (int i = 0; i < ACTORS; i++)
		must(write(actors[i].peer, "request", 7));
	for (int i = 0; i < ACTORS; i++)
		co_turn(ep, 0);
}

static NOINLINE void return_all(void)
{
	while (owner)
		return_permit();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < ACTORS; i++)
		begin(&actors[i]);
	send_each();
	return_all();
	send_each(); // one is served, three wait for its permit
	serve_until_ordered(ep);
	return_all();
	for (int i = 0; i < ACTORS; i++)
		close(actors[i].peer);
	while (ended < ACTORS) {
		co_turn(ep, -1);
		return_all();
	}
	for (int i = 0; i < ACTORS; i++)
		must(actors[i].requests == 2 ? 0 : -1);
	return all_resumed(ACTORS);
}
