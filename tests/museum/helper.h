// SPDX-License-Identifier: MIT
//
// helper.h - what the exhibits share that start a helper, whose program knows nothing of the epoll set that it
// inherits: the set was not made to close on exec.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;

static inline bool is_helper(int argc, char **argv)
{
	return argc > 1 && !strcmp(argv[1], "helper");
}

// The helper's program: says that it is there, and waits for its parent's end.
_Noreturn static inline void help(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	must(write(3, "", 1));
	close(3);
	for (;;)
		pause();
}

static __attribute__((noinline)) void make_set_and_helper(const char *program)
{
	char byte;
	int up[2];
	ep = (int)must(epoll_create1(0));
	must(pipe2(up, O_CLOEXEC));
	if (must(fork()) == 0) {
		must(up[1] == 3 ? fcntl(3, F_SETFD, 0) : dup2(up[1], 3));
		execl(program, program, "helper", NULL);
		_exit(1);
	}
	close(up[1]);
	must(read(up[0], &byte, 1) == 1 ? 0 : -1);
	close(up[0]);
}
