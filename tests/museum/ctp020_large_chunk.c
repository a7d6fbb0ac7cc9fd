// SPDX-License-Identifier: MIT
// expect: CTP020 suspect, 1 coroutines
//
// A stack of a megabyte from malloc (a chunk with a mapping of its own), and a
// function with a local array that fills nearly all of it.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define BYTES (1 << 20)

static int ep, requests[2];
static struct co sorter_co;

static NOINLINE int merge(char *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (char)(i * 7 + 1);
	__asm__ volatile("" : : "r"(to) : "memory");
	return to[bytes / 2];
}

static NOINLINE int sort_records(void)
{
	char records[BYTES - 6000];
	return merge(records, sizeof(records)); // fault
}

static void sorter(void *arg)
{
	char request;
	(void)arg;
	sort_records();
	say("ready");
	co_read(ep, requests[0], &request, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", requests);
	sorter_co.pinned = true;
	co_init(&sorter_co, sorter, NULL, must_alloc(BYTES), BYTES);
	co_resume(&sorter_co);
	co_loop(ep);
}
