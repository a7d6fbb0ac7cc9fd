// SPDX-License-Identifier: MIT
// expect: clean
// expect: also CTP002 suspect
// engine: both
// order: SIGUSR1
//
// A loop whose registrations are for one event, and taken out with it. A session that
// is over its quota is not registered again, although it waits where it always does:
// it stands in a list, and the operator's order gives all of them a new quota.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2
#define QUOTA 2

struct session {
	struct co *co;
	int fd, peer, served, quota;
};

static struct session sessions[SESSIONS], *paused[SESSIONS], orders;
static int ep, npaused;
static bool ordered;

static void watch(struct session *s)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = s};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, s->fd, &ev));
}

static ssize_t receive(struct session *s, char *buf, size_t n)
{
	ssize_t got;
	while (co_blocked(got = read(s->fd, buf, n))) {
		if (s->quota > 0)
			watch(s);
		else
			paused[npaused++] = s;
		co_yield();
	}
	s->quota--;
	return got;
}

static void serve(void *arg)
{
	struct session *s = arg;
	char buf[64];
	while (receive(s, buf, sizeof(buf)) > 0)
		s->served++;
}

static NOINLINE void on_order(void)
{
	struct signalfd_siginfo info;
	must(read(orders.fd, &info, sizeof(info)));
	ordered = true;
	while (npaused > 0) {
		struct session *s = paused[--npaused];
		s->quota = QUOTA;
		watch(s);
	}
	watch(&orders);
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	struct session *s = ev.data.ptr;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, s->fd, NULL));
	if (s == &orders)
		on_order();
	else
		co_resume(s->co);
}

static NOINLINE void begin(struct session *s)
{
	int fds[2];
	pair("tcp", fds);
	*s = (struct session){.fd = fds[0], .peer = fds[1], .quota = QUOTA};
	s->co = co_new(serve, s);
	co_resume(s->co);
	for (int i = 0; i < QUOTA; i++) {
		must(write(s->peer, "GET /", 5));
		while (s->served == i)
			turn();
	}
	must(write(s->peer, "GET /", 5));
}

int main(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	orders.fd = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	watch(&orders);
	for (int i = 0; i < SESSIONS; i++)
		begin(&sessions[i]);
	say("ready");
	while (!ordered)
		turn();
	while (sessions[0].served == QUOTA || sessions[1].served == QUOTA)
		turn();
	say("resumed");
}
