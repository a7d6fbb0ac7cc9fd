// SPDX-License-Identifier: MIT
//
// What the program sets as an option of a socket it can ask for again: numbers, and the constants of a
// program that filters (BPF). Only a copy of the descriptor tells; where none is to be had, nothing is told.
#include "engine/stored/queues.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"

enum { VALUE = 40, ALL = 1024, STEPS_MOST = BPF_MAXINSNS, NUMBER_BITS = 20 };

// Those that hold 32 bits or more.
static const struct {
	int level, name;
} OPTIONS[] = {
	{SOL_SOCKET, SO_MARK},        {SOL_SOCKET, SO_PRIORITY},        {SOL_SOCKET, SO_MAX_PACING_RATE},
	{SOL_SOCKET, SO_RCVTIMEO},    {SOL_SOCKET, SO_SNDTIMEO},        {SOL_SOCKET, SO_PEEK_OFF},
	{IPPROTO_TCP, TCP_TX_DELAY},  {IPPROTO_TCP, TCP_NOTSENT_LOWAT}, {IPPROTO_TCP, TCP_USER_TIMEOUT},
	{SOL_SOCKET, SO_RCVLOWAT},    {SOL_SOCKET, SO_BUSY_POLL},       {SOL_SOCKET, SO_LINGER},
	{IPPROTO_IP, IP_OPTIONS},     {IPPROTO_IPV6, IPV6_HOPOPTS},     {IPPROTO_IPV6, IPV6_RTHDR},
	{IPPROTO_IPV6, IPV6_DSTOPTS},
};

// More than a number of few bits, or than the largest one?
static bool is_telling(const unsigned char *value, size_t n)
{
	for (size_t i = 0; i + sizeof(uint32_t) <= n; i += sizeof(uint32_t)) {
		uint32_t number;
		memcpy(&number, value + i, sizeof(number));
		if (number >> NUMBER_BITS && ~number >> NUMBER_BITS)
			return true;
	}
	return false;
}

static void numbers(const struct queues *q, int fd, const char *where)
{
	unsigned char all[ALL];
	size_t n = 0;
	bool any = false;
	for (size_t i = 0; i < sizeof(OPTIONS) / sizeof(*OPTIONS); i++) {
		socklen_t got = VALUE;
		if (n + VALUE > sizeof(all) ||
		    getsockopt(fd, OPTIONS[i].level, OPTIONS[i].name, all + n, &got) || got > VALUE)
			continue;
		any |= is_telling(all + n, got);
		n += got;
	}
	if (any)
		q->bytes(q->ctx, where, all, n);
}

// Of a network that has such a key, each socket has it that has none of its own.
static void key_of(const struct queues *q, int fd, const char *where)
{
	uint64_t key[2] = {0};
	socklen_t n = sizeof(key);
	if (getsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN_KEY, key, &n))
		return;
	q->number(q->ctx, where, key[0]);
	q->number(q->ctx, where, key[1]);
}

static void filter(const struct queues *q, int fd, const char *where)
{
	struct sock_filter steps[STEPS_MOST];
	uint32_t constants[STEPS_MOST];
	socklen_t n = 0;
	if (getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, NULL, &n) || !n || n > STEPS_MOST ||
	    getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, steps, &n) || n > STEPS_MOST)
		return;
	for (socklen_t i = 0; i < n; i++)
		constants[i] = steps[i].k;
	q->bytes(q->ctx, where, (const unsigned char *)constants, n * sizeof(*constants));
}

bool queues_options(struct queues *q)
{
	int process = q->nsockets ? living_pidfd(q->l->pid) : -1;
	bool late = false;
	for (size_t i = 0; process >= 0 && i < q->nsockets && !late; i++) {
		char where[48];
		int fd = (int)syscall(SYS_pidfd_getfd, process, q->sockets[i].fd, 0);
		if (fd < 0)
			continue;
		snprintf(where, sizeof(where), "an option of socket fd %d", q->sockets[i].fd);
		numbers(q, fd, where);
		key_of(q, fd, where);
		snprintf(where, sizeof(where), "the filter of socket fd %d", q->sockets[i].fd);
		filter(q, fd, where);
		close(fd);
		late = signals_late(q->l->deadline_ns);
	}
	if (process >= 0)
		close(process);
	if (late)
		snprintf(q->why, sizeof(q->why), "no time to look into its sockets");
	return !late;
}
