// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A Lisp with three tag bits: what is not a cons cell is a number, shifted left
// by three. The blocked processes form an association list of cons cells; the
// cells hold the coroutine of each as a number.
#include "ordered.h"

#define PROCESSES 3

typedef uintptr_t obj;
enum tag { TAG_FIXNUM = 0, TAG_CONS = 1, TAG_NIL = 7 };
#define NIL ((obj)TAG_NIL)

struct cons {
	obj car, cdr;
};

static struct cons cells[64];
static unsigned ncells;
static obj blocked = NIL; // ((descriptor . process) ...)
static int ep;

static obj fixnum(uintptr_t n)
{
	return n << 3 | TAG_FIXNUM;
}

static uintptr_t number(obj o)
{
	return o >> 3;
}

static struct cons *cell(obj o)
{
	return (struct cons *)(o - TAG_CONS);
}

static NOINLINE obj cons(obj car, obj cdr)
{
	struct cons *c = &cells[ncells++];
	*c = (struct cons){car, cdr};
	return (obj)c + TAG_CONS;
}

static NOINLINE void note_blocked(int fd, struct co *process)
{
	blocked = cons(cons(fixnum((uintptr_t)fd), fixnum((uintptr_t)process)), blocked);
}

static void read_eval(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char text[64];
	while (co_read(ep, fd, text, sizeof(text)) > 0)
		;
	ended++;
}

static NOINLINE void make_process(void)
{
	int fds[2];
	pair("pipe", fds);
	struct co *c = co_new(read_eval, (void *)(intptr_t)fds[0]);
	note_blocked(fds[0], c);
	co_resume(c);
	must(write(fds[1], "(+ 1 2)", 7));
	co_turn(ep, -1);
}

static NOINLINE void close_streams(void)
{
	for (obj l = blocked; l != NIL; l = cell(l)->cdr)
		close((int)number(cell(cell(l)->car)->car)); // fault
}

static NOINLINE void wake_blocked(void)
{
	while (blocked != NIL) {
		obj entry = cell(blocked)->car;
		blocked = cell(blocked)->cdr;
		co_resume((struct co *)number(cell(entry)->cdr));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < PROCESSES; i++)
		make_process();
	close_streams();
	serve_until_ordered(ep);
	wake_blocked();
	return all_resumed(PROCESSES);
}
