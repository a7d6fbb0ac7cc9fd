// SPDX-License-Identifier: MIT
// expect: clean
//
// A collector and a formatter, each with a pipe to the other, which is empty:
// they are idle until somebody asks for figures. Nothing but signals comes from
// outside, and SIGUSR1 makes the collector speak.
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, to_formatter[2], to_collector[2];

static void on_usr1(int number)
{
	(void)number;
	must(write(to_formatter[1], "f", 1));
}

static void on_term(int number)
{
	(void)number;
	_exit(0);
}

static void collector(void *arg)
{
	char done;
	(void)arg;
	must(write(to_formatter[1], "f", 1));
	for (;;)
		must(co_read(ep, to_collector[0], &done, 1));
}

static void formatter(void *arg)
{
	char figure;
	(void)arg;
	for (;;) {
		must(co_read(ep, to_formatter[0], &figure, 1));
		must(write(to_collector[1], "d", 1));
	}
}

int main(void)
{
	struct sigaction usr1 = {.sa_handler = on_usr1}, term = {.sa_handler = on_term};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(sigaction(SIGUSR1, &usr1, NULL));
	must(sigaction(SIGTERM, &term, NULL));
	pair("pipe", to_formatter);
	pair("pipe", to_collector);
	co_start(collector, NULL);
	co_start(formatter, NULL);
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
