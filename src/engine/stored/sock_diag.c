// SPDX-License-Identifier: MIT
//
// Answers have the number of their request: what is left of one that was not read to its end is passed over.
#include "engine/stored/sock_diag.h"

#include <linux/sock_diag.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/living.h"

enum { PATIENCE_US = 100000 };

static bool same_network(pid_t pid)
{
	char path[40], a[64] = "", b[64] = "?";
	snprintf(path, sizeof(path), "/proc/%d/ns/net", living_of(pid));
	return readlink(path, a, sizeof(a) - 1) > 0 && readlink("/proc/self/ns/net", b, sizeof(b) - 1) > 0 &&
	       !strcmp(a, b);
}

int sock_diag_open(pid_t pid)
{
	struct timeval patience = {.tv_usec = PATIENCE_US};
	int s = same_network(pid) ? socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG) : -1;
	if (s >= 0)
		setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return s;
}

void sock_diag_close(int s)
{
	if (s >= 0)
		close(s);
}

static int ask(int s, const void *request, size_t bytes, uint32_t number)
{
	struct nlmsghdr h = {.nlmsg_len = (uint32_t)NLMSG_LENGTH(bytes),
			     .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			     .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
			     .nlmsg_seq = number};
	struct iovec parts[] = {{&h, sizeof(h)}, {(void *)request, bytes}};
	struct msghdr m = {.msg_iov = parts, .msg_iovlen = 2};
	return sendmsg(s, &m, 0) == (ssize_t)h.nlmsg_len ? 0 : -1;
}

// A dump that failed ends like any other, with the error in its last message.
static int error_of(const struct nlmsghdr *h)
{
	int32_t e = 0;
	if (h->nlmsg_len >= NLMSG_LENGTH(sizeof(e)))
		memcpy(&e, NLMSG_DATA(h), sizeof(e));
	return e < 0 ? -1 : 0;
}

int sock_diag_dump(int s, const void *request, size_t bytes, int (*each)(void *ctx, const struct nlmsghdr *h),
		   void *ctx)
{
	static _Alignas(struct nlmsghdr) char buf[1 << 15];
	static uint32_t number;
	if (ask(s, request, bytes, ++number))
		return -1;
	for (;;) {
		ssize_t n = recv(s, buf, sizeof(buf), MSG_TRUNC);
		if (n <= 0 || n > (ssize_t)sizeof(buf))
			return -1;
		unsigned left = (unsigned)n;
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			if (h->nlmsg_seq != number)
				continue;
			if (h->nlmsg_type == NLMSG_DONE)
				return error_of(h);
			if (h->nlmsg_type == NLMSG_ERROR)
				return -1;
			int e = h->nlmsg_type == SOCK_DIAG_BY_FAMILY ? each(ctx, h) : 0;
			if (e)
				return e;
		}
	}
}
