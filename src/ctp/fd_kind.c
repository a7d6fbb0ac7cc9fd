// SPDX-License-Identifier: MIT
//
// Kinds of anonymous inodes. libctp.so compiles this into itself.
#include "ctp/fd_kind.h"

#include <stddef.h>
#include <string.h>

enum ctp_fd_kind fd_kind_anon(const char *link)
{
	static const struct {
		char name[24];
		enum ctp_fd_kind kind;
	} names[] = {
		{"anon_inode:[eventfd]", CTP_FD_EVENTFD},
		{"anon_inode:[timerfd]", CTP_FD_TIMERFD},
		{"anon_inode:[signalfd]", CTP_FD_SIGNALFD},
		{"anon_inode:[eventpoll]", CTP_FD_EPOLL},
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(link, names[i].name))
			return names[i].kind;
	return CTP_FD_OTHER;
}
