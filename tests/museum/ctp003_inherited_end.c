// SPDX-License-Identifier: MIT
// expect: fact CTP003
//
// A child converts, and the parent reads its results until the end of file. A second
// child, which has nothing to do with it, is forked before the parent closes its end to
// write to, and keeps that as long as it lives: the first has ended, and no end of file
// comes. A child that will yet write looks the same: so it is said, and no finding.
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, results[2], life[2], collected, asks;

static void collector(void *arg)
{
	char result;
	(void)arg;
	while (co_read(ep, results[0], &result, 1) > 0)
		collected++;
}

static void on_ask(struct co_handler *h, uint32_t events)
{
	char byte;
	(void)events;
	asks += (int)read(h->fd, &byte, 1);
}

// Lives as long as the parent.
static _Noreturn void helper(void)
{
	char byte;
	close(life[1]);
	while (read(life[0], &byte, 1) < 0)
		;
	_exit(0);
}

static _Noreturn void convert(void)
{
	must(write(results[1], "r", 1));
	_exit(0);
}

int main(void)
{
	static struct co_handler questions = {.fn = on_ask};
	int questions_ends[2];
	must(pipe(life));
	pair("pipe", results);
	pid_t converter = (pid_t)must(fork());
	if (!converter)
		convert();
	if (!must(fork()))
		helper();
	close(results[1]);
	must(waitpid(converter, NULL, 0));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", questions_ends);
	questions.fd = questions_ends[0];
	co_handle(ep, &questions, EPOLLIN);
	co_start(collector, NULL);
	must(collected == 1 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
