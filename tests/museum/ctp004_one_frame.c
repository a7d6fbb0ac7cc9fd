// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
// engine: both
//
// Frames have a header that says their length. A session reads header and body,
// each in full, handles the frame, and waits for the next edge: it never reads
// on to EAGAIN. Two frames that came together bring one edge only.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 3

struct header {
	uint16_t bytes, type;
};

static struct session {
	struct co *co;
	int fd, peer, frames;
} sessions[SESSIONS];
static int ep, ticker;

static void next_edge(void)
{
	co_yield(); // fault
}

static bool receive_frame(struct session *s, char *body, size_t room)
{
	struct header h;
	if (recv(s->fd, &h, sizeof(h), 0) != sizeof(h) || h.bytes > room)
		return false;
	return recv(s->fd, body, h.bytes, 0) == h.bytes;
}

static void session_main(void *arg)
{
	struct session *s = arg;
	char body[128];
	for (next_edge(); receive_frame(s, body, sizeof(body)); next_edge())
		s->frames++;
	close(s->fd);
}

static void send_frames(struct session *s, int n)
{
	struct {
		struct header h;
		char body[4];
	} frames[4];
	for (int i = 0; i < n; i++)
		frames[i] = (typeof(frames[0])){{4, 1}, "ping"};
	must(write(s->peer, frames, (size_t)n * sizeof(frames[0])));
}

static NOINLINE void open_session(int i)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET, .data.u32 = (uint32_t)i};
	int fds[2];
	pair("tcp", fds);
	sessions[i] = (struct session){.fd = fds[0], .peer = fds[1]};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &ev));
	sessions[i].co = co_new(session_main, &sessions[i]);
	co_resume(sessions[i].co);
}

static void on_tick(void)
{
	static int ticks;
	uint64_t n;
	must(read(ticker, &n, sizeof(n)));
	if (++ticks == 2)
		say("ready");
}

static NOINLINE void turn(void)
{
	struct epoll_event ev[SESSIONS];
	int n = epoll_wait(ep, ev, SESSIONS, -1);
	for (int i = 0; i < n; i++)
		if (ev[i].data.u32 < SESSIONS)
			co_resume(sessions[ev[i].data.u32].co);
		else
			on_tick();
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 30000000, .it_interval.tv_nsec = 30000000};
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = SESSIONS};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	ticker = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, ticker, &ev));
	for (int i = 0; i < SESSIONS; i++) {
		open_session(i);
		send_frames(&sessions[i], i == 1 ? 2 : 1);
		while (!sessions[i].frames)
			turn();
	}
	must(timerfd_settime(ticker, 0, &every, NULL));
	for (;;)
		turn();
}
