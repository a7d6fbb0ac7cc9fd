// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
// expect: also CTP008
//
// Rows hold handles of 32 bits: a generation and an index into a table of tasks.
// A timer wheel holds them, too, for the tasks' deadlines. A deadline that was
// put off moves the task on by a generation, so that the wheel's old entry is
// stale; but so is the handle in the task's row. Its event is taken, and dropped.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define TASKS 4
#define WHEEL 8
#define TICKER UINT32_MAX

static struct task {
	ucontext_t context;
	uint32_t generation;
	int fd, device, readings, deadline;
} *tasks; // on the heap, as its stacks are
static uint32_t wheel[WHEEL][TASKS];
static ucontext_t loop;
static struct task *current;
static int ep, ticker, now;

static uint32_t handle_of(const struct task *t)
{
	return t->generation << 8 | (uint32_t)(t - tasks + 1);
}

static struct task *task_of(uint32_t handle)
{
	uint32_t index = (handle & 0xff) - 1;
	return index < TASKS && tasks[index].generation == handle >> 8 ? &tasks[index] : NULL;
}

static void set_deadline(struct task *t, int ticks)
{
	t->deadline = now + ticks;
	wheel[t->deadline % WHEEL][t - tasks] = handle_of(t);
}

// Work that was done elsewhere gives a task more time.
static void put_off(struct task *t, int ticks)
{
	t->generation++;
	set_deadline(t, ticks);
}

static ssize_t receive(struct task *t, char *buf, size_t n)
{
	ssize_t got;
	while ((got = recv(t->fd, buf, n, 0)) < 0 && errno == EAGAIN) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = handle_of(t)};
		if (epoll_ctl(ep, EPOLL_CTL_MOD, t->fd, &ev) < 0)
			must(epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev));
		swapcontext(&t->context, &loop); // fault
	}
	return got;
}

static void poll_device(void)
{
	struct task *t = current;
	char reading[32];
	while (receive(t, reading, sizeof(reading)) > 0) {
		t->readings++;
		set_deadline(t, 1000);
	}
}

static void run(struct task *t)
{
	current = t;
	swapcontext(&loop, &t->context);
}

static void advance(void)
{
	uint64_t n;
	must(read(ticker, &n, sizeof(n)));
	now++;
	for (int i = 0; i < TASKS; i++) {
		struct task *t = task_of(wheel[now % WHEEL][i]);
		if (t && t->deadline == now)
			run(t);
	}
}

static void spawn(struct task *t)
{
	int fds[2];
	pair("unix", fds);
	t->fd = fds[0];
	t->device = fds[1];
	must(getcontext(&t->context));
	t->context.uc_stack.ss_sp = must_alloc(32 << 10);
	t->context.uc_stack.ss_size = 32 << 10;
	t->context.uc_link = &loop;
	makecontext(&t->context, poll_device, 0);
	run(t);
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	struct task *t = task_of(ev.data.u32);
	if (ev.data.u32 == TICKER)
		advance();
	else if (t)
		run(t);
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 20000000, .it_interval.tv_nsec = 20000000};
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = TICKER};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	ticker = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, ticker, &ev));
	must(timerfd_settime(ticker, 0, &every, NULL));
	tasks = must_alloc(TASKS * sizeof(*tasks));
	for (int i = 0; i < TASKS; i++) {
		spawn(&tasks[i]);
		must(write(tasks[i].device, "21.5", 4));
		while (!tasks[i].readings)
			turn();
	}
	put_off(&tasks[2], 2000);
	for (int i = 0; i < TASKS; i++)
		must(write(tasks[i].device, "21.6", 4));
	while (now < 80 || tasks[3].readings < 2)
		turn();
	say("ready");
	for (;;)
		turn();
}
