// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
//
// Writers share a segment, whose mutex links those who wait through the coroutines
// themselves. One of them finds its record too large, and returns without unlocking:
// the one who would let the others go has ended. A table leads to the segment, and
// the program is quiet.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WRITERS 3

struct mutex {
	struct co *owner, *queue; // c->arg: the next one
};

struct segment {
	struct mutex mutex;
	int records;
};

static __attribute__((used)) struct segment *open_segment;
static int ep, disks[WRITERS + 1][2], nwriters;

static void lock(struct mutex *m)
{
	struct co *self = co_self();
	if (m->owner) {
		self->arg = m->queue;
		m->queue = self;
		while (m->owner != self)
			co_yield(); // fault
	}
	m->owner = self;
}

static void unlock(struct mutex *m)
{
	struct co *c = m->queue;
	m->owner = c;
	if (!c)
		return;
	m->queue = c->arg;
	co_resume(c);
}

static void append(struct segment *s, int disk)
{
	char size;
	lock(&s->mutex);
	must(co_read(ep, disk, &size, 1));
	if (size > 100)
		return;
	s->records++;
	unlock(&s->mutex);
}

static void writer(void *arg)
{
	int *disk = disks[nwriters++];
	pair("pipe", disk);
	append(arg, disk[0]);
}

static NOINLINE void begin(void)
{
	struct segment *s = open_segment = must_alloc(sizeof(*s));
	for (int i = 0; i < WRITERS + 1; i++)
		co_start(writer, s);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	begin();
	must(write(disks[0][1], "z", 1));
	co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
