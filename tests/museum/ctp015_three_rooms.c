// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 3 coroutines in 1 finding
//
// Meetings book two rooms each, from a ring of three: every meeting holds one
// room and waits for the next. Waiters are linked through the meetings
// themselves, rooms and meetings are on the heap, and the scheduler, which sleeps
// in a poll with a timeout, has a list of those only that are ready.
#include <poll.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define NOINLINE __attribute__((noinline))
enum { MEETINGS = 3, STACK = 32 << 10 };

struct meeting {
	struct meeting *next; // in the ready list, or behind a room's door
	struct room *first, *second;
	char *stack;
	ucontext_t context;
};

struct room {
	struct meeting *holder, *at_door;
	int number;
};

static struct meeting *ready, **ready_end = &ready, *running;
static ucontext_t scheduler;
static int held, solo;

static NOINLINE void make_ready(struct meeting *m)
{
	m->next = NULL;
	*ready_end = m;
	ready_end = &m->next;
}

static NOINLINE void suspend(struct meeting *m)
{
	swapcontext(&m->context, &scheduler);
}

static NOINLINE struct meeting *self(void)
{
	return running;
}

static void book(struct room *r)
{
	struct meeting *me = self();
	while (r->holder) {
		me->next = r->at_door;
		r->at_door = me;
		suspend(me); // fault
	}
	r->holder = me;
}

static void leave(struct room *r)
{
	struct meeting *m = r->at_door;
	r->holder = NULL;
	if (!m)
		return;
	r->at_door = m->next;
	make_ready(m);
}

static void meet(void)
{
	struct meeting *me = self();
	book(me->first);
	make_ready(me); // the others come
	suspend(me);
	if (me->second) {
		book(me->second);
		leave(me->second);
	} else {
		solo++;
	}
	leave(me->first);
	held++;
}

static NOINLINE void plan(struct room *first, struct room *second)
{
	struct meeting *m = must_alloc(sizeof(*m));
	m->first = first;
	m->second = second;
	m->stack = must_alloc(STACK);
	must(getcontext(&m->context));
	m->context.uc_stack.ss_sp = m->stack;
	m->context.uc_stack.ss_size = STACK;
	m->context.uc_link = &scheduler;
	makecontext(&m->context, meet, 0);
	make_ready(m);
}

static NOINLINE void plan_ring(void)
{
	struct room *rooms[MEETINGS];
	for (int i = 0; i < MEETINGS; i++) {
		rooms[i] = must_alloc(sizeof(*rooms[i]));
		rooms[i]->number = i;
	}
	plan(must_alloc(sizeof(*rooms[0])), NULL);
	for (int i = 0; i < MEETINGS; i++)
		plan(rooms[i], rooms[(i + 1) % MEETINGS]);
}

static NOINLINE void run_ready(void)
{
	while (ready) {
		running = ready;
		ready = running->next;
		if (!ready)
			ready_end = &ready;
		running->next = NULL;
		swapcontext(&scheduler, &running->context);
		running = NULL;
	}
}

static NOINLINE void wipe(void) // what dead frames hold is no way to a meeting
{
	char dead[16 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

int main(void)
{
	plan_ring();
	run_ready();
	must(held == 1 && solo == 1 ? 0 : -1);
	wipe();
	say("ready");
	for (;;) {
		poll(NULL, 0, 50);
		run_ready();
	}
}
