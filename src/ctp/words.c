// SPDX-License-Identifier: MIT
//
// What the numbers of the region are called in reports.
#include "ctp/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "ctp/ctp.h"

const char *words_kind(unsigned kind)
{
	static const char *const names[] = { "other", "file", "pipe", "tcp", "udp", "unix", "eventfd",
					     "timerfd", "signalfd", "epoll" };
	_Static_assert(sizeof(names) / sizeof(*names) == CTP_FD_EPOLL + 1, "a name each");
	return kind <= CTP_FD_EPOLL ? names[kind] : "other";
}

const char *words_signal(int sig, char *buf, size_t bytes)
{
	const char *name = sigabbrev_np(sig);
	if (name)
		snprintf(buf, bytes, "SIG%s", name);
	else
		snprintf(buf, bytes, "signal %d", sig);
	return buf;
}

void words_events(uint32_t events, char *buf, size_t bytes)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} all[] = {
		{ EPOLLIN, "EPOLLIN" }, { EPOLLOUT, "EPOLLOUT" }, { EPOLLRDHUP, "EPOLLRDHUP" },
		{ EPOLLPRI, "EPOLLPRI" }, { EPOLLET, "EPOLLET" }, { EPOLLONESHOT, "EPOLLONESHOT" },
	};
	size_t n = 0;
	*buf = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((events & all[i].bit) && n < bytes)
			n += (size_t)snprintf(buf + n, bytes - n, "%s%s", n ? "|" : "", all[i].name);
	if (!n)
		snprintf(buf, bytes, "events");
}
