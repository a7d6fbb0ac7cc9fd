// SPDX-License-Identifier: MIT
// expect: clean
//
// A worker takes jobs and puts results into the queue beside. The writer, which waits for its descriptor in
// between, is at a result that takes longer than any before: a result lies there, and the worker waits for
// jobs.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "mailbox.h"

static struct {
	struct mailbox jobs, results;
	int ep, fd;
} stage;
static bool is_slow;

static NOINLINE void work(void)
{
	while (is_empty(&stage.jobs))
		wait_for_message(&stage.jobs);
	put(&stage.results, take(&stage.jobs));
	must((int)write(stage.fd, &(uint64_t){1}, 8));
}

static void worker(void *arg)
{
	(void)arg;
	for (;;)
		work();
}

static NOINLINE void write_results(void)
{
	uint64_t n;
	co_read(stage.ep, stage.fd, &n, sizeof(n));
	while (!is_empty(&stage.results)) {
		take(&stage.results);
		while (is_slow)
			sleep_for(1);
	}
}

static void writer(void *arg)
{
	(void)arg;
	for (;;)
		write_results();
}

static void sender(void *arg)
{
	(void)arg;
	for (int i = 0; i < LEARNED + 2; i++) {
		sleep_for(PAUSE_TICKS);
		is_slow = i >= LEARNED;
		put(&stage.jobs, i);
		wake_reader(&stage.jobs);
	}
	stopped_ms = now_ms();
	for (;;)
		sleep_for(5);
}

int main(void)
{
	stage.ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	stage.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(worker, NULL);
	co_start(writer, NULL);
	co_start(sender, NULL);
	for (bool said = false;;) {
		tick();
		co_turn(stage.ep, 0);
		if (!said && has_stood()) {
			said = true;
			say("ready");
		}
	}
}
