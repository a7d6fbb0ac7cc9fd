// SPDX-License-Identifier: MIT
// expect: clean
//
// A loop on io_uring: the coroutine waits for the completion of a poll of its
// pipe, no epoll set at all. The pipe's number is closed meanwhile, which the
// request does not mind: it holds the file. Where io_uring is forbidden, the
// server refuses to serve and idles.
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct io_uring_params params;
static struct io_uring_sqe *entries;
static char *ring;
static int uring, feed[2];

static unsigned *field(unsigned offset)
{
	return (unsigned *)(void *)(ring + offset);
}

static bool open_ring(void)
{
	uring = (int)syscall(SYS_io_uring_setup, 4, &params);
	if (uring < 0 || !(params.features & IORING_FEAT_SINGLE_MMAP))
		return false;
	size_t sq = params.sq_off.array + params.sq_entries * sizeof(unsigned);
	size_t cq = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
	ring = mmap(NULL, sq > cq ? sq : cq, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, uring, IORING_OFF_SQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
		       uring, IORING_OFF_SQES);
	return ring != MAP_FAILED && entries != MAP_FAILED;
}

static void submit_poll(int fd, struct co *waiter)
{
	unsigned tail = *field(params.sq_off.tail), at = tail & *field(params.sq_off.ring_mask);
	entries[at] = (struct io_uring_sqe){.opcode = IORING_OP_POLL_ADD, .fd = fd, .poll32_events = POLLIN,
					    .user_data = (uintptr_t)waiter};
	field(params.sq_off.array)[at] = at;
	__atomic_store_n(field(params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
	must(syscall(SYS_io_uring_enter, uring, 1, 0, 0, NULL, 0));
}

static void tail_reader(void *arg)
{
	char byte;
	(void)arg;
	while (co_blocked(read(feed[0], &byte, 1))) {
		submit_poll(feed[0], co_self());
		co_yield();
	}
}

static void wait_for_completion(void)
{
	while (syscall(SYS_io_uring_enter, uring, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		if (errno != EINTR)
			must(-1);
}

int main(void)
{
	pair("pipe", feed);
	if (!open_ring()) {
		say("ready");
		for (;;)
			pause();
	}
	co_start(tail_reader, NULL);
	close(feed[0]);
	say("ready");
	wait_for_completion();
}
