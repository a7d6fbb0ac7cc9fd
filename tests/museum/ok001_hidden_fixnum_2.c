// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// A Scheme in the manner of Guile: small integers are shifted left by two, with
// the tag 2. The server's continuations are numbers to the program, kept in
// a vector on its heap; one of them is asked for by number.
#include "ordered.h"

#define CONTINUATIONS 4

typedef uint64_t scm;
#define SCM_INUM(p) ((scm)(uintptr_t)(p) << 2 | 2)
#define SCM_TO_INUM(x) ((uintptr_t)((x) >> 2))
#define SCM_IS_INUM(x) (((x) & 3) == 2)
#define TC_VECTOR 0x0dull

struct vector {
	scm tag; // its length is above the tag
	scm items[];
};

static struct vector *continuations;
static int ep, sockets[CONTINUATIONS];

static NOINLINE struct vector *make_vector(size_t n)
{
	struct vector *v = must_alloc(sizeof(*v) + n * sizeof(scm));
	v->tag = (scm)n << 8 | TC_VECTOR;
	for (size_t i = 0; i < n; i++)
		v->items[i] = SCM_INUM(0);
	return v;
}

static size_t length(const struct vector *v)
{
	return (size_t)(v->tag >> 8);
}

static void read_form(void *arg)
{
	int port = (int)(intptr_t)arg;
	char form[100];
	while (co_read(ep, port, form, sizeof(form)) > 0)
		;
	ended++;
}

static NOINLINE void open_port(size_t i)
{
	int fds[2];
	pair("tcp", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(read_form, (void *)(intptr_t)fds[0]);
	continuations->items[i] = SCM_INUM(c);
	co_resume(c);
	must(write(fds[1], "(display 1)", 11));
	co_turn(ep, -1);
}

static NOINLINE void close_ports(void)
{
	for (int i = 0; i < CONTINUATIONS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void call_continuation(scm k)
{
	if (SCM_IS_INUM(k) && SCM_TO_INUM(k))
		co_resume((struct co *)SCM_TO_INUM(k));
}

static NOINLINE void for_each_continuation(void)
{
	for (size_t i = 0; i < length(continuations); i++)
		call_continuation(continuations->items[i]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	continuations = make_vector(CONTINUATIONS);
	for (size_t i = 0; i < CONTINUATIONS; i++)
		open_port(i);
	close_ports();
	serve_until_ordered(ep);
	for_each_continuation();
	return all_resumed(CONTINUATIONS);
}
