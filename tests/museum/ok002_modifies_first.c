// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Two helpers of a server that modify a registration without knowing whether there is one. The scheduler's
// adds it where the kernel says ENOENT; the answer for which its session waits is slow. The reporter's does
// not care: what its collector says stays unread until the next report, and it is a job for which it waits.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct task {
	struct co *co;
	int fd, peer, got;
} session, reporter;
static int ep, jobs;

static bool modify(struct task *t)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = t};
	return !epoll_ctl(ep, EPOLL_CTL_MOD, t->fd, &ev);
}

static void register_wait(struct task *t)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = t};
	if (!modify(t))
		must(errno == ENOENT ? epoll_ctl(ep, EPOLL_CTL_ADD, t->fd, &ev) : -1);
}

static void ask(void *arg)
{
	char answer[8];
	must(write(session.fd, "GET /", 5));
	co_yield();
	session.got += (int)must(read(session.fd, answer, sizeof(answer)));
}

static NOINLINE void await_job(void)
{
	while (!jobs)
		co_yield();
	jobs--;
}

static NOINLINE void let_others_run(void)
{
	co_yield();
}

static void report(void *arg)
{
	char said[8];
	modify(&reporter);
	let_others_run();
	for (;;) {
		must(write(reporter.fd, "load 1", 6));
		await_job();
		reporter.got += (int)must(read(reporter.fd, said, sizeof(said)));
	}
}

static NOINLINE void begin(struct task *t, co_fn *fn)
{
	int fds[2];
	pair("tcp", fds);
	t->fd = fds[0];
	t->peer = fds[1];
	t->co = co_new(fn, NULL);
	co_resume(t->co);
}

static int take_signals(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	return (int)must(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

static void on_order(int signals)
{
	struct signalfd_siginfo info;
	must(read(signals, &info, sizeof(info)));
	must(write(session.peer, "200", 3));
	jobs++;
	co_resume(reporter.co);
}

int main(void)
{
	int signals = take_signals();
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, signals, &ev));
	begin(&session, ask);
	register_wait(&session);
	begin(&reporter, report);
	co_resume(reporter.co);
	must(write(reporter.peer, "ok", 2));
	say("ready");
	while (!session.got || !reporter.got) {
		if (epoll_wait(ep, &ev, 1, -1) != 1)
			continue;
		if (ev.data.ptr)
			co_resume(((struct task *)ev.data.ptr)->co);
		else
			on_order(signals);
	}
	say("resumed");
}
