// SPDX-License-Identifier: MIT
//
// Objects that begin with two functions of their own, as a coroutine's frame does, and are none. `callbacks N` makes N of each
// kind, says "ready", and sleeps.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

struct operation {
	void (*complete)(operation *);
	void (*cancel)(operation *);
	void *owner, *next;
	std::uint8_t state;
	std::uint16_t flags;
	int result;
};

static volatile int sink;

#define AWAY __attribute__((noinline))

// Both ask for the state first.
AWAY static void read_done(operation *o)
{
	if (o->state == 1)
		sink = 1;
	else if (o->state == 2)
		o->state = 0;
	else
		throw o;
}

AWAY static void read_cancelled(operation *o)
{
	if (o->state)
		sink = 2;
	operator delete(o);
}

// Sets a bit of its flags, and calls the other.
AWAY static void write_done(operation *o)
{
	if (o->flags & 1)
		sink = 3;
	else
		throw o;
}

AWAY static void write_cancelled(operation *o)
{
	o->flags = static_cast<std::uint16_t>(o->flags | 2);
	write_done(o);
}

// Asks whether there is something to be called, and for the owner.
AWAY static void wait_done(operation *o)
{
	if (o->owner)
		sink = 5;
	else
		throw o;
}

AWAY static void wait_cancelled(operation *o)
{
	if (!o->complete)
		return;
	if (o->owner)
		sink = 6;
}

int main(int, char **argv)
{
	std::vector<operation *> all;
	for (int i = std::atoi(argv[1]); i > 0; i--) {
		all.push_back(new operation{read_done, read_cancelled, nullptr, nullptr, 1, 0, 0});
		all.push_back(new operation{write_done, write_cancelled, nullptr, nullptr, 0, 1, 0});
		all.push_back(new operation{wait_done, wait_cancelled, &all, nullptr, 0, 0, 0});
	}
	std::puts("ready");
	std::fflush(stdout);
	for (;;) {
		pause();
		for (operation *o : all)
			o->complete(o), o->cancel(o);
	}
}
