// SPDX-License-Identifier: MIT
//
// The names of numbers of the region.
#include "ctp/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "ctp/ctp.h"

const char *words_kind(unsigned kind)
{
	static const char *const names[] = {"other", "file",    "pipe",    "tcp",      "udp",
					    "unix",  "eventfd", "timerfd", "signalfd", "epoll"};
	_Static_assert(sizeof(names) / sizeof(*names) == CTP_FD_EPOLL + 1, "a name each");
	return kind <= CTP_FD_EPOLL ? names[kind] : "other";
}

const char *words_call(unsigned call)
{
	static const char *const names[] = {
		[CTP_CALL_NONE] = NULL,
		[CTP_CALL_OPEN] = "open",
		[CTP_CALL_SOCKET] = "socket",
		[CTP_CALL_SOCKETPAIR] = "socketpair",
		[CTP_CALL_ACCEPT] = "accept",
		[CTP_CALL_PIPE] = "pipe",
		[CTP_CALL_EVENTFD] = "eventfd",
		[CTP_CALL_TIMERFD] = "timerfd_create",
		[CTP_CALL_SIGNALFD] = "signalfd",
		[CTP_CALL_EPOLL_CREATE] = "epoll_create",
		[CTP_CALL_DUP] = "dup",
		[CTP_CALL_DUP2] = "dup2",
		[CTP_CALL_DUP3] = "dup3",
		[CTP_CALL_FCNTL] = "fcntl",
		[CTP_CALL_FOPEN] = "fopen",
		[CTP_CALL_OPENDIR] = "opendir",
		[CTP_CALL_CLOSE] = "close",
		[CTP_CALL_CLOSE_RANGE] = "close_range",
		[CTP_CALL_CLOSEFROM] = "closefrom",
		[CTP_CALL_FCLOSE] = "fclose",
		[CTP_CALL_CLOSEDIR] = "closedir",
		[CTP_CALL_PCLOSE] = "pclose",
		[CTP_CALL_REOPENED] = "an unseen close",
		[CTP_CALL_EPOLL_DEL] = "EPOLL_CTL_DEL",
		[CTP_CALL_RECVMSG] = "recvmsg",
		[CTP_CALL_POPEN] = "popen",
		[CTP_CALL_EPOLL_MOD] = "EPOLL_CTL_MOD",
	};
	return call < sizeof(names) / sizeof(*names) ? names[call] : NULL;
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
		{EPOLLIN, "EPOLLIN"},   {EPOLLOUT, "EPOLLOUT"}, {EPOLLRDHUP, "EPOLLRDHUP"},
		{EPOLLPRI, "EPOLLPRI"}, {EPOLLET, "EPOLLET"},   {EPOLLONESHOT, "EPOLLONESHOT"},
	};
	size_t n = 0;
	*buf = 0;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if ((events & all[i].bit) && n < bytes)
			n += (size_t)snprintf(buf + n, bytes - n, "%s%s", n ? "|" : "", all[i].name);
	if (!n)
		snprintf(buf, bytes, "events");
}
