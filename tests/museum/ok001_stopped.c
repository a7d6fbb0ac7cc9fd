// SPDX-License-Identifier: MIT
// expect: clean
//
// The reaper has closed a connection and is about to resume its reader when
// the whole process is stopped, as by a shell's Ctrl-Z or a machine that goes
// to sleep. Later it is continued, and goes on as if nothing had been.
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *reader;
static int ep, conn;

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0)
		;
}

static bool stopped(pid_t pid)
{
	char path[32], text[256] = "";
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = (int)must(open(path, O_RDONLY | O_CLOEXEC));
	must(read(fd, text, sizeof(text) - 1));
	close(fd);
	return strstr(text, ") T ") != NULL;
}

// Another process stops us, sees that we have, and lets us go on.
static void be_stopped(void)
{
	pid_t us = getpid(), operator = (pid_t)must(fork());
	if (operator == 0) {
		kill(us, SIGSTOP);
		while (!stopped(us))
			;
		kill(us, SIGCONT);
		_exit(0);
	}
	must(waitpid(operator, NULL, 0));
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	reader = co_new(conn_reader, NULL);
	co_resume(reader);
	close(conn);
	be_stopped();
	co_resume(reader);
	say("ready");
	co_loop(ep);
}
