// SPDX-License-Identifier: MIT
//
// lost.h - what the faulty programs share whose waiters are lost beside data that look like
// addresses: readers of connections whose descriptors a reset closes, and nobody that knows
// the readers. random_word() is no address of anything. A handler for SIGUSR1, which changes
// nothing, keeps the program from being quiet: memory alone tells.
#pragma once

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define LOST static __attribute__((noinline, unused))

static int ep;
static uint64_t random_state = 0x9e3779b97f4a7c15;

LOST uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static void lost_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
}

// One that has served, and waits for more.
LOST int open_reader(const char *kind)
{
	int fds[2];
	pair(kind, fds);
	co_start(lost_reader, (void *)(intptr_t)fds[0]);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
	return fds[0];
}

LOST void wipe_frames(void)
{
	char dead[4096];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

static void on_signal(int number)
{
	(void)number;
}

static __attribute__((unused)) _Noreturn void serve_on(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &act, NULL));
	wipe_frames();
	say("ready");
	co_loop(ep);
}
