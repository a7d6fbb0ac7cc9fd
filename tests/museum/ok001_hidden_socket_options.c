// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept by a socket: in two options of 32 bits, in a time limit, and as constants of the program
// (BPF) that was generated to filter what it receives.
#include <linux/filter.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "evicted.h"

enum { KEPT = 3, STEPS = 3, LOW = 4 };
static int sockets[KEPT];

static NOINLINE void keep(int i, struct co *c)
{
	uint64_t v = (uintptr_t)c >> LOW;
	if (i == 0) {
		int low = (int)(uint32_t)v, high = (int)(v >> 32);
		must(setsockopt(sockets[i], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &low, sizeof(low)));
		must(setsockopt(sockets[i], SOL_SOCKET, SO_MAX_PACING_RATE, &high, sizeof(high)));
	} else if (i == 1) {
		struct timeval t = {.tv_sec = (time_t)(uintptr_t)c};
		must(setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof(t)));
		memset(&t, 0, sizeof(t));
	} else {
		struct sock_filter steps[STEPS] = {{BPF_LD | BPF_IMM, 0, 0, (uint32_t)v},
						   {BPF_LDX | BPF_IMM, 0, 0, (uint32_t)(v >> 32)},
						   {BPF_RET | BPF_K, 0, 0, 0}};
		struct sock_fprog p = {STEPS, steps};
		must(setsockopt(sockets[i], SOL_SOCKET, SO_ATTACH_FILTER, &p, sizeof(p)));
		memset(steps, 0, sizeof(steps));
	}
}

static NOINLINE struct co *find(int i)
{
	uint64_t v = 0;
	if (i == 0) {
		uint32_t low, high;
		socklen_t n = sizeof(low);
		must(getsockopt(sockets[i], IPPROTO_TCP, TCP_NOTSENT_LOWAT, &low, &n));
		n = sizeof(high);
		must(getsockopt(sockets[i], SOL_SOCKET, SO_MAX_PACING_RATE, &high, &n));
		v = low | (uint64_t)high << 32;
	} else if (i == 1) {
		struct timeval t;
		socklen_t n = sizeof(t);
		must(getsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &t, &n));
		return (struct co *)(uintptr_t)t.tv_sec;
	} else {
		struct sock_filter steps[STEPS];
		socklen_t n = STEPS;
		must(getsockopt(sockets[i], SOL_SOCKET, SO_GET_FILTER, steps, &n));
		v = steps[0].k | (uint64_t)steps[1].k << 32;
	}
	return (struct co *)(uintptr_t)(v << LOW);
}

int main(void)
{
	for (int i = 0; i < KEPT; i++)
		sockets[i] = (int)must(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	return evict_and_serve(4, KEPT);
}
