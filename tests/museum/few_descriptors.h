// SPDX-License-Identifier: MIT
//
// few_descriptors.h - what the servers share that run out of descriptors.
#pragma once

#include <errno.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

// From now on the process can open n more.
static NOINLINE void leave_free(int n)
{
	struct rlimit limit;
	int next = (int)must(dup(0));
	close(next);
	must(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = (rlim_t)(next + n);
	must(setrlimit(RLIMIT_NOFILE, &limit));
}
