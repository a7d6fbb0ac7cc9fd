// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// Keys of a timer heap: the lane in the uppermost bits, and the waiter below,
// moved right by one and two bits to make room. The heap's order is by lane,
// and by address within it.
#include "ordered.h"

#define JOBS 4

static struct heap {
	uint64_t keys[JOBS + 1]; // from 1
	int fds[JOBS + 1];
	int n;
} heap;
static int ep;

// Lanes 0 and 1 have one bit more of room than 2 and 3.
static NOINLINE uint64_t key_of(unsigned lane, struct co *c)
{
	return (uint64_t)lane << 62 | (uintptr_t)c >> (lane < 2 ? 1 : 2);
}

static NOINLINE struct co *co_of(uint64_t key)
{
	uint64_t bits = key & ~(3ull << 62);
	return (struct co *)(uintptr_t)(bits << (key >> 62 < 2 ? 1 : 2));
}

static NOINLINE void swap(int i, int j)
{
	uint64_t key = heap.keys[i];
	int fd = heap.fds[i];
	heap.keys[i] = heap.keys[j];
	heap.fds[i] = heap.fds[j];
	heap.keys[j] = key;
	heap.fds[j] = fd;
}

static NOINLINE void push(uint64_t key, int fd)
{
	int i = ++heap.n;
	heap.keys[i] = key;
	heap.fds[i] = fd;
	for (; i > 1 && heap.keys[i] < heap.keys[i / 2]; i /= 2)
		swap(i, i / 2);
}

static NOINLINE uint64_t pop(void)
{
	uint64_t key = heap.keys[1];
	swap(1, heap.n);
	heap.keys[heap.n--] = 0;
	for (int i = 1, j; (j = 2 * i) <= heap.n; i = j) {
		if (j < heap.n && heap.keys[j + 1] < heap.keys[j])
			j++;
		if (heap.keys[i] <= heap.keys[j])
			break;
		swap(i, j);
	}
	return key;
}

static void job(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void submit(unsigned lane)
{
	int fds[2];
	pair("unix", fds);
	struct co *c = co_new(job, (void *)(intptr_t)fds[0]);
	push(key_of(lane, c), fds[0]);
	co_resume(c);
	must(write(fds[1], "part", 4));
	co_turn(ep, -1);
}

static NOINLINE void close_inputs(void)
{
	for (int i = 1; i <= heap.n; i++)
		close(heap.fds[i]); // fault
}

static NOINLINE void drain(void)
{
	while (heap.n)
		co_resume(co_of(pop()));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (unsigned i = 0; i < JOBS; i++)
		submit(3 - i);
	close_inputs();
	serve_until_ordered(ep);
	drain();
	return all_resumed(JOBS);
}
