// SPDX-License-Identifier: MIT
//
// The kernel's socket diagnosis goes through all sockets of the machine, and through tables that are larger
// than those. Mostly nothing waits in any socket of the process, and then nobody needs to know whose the
// other ends are: what the process sent to itself waits in one of its own, whether sent, received or in a
// connection that it has not accepted. A copy of the descriptor tells, for a moment. On doubt it is not
// empty.
#include "engine/stored/sockets_asked.h"

#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"

static bool number(int fd, int level, int name, int *value)
{
	socklen_t n = sizeof(*value);
	return !getsockopt(fd, level, name, value, &n) && n == sizeof(*value);
}

static bool is_backlog_empty(int fd)
{
	struct tcp_info info = {0};
	socklen_t n = sizeof(info);
	return !getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) &&
	       n > offsetof(struct tcp_info, tcpi_unacked) + sizeof(info.tcpi_unacked) && !info.tcpi_unacked;
}

static bool is_tcp_empty(int fd)
{
	int listens, received, sent;
	if (!number(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens))
		return false;
	if (listens)
		return is_backlog_empty(fd);
	return !ioctl(fd, SIOCINQ, &received) && !ioctl(fd, SIOCOUTQ, &sent) && !received && !sent;
}

// Of datagrams the size of the first one would tell nothing of the others.
static bool is_memory_empty(int fd)
{
	uint32_t v[SK_MEMINFO_VARS] = {0};
	socklen_t n = sizeof(v);
	return !getsockopt(fd, SOL_SOCKET, SO_MEMINFO, v, &n) && n > SK_MEMINFO_BACKLOG * sizeof(*v) &&
	       !v[SK_MEMINFO_RMEM_ALLOC] && !v[SK_MEMINFO_WMEM_QUEUED] && !v[SK_MEMINFO_BACKLOG];
}

static void ask(struct sockets_asked *s, int fd, struct queues_socket *of)
{
	int family, protocol;
	of->inet = number(fd, SOL_SOCKET, SO_DOMAIN, &family) && (family == AF_INET || family == AF_INET6) &&
		   number(fd, SOL_SOCKET, SO_PROTOCOL, &protocol) &&
		   (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP);
	s->others |= !of->inet;
	s->inet |= of->inet;
	if (of->inet)
		s->empty &= protocol == IPPROTO_TCP ? is_tcp_empty(fd) : is_memory_empty(fd);
}

struct sockets_asked sockets_ask(struct queues *q)
{
	struct sockets_asked s = {.empty = true};
	int process = living_pidfd(q->l->pid);
	for (size_t i = 0; i < q->nsockets && s.empty; i++) {
		int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, q->sockets[i].fd, 0);
		s.empty &= fd >= 0 && !signals_late(q->l->deadline_ns);
		if (fd < 0)
			continue;
		ask(&s, fd, &q->sockets[i]);
		close(fd);
	}
	if (process >= 0)
		close(process);
	s.others |= !s.empty;
	for (size_t i = 0; s.empty && i < q->nsockets; i++)
		q->sockets[i].seen |= q->sockets[i].inet;
	return s;
}
