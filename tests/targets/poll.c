// SPDX-License-Identifier: MIT
//
// poll.c - a loop that waits by poll, ppoll, select or pselect (first argument),
// and what becomes of one of its three readers (second):
//   healthy  nothing: all wait on descriptors in the set
//   held     a thread closes its descriptor while the loop sleeps with it: the kernel has the file still
//   lost     its slot is given up and the descriptor closed; nothing leads to it
//   kept     the same, but a table still names it
//   reused   as kept, and the number is another's, with a reader in the set
//   tick     as kept, and the loop wakes every 5 ms
//   left     its slot is given up; the descriptor stays open, with the table
// Prints "ready" when its state is final.
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { SLOTS = 16 };

static struct pollfd fds[SLOTS];
static struct co *waiters[SLOTS];
struct co *table[SLOTS];
static int n, pairs[4][2], go[2], made;
static const char *way, *fate;
static bool ticks;

static bool is(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

static NOINLINE void take(int slot)
{
	fds[slot] = fds[--n];
	waiters[slot] = waiters[n];
	waiters[n] = NULL;
}

static NOINLINE void wait_readable(int fd)
{
	fds[n] = (struct pollfd){.fd = fd, .events = POLLIN};
	waiters[n++] = co_self();
	co_yield();
}

static void reader(void *arg)
{
	char buf[16];
	int fd = *(int *)arg;
	ssize_t r;
	while ((r = read(fd, buf, sizeof(buf))) > 0 || co_blocked(r))
		if (r < 0)
			wait_readable(fd);
}

static NOINLINE void start(int fd[2])
{
	struct co *c = co_new(reader, &fd[0]);
	if (!is(fate, "lost"))
		table[made++] = c;
	co_resume(c);
}

static NOINLINE int wait_by_select(const struct timespec *ts)
{
	fd_set in;
	FD_ZERO(&in);
	int high = -1;
	for (int i = 0; i < n; i++) {
		FD_SET(fds[i].fd, &in);
		high = fds[i].fd > high ? fds[i].fd : high;
	}
	struct timeval tv = {.tv_usec = ts ? ts->tv_nsec / 1000 : 0};
	int r = is(way, "select") ? select(high + 1, &in, NULL, NULL, ts ? &tv : NULL) :
				    pselect(high + 1, &in, NULL, NULL, ts, NULL);
	for (int i = 0; i < n; i++)
		fds[i].revents = r > 0 && FD_ISSET(fds[i].fd, &in) ? POLLIN : 0;
	return r;
}

static NOINLINE void wipe(void)
{
	char dead[16 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

static NOINLINE void turn(void)
{
	struct timespec tick = {.tv_nsec = 5000000}, *ts = ticks ? &tick : NULL;
	wipe();
	int r = is(way, "poll") ? poll(fds, (nfds_t)n, ticks ? 5 : -1) :
		is(way, "ppoll") ? ppoll(fds, (nfds_t)n, ts, NULL) : wait_by_select(ts);
	for (int i = n - 1; r > 0 && i >= 0; i--)
		if (i < n && fds[i].revents) {
			struct co *c = waiters[i];
			take(i);
			co_resume(c);
		}
}

static NOINLINE void drop(int fd)
{
	for (int i = 0; i < n; i++)
		if (fds[i].fd == fd) {
			take(i);
			break;
		}
}

static NOINLINE void end_one(void)
{
	int fd = pairs[1][0];
	drop(fd);
	if (is(fate, "left"))
		return;
	close(fd);
	if (is(fate, "reused")) {
		must(pipe2(pairs[3], O_NONBLOCK) == 0 && pairs[3][0] == fd ? 0 : -1);
		start(pairs[3]);
	}
}

static void reaper(void *arg)
{
	char byte;
	(void)arg;
	while (co_blocked(read(go[0], &byte, 1)))
		wait_readable(go[0]);
	if (!is(fate, "healthy"))
		end_one();
	ticks = is(fate, "tick");
	say("ready");
}

// Closes when the loop sleeps in its call: that is the program's only other thread.
static void *closer(void *arg)
{
	char path[64], call[16] = "running";
	(void)arg;
	must(snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)getpid()));
	while (!memcmp(call, "running", 7)) {
		int fd = (int)must(open(path, O_RDONLY | O_CLOEXEC));
		must(read(fd, call, sizeof(call)));
		close(fd);
	}
	close(pairs[1][0]);
	say("ready");
	return NULL;
}

int main(int argc, char **argv)
{
	way = argc > 2 ? argv[1] : "poll";
	fate = argc > 2 ? argv[2] : "healthy";
	for (int i = 0; i < 3; i++) {
		pair("pipe", pairs[i]);
		start(pairs[i]);
		must(write(pairs[i][1], "hello", 5));
		turn();
	}
	if (is(fate, "held")) {
		co_thread(closer, NULL);
	} else {
		pair("pipe", go);
		co_start(reaper, NULL);
		must(write(go[1], "", 1));
	}
	for (;;)
		turn();
}
