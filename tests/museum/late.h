// SPDX-License-Identifier: MIT
//
// late.h - what the exhibits about late resumption share: three connections in
// a table, each with its reader. The exhibit closes their descriptors; when it
// comes to resuming the readers, they see EBADF and end.
#pragma once

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 3

static struct conn {
	int fd;
	struct co *co;
} conns[CONNS];
static int ep, ended;

static void conn_reader(void *arg)
{
	struct conn *conn = arg;
	char buf[64];
	while (co_read(ep, conn->fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_conns(const char *kind)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair(kind, fds);
		conns[i].fd = fds[0];
		conns[i].co = co_new(conn_reader, &conns[i]);
		co_resume(conns[i].co);
	}
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < CONNS; i++)
		co_resume(conns[i].co);
}
