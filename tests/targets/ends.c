// SPDX-License-Identifier: MIT
//
// ends.c - descriptors are closed while something waits, was waiting, or is
// thrown away, and all of it is as it should be: see clean.c.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "clean.h"

#define STACK 65536

// A coroutine on a stack of our own, so that we can throw it away.
static struct co *own(co_fn *fn, void *arg, char *stack)
{
	struct co *c = must_alloc(sizeof(*c));
	c->pinned = true;
	co_init(c, fn, arg, stack, STACK);
	co_resume(c);
	return c;
}

static struct co *kept[20];

void clean_finished(void)
{
	static int fds[20][2];
	for (int i = 0; i < 20; i++) {
		pair("tcp", fds[i]);
		kept[i] = own(reader, fds[i], must_map(STACK));
	}
	for (int i = 0; i < 20; i++) {
		must(close(fds[i][1])); // its end of file ends the reader
		must(co_turn(ep, -1) ? 0 : -1);
		must(close(fds[i][0]));
	}
	idle();
}

void clean_dup_open(void)
{
	int *fds = live(3);
	for (int i = 0; i < 3; i++) {
		must(fcntl(fds[2 * i], F_DUPFD_CLOEXEC, 100));
		must(close(fds[2 * i]));
	}
	idle();
}

static void closes_its_own(void *arg)
{
	int fd = *(int *)arg;
	char byte;
	must(co_read(ep, fd, &byte, 1));
	must(close(fd));
	co_yield(); // parked in a pool
}

void clean_self_close(void)
{
	static int fds[5][2];
	for (int i = 0; i < 5; i++) {
		pair("tcp", fds[i]);
		kept[i] = own(closes_its_own, fds[i], must_map(STACK));
		must(write(fds[i][1], "x", 1));
		co_turn(ep, -1);
	}
	idle();
}

void clean_reaper(void)
{
	static int fds[5][2];
	for (int i = 0; i < 5; i++) {
		pair("tcp", fds[i]);
		kept[i] = own(reader, fds[i], must_map(STACK));
	}
	for (int i = 0; i < 5; i++) {
		must(close(fds[i][0]));
		co_resume(kept[i]); // reads EBADF and ends
	}
	idle();
}

void clean_by_hand(void)
{
	static int fds[5][2], extra[2];
	for (int i = 0; i < 5; i++) {
		pair("tcp", fds[i]);
		kept[i] = own(reader, fds[i], must_map(STACK));
	}
	pair("tcp", extra);
	kept[5] = own(reader, extra, must_map(STACK));
	for (int i = 0; i < 5; i++)
		must(close(fds[i][0]));
	for (int i = 0; i < 5; i++) { // some turns later
		must(write(extra[1], "x", 1));
		co_turn(ep, -1);
		co_turn(ep, 1);
	}
	for (int i = 0; i < 5; i++)
		co_resume(kept[i]);
	idle();
}

// Cancelled: descriptor closed, stack released, never heard of again.
void clean_cancelled_map(void)
{
	static int fds[5][2];
	for (int i = 0; i < 5; i++) {
		char *stack = must_map(STACK);
		pair("tcp", fds[i]);
		struct co *c = own(reader, fds[i], stack);
		must(close(fds[i][0]));
		must(munmap(stack, STACK));
		free(c);
	}
	idle();
}

void clean_cancelled_heap(void)
{
	static int fds[5][2];
	for (int i = 0; i < 5; i++) {
		char *stack = must_alloc(STACK);
		pair("tcp", fds[i]);
		struct co *c = own(reader, fds[i], stack);
		must(close(fds[i][0]));
		free(c);
		free(stack);
	}
	idle();
}

void clean_ending(void)
{
	live(10);
	exit(0);
}

void clean_ending_closes(void)
{
	int *fds = live(10);
	for (int i = 0; i < 20; i++)
		close(fds[i]);
	exit(0);
}

static int listener, *open_now;

static void on_term(int sig)
{
	(void)sig;
	close(listener);
	for (int i = 0; i < 20; i++)
		close(open_now[i]);
	_exit(0);
}

void clean_drain(void)
{
	static struct co_handler h;
	int port;
	struct sigaction sa = {.sa_handler = on_term};
	h.fd = listener = tcp_listen(&port);
	co_handle(ep, &h, EPOLLIN);
	open_now = live(10);
	must(sigaction(SIGTERM, &sa, NULL));
	idle();
}

// Contexts, stacks and numbers, all used again and again.
void clean_numbers(void)
{
	static int fds[2];
	static struct co c;
	char *stack = must_map(STACK);
	c.pinned = true;
	for (int i = 0; i < 200; i++) {
		pair(i % 2 ? "tcp" : "eventfd", fds);
		co_init(&c, reader, fds, stack, STACK);
		co_resume(&c);
		if (i % 2) {
			must(close(fds[1]));
			co_turn(ep, -1);
			must(close(fds[0]));
		} else {
			must(close(fds[0]));
			co_resume(&c); // EBADF
		}
	}
	pair("tcp", fds);
	co_init(&c, reader, fds, stack, STACK);
	co_resume(&c);
	idle();
}

// Closes everything in a loop, then becomes another program.
void clean_closeall(void)
{
	live(10);
	for (int fd = 3; fd < 1024; fd++)
		close(fd);
	execl("/proc/self/exe", "clean", "ending", NULL);
	must(-1);
}

// A pool takes the stacks of waiting coroutines back and gives them to others.
void clean_takeback(void)
{
	static int fds[5][2], more[5][2];
	for (int i = 0; i < 5; i++) {
		char *stack = must_map(STACK);
		pair("tcp", fds[i]);
		pair("tcp", more[i]);
		own(reader, fds[i], stack);
		must(close(fds[i][0]));
		own(reader, more[i], stack);
	}
	idle();
}

void clean_takeback_later(void)
{
	static int fds[5][2], more[2];
	static char *free_list[5];
	for (int i = 0; i < 5; i++) {
		free_list[i] = must_map(STACK);
		pair("tcp", fds[i]);
		own(reader, fds[i], free_list[i]);
		must(close(fds[i][0]));
	}
	pair("tcp", more);
	own(reader, more, free_list[4]); // the other four stacks wait in the list
	free_list[4] = NULL;
	idle();
}

// Calls that look like an end and close nothing.
void clean_failed_close(void)
{
	int *fds = live(3);
	must(dup2(fds[0], fds[0]));
	must(close_range((unsigned)fds[2], (unsigned)fds[2], CLOSE_RANGE_CLOEXEC));
	if (close(900) == 0 || close(-1) == 0 || dup2(900, fds[4]) >= 0)
		abort();
	idle();
}
