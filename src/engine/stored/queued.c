// SPDX-License-Identifier: MIT
//
// The kernel's socket diagnosis knows sockets by inode. It says nothing of SO_RCVLOWAT, nor of what else than
// bytes makes a socket readable: what has bytes may not be readable, so this is a hint.
#include "engine/stored/queued.h"

#include <linux/inet_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/living.h"
#include "base/search.h"
#include "engine/stored/sock_diag.h"

enum { LISTENS = 10, MOST = 1 << 20 };

static int add(struct queued *q, uint64_t ino, uint32_t bytes)
{
	if (!bytes || !ino)
		return 0;
	if (q->n >= MOST || GROW(q->v, q->n, q->room))
		return 1;
	q->v[q->n++] = (struct queued_socket){ino, bytes};
	return 0;
}

static int add_unix(void *ctx, const struct nlmsghdr *h)
{
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	const char *at = (const char *)(m + 1), *end = (const char *)h + h->nlmsg_len;
	uint32_t bytes = 0;
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->udiag_state == LISTENS)
		return 0;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *a = (const void *)at;
		if (a->nla_len < sizeof(*a) || at + a->nla_len > end)
			break;
		if (a->nla_type == UNIX_DIAG_RQLEN && a->nla_len >= sizeof(*a) + sizeof(bytes))
			memcpy(&bytes, a + 1, sizeof(bytes));
		at += NLA_ALIGN(a->nla_len);
	}
	return add(ctx, m->udiag_ino, bytes);
}

static int add_inet(void *ctx, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)) || m->idiag_state == LISTENS)
		return 0;
	return add(ctx, m->idiag_inode, m->idiag_rqueue);
}

static int by_ino(const void *a, const void *b)
{
	const struct queued_socket *x = a, *y = b;
	return x->ino < y->ino ? -1 : x->ino > y->ino;
}

static bool dump_inet(struct queued *q, int s, uint8_t family, uint8_t protocol)
{
	struct inet_diag_req_v2 r = {
		.sdiag_family = family, .sdiag_protocol = protocol, .idiag_states = UINT32_MAX};
	return !sock_diag_dump(s, &r, sizeof(r), add_inet, q);
}

static bool dump(struct queued *q, pid_t pid)
{
	static const uint8_t families[] = {AF_INET, AF_INET6}, protocols[] = {IPPROTO_TCP, IPPROTO_UDP};
	struct unix_diag_req r = {
		.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_show = UDIAG_SHOW_RQLEN};
	int s = sock_diag_open(pid);
	bool all = s >= 0 && !sock_diag_dump(s, &r, sizeof(r), add_unix, q);
	for (size_t i = 0; all && i < sizeof(families) * sizeof(protocols); i++)
		all = dump_inet(q, s, families[i / 2], protocols[i % 2]);
	sock_diag_close(s);
	if (q->n)
		qsort(q->v, q->n, sizeof(*q->v), by_ino);
	return all;
}

int64_t queued_bytes(struct queued *q, pid_t pid, int fd)
{
	char path[64];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(pid), fd);
	if (fd < 0 || stat(path, &st) || !S_ISSOCK(st.st_mode))
		return -1;
	if (!q->asked)
		q->complete = dump(q, pid);
	q->asked = true;
	if (!q->complete)
		return -1;
	size_t lo = FIRST_NOT(q->n, i, q->v[i].ino < st.st_ino);
	return lo < q->n && q->v[lo].ino == st.st_ino ? (int64_t)q->v[lo].bytes : 0;
}

void queued_deinit(struct queued *q)
{
	free(q->v);
	*q = (struct queued){0};
}
