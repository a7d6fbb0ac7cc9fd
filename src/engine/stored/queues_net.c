// SPDX-License-Identifier: MIT
//
// Bytes that the process sent to itself and has not read yet. If its own sockets say that there are none
// (sockets_asked.c), that is all. The kernel's socket diagnosis gives queues and
// peers; of TCP and UDP so does /proc/PID/net, where there is no diagnosis, or in another network. A peer
// that is gone may have been the process itself.
#include "engine/stored/queues.h"

#include <linux/inet_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/living.h"
#include "engine/stored/sock_diag.h"
#include "engine/stored/sockets_asked.h"

// Fewer bytes hold no pointer (the end of a stream counts as one). More, in a
// connection that a coroutine has filled until it had to wait, are what it writes.
enum { ESTABLISHED = 1, TIME_WAIT = 6, CLOSE_WAIT = 8, LISTENS = 10, LEAST = 4, BULK = 1 << 16 };

// ----------------------------------------------------------------------- unix

// The name that it is bound to is what the process chose, and can ask for.
static void tell_name(const struct queues *q, const struct nlattr *a)
{
	q->bytes(q->ctx, "a word in the name of a unix socket", (const unsigned char *)(a + 1),
		 a->nla_len - sizeof(*a));
}

enum contents { NOTHING, BYTES, DESCRIPTORS };

// What a socket of the process holds that it may have sent itself: a message may carry descriptors, of a pipe
// with a pointer in it, say, and no byte.
static int unix_holds(void *ctx, const struct nlmsghdr *h)
{
	const struct queues *q = ctx;
	const struct unix_diag_msg *m = NLMSG_DATA(h);
	struct queues_socket *own = queues_own(q, m->udiag_ino), *mate;
	const char *at = (const char *)(m + 1), *end = (const char *)h + h->nlmsg_len;
	uint32_t peer = 0, queued = UINT32_MAX;
	bool name = false;
	while (at + sizeof(struct nlattr) <= end) {
		const struct nlattr *a = (const void *)at;
		if (a->nla_len < sizeof(*a) || at + a->nla_len > end)
			break;
		name |= a->nla_type == UNIX_DIAG_NAME;
		if (own && a->nla_type == UNIX_DIAG_NAME)
			tell_name(q, a);
		if (a->nla_type == UNIX_DIAG_PEER && a->nla_len >= sizeof(*a) + 4)
			memcpy(&peer, a + 1, 4);
		if (a->nla_type == UNIX_DIAG_RQLEN && a->nla_len >= sizeof(*a) + 4)
			memcpy(&queued, a + 1, 4);
		at += NLA_ALIGN(a->nla_len);
	}
	if (!own && (mate = queues_own(q, peer)))
		mate->other = !name;
	if (!own)
		return NOTHING;
	own->nameless = !name;
	if (peer && !queues_own(q, peer))
		return NOTHING;
	return queued ? BYTES : proc_fd_awaits_fds(q->l->pid, own->fd) ? DESCRIPTORS : NOTHING;
}

// enum contents; -1: the kernel does not tell.
static int unix_dump(struct queues *q)
{
	struct unix_diag_req r = {.sdiag_family = AF_UNIX,
				  .udiag_states = UINT32_MAX,
				  .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN};
	int s = sock_diag_open(q->l->pid),
	    holds = s < 0 ? -1 : sock_diag_dump(s, &r, sizeof(r), unix_holds, q);
	sock_diag_close(s);
	return holds;
}

static void note(const struct queues *q, uint64_t ino)
{
	struct queues_socket *s = queues_own(q, ino);
	if (s)
		s->seen = true;
}

static bool any_unix(const struct queues *q)
{
	char *text;
	if (proc_slurp(q->l->pid, "net/unix", &text, NULL))
		return true;
	bool any = false;
	for (char *line = strchr(text, '\n'); line; line = strchr(line + 1, '\n')) {
		unsigned long long ino;
		if (sscanf(line, " %*s %*s %*s %*s %*s %*s %llu", &ino) != 1 || !queues_own(q, ino))
			continue;
		note(q, ino);
		any = true;
	}
	free(text);
	return any;
}

// A socket whose other end the program has given to another process, as it does with a helper of its own; -1.
// What it had from its parent is none.
static int lent_pair(const struct queues *q)
{
	struct ctp_fd f;
	for (size_t i = 0; i < q->nsockets; i++)
		if (q->sockets[i].nameless && q->sockets[i].other && q->l->r &&
		    inspect_fd(q->l->r, (uint64_t)q->sockets[i].fd, &f) &&
		    f.opened_how == CTP_CALL_SOCKETPAIR)
			return q->sockets[i].fd;
	return -1;
}

static bool unix_sockets(struct queues *q)
{
	if (!any_unix(q))
		return true;
	int r = unix_dump(q), lent = lent_pair(q);
	if (r < 0)
		snprintf(q->why, sizeof(q->why), "the queues of its unix sockets cannot be seen");
	else if (!r && lent >= 0) {
		snprintf(q->why, sizeof(q->why),
			 "another process has the other end of socketpair fd %d, and may send back a pointer",
			 lent);
		r = 1;
	} else if (r)
		snprintf(q->why, sizeof(q->why),
			 "a unix socket holds %s that the process may have sent to itself",
			 r == BYTES ? "bytes" : "descriptors");
	return !r;
}

// ----------------------------------------------------------------------- inet

struct end {
	char addr[33];
	unsigned port;
};
struct inet {
	struct end local, peer;
	unsigned state, sent, queued;
	uint64_t ino;
};
struct inets {
	struct inet *v;
	size_t n, room;
};

static bool add_inet(struct inets *s, const struct inet *t)
{
	if (GROW(s->v, s->n, s->room))
		return false;
	s->v[s->n++] = *t;
	return true;
}

// As the file prints it: words as they lie in memory.
static void print_end(struct end *e, const uint32_t words[4], uint16_t port, bool six)
{
	e->port = ntohs(port);
	for (unsigned i = 0; i < (six ? 4 : 1); i++)
		snprintf(e->addr + 8 * i, 9, "%08X", words[i]);
}

// 1: there is no memory.
static int add_told(void *ctx, const struct nlmsghdr *h)
{
	const struct inet_diag_msg *m = NLMSG_DATA(h);
	struct inet t = {.state = m->idiag_state,
			 .sent = m->idiag_wqueue,
			 .queued = m->idiag_rqueue,
			 .ino = m->idiag_inode};
	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
		return 0;
	print_end(&t.local, m->id.idiag_src, m->id.idiag_sport, m->idiag_family == AF_INET6);
	print_end(&t.peer, m->id.idiag_dst, m->id.idiag_dport, m->idiag_family == AF_INET6);
	return !add_inet(ctx, &t);
}

// As sock_diag_dump. Connections that are over, but for the wait, hold nothing, and can be very many: whose
// peer is one of them is judged as one whose peer is gone.
static int dump_inets(struct inets *s, int diag, uint8_t family, uint8_t protocol)
{
	struct inet_diag_req_v2 r = {.sdiag_family = family,
				     .sdiag_protocol = protocol,
				     .idiag_states = ~(protocol == IPPROTO_TCP ? 1u << TIME_WAIT : 0)};
	return diag < 0 ? -1 : sock_diag_dump(diag, &r, sizeof(r), add_told, s);
}

static bool read_inets(struct inets *s, pid_t pid, const char *file)
{
	char *text, *save = NULL;
	if (proc_slurp(pid, file, &text, NULL))
		return true; // no such protocol here
	bool ok = true;
	for (char *line = strtok_r(text, "\n", &save); ok && line; line = strtok_r(NULL, "\n", &save)) {
		struct inet t;
		unsigned long long ino;
		if (sscanf(line, " %*d: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %x:%x %*s %*s %*s %*s %llu",
			   t.local.addr, &t.local.port, t.peer.addr, &t.peer.port, &t.state, &t.sent,
			   &t.queued, &ino) != 8)
			continue;
		t.ino = ino;
		ok = add_inet(s, &t);
	}
	free(text);
	return ok;
}

static bool same_end(const struct end *a, const struct end *b)
{
	size_t n = strlen(a->addr), m = strlen(b->addr); // one may be the other's form in IPv6
	return a->port == b->port &&
	       (n <= m ? !strcmp(a->addr, b->addr + (m - n)) : !strcmp(a->addr + (n - m), b->addr));
}

// A connection to a listener of the process's that nobody has accepted: no socket of a file yet. (One whose
// file was closed has no socket either, but has sent its end, and is in another state.)
static bool not_accepted(const struct queues *q, const struct inets *s, const struct inet *t)
{
	if (t->ino || (t->state != ESTABLISHED && t->state != CLOSE_WAIT))
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].state == LISTENS && s->v[i].local.port == t->local.port &&
		    queues_own(q, s->v[i].ino))
			return true;
	return false;
}

// Could what waits in `t` come from the process? Its other end is the process's, or not to be found here.
static bool from_itself(const struct queues *q, const struct inets *s, const struct inet *t)
{
	bool ours = queues_own(q, t->ino) || not_accepted(q, s, t),
	     local = !strcmp(t->local.addr, t->peer.addr) || !t->peer.port;
	size_t n = strlen(t->peer.addr); // 127.0.0.0/8 as the last four bytes, ::1
	local |= n >= 8 && !strcmp(t->peer.addr + n - 2, "7F");
	local |= n == 32 && !strcmp(t->peer.addr, "00000000000000000000000001000000");
	if (!ours && t->ino)
		return false;
	for (size_t i = 0; i < s->n; i++)
		if (t->peer.port && same_end(&s->v[i].local, &t->peer) && same_end(&s->v[i].peer, &t->local))
			return queues_own(q, s->v[i].ino) || (ours && !s->v[i].ino && local);
	return ours && local;
}

static unsigned port_of(const uint8_t *address)
{
	return (unsigned)address[2] << 8 | address[3]; // as in sockaddr_in and sockaddr_in6
}

// The connection that some suspect waits to write to: the descriptor that went away.
static bool of_suspect(const struct queues *q, const struct inet *t)
{
	for (size_t i = 0; i < q->l->n; i++) {
		const struct suspect *s = q->l->who[i];
		const struct ctp_cand *c = &s->c;
		unsigned local = port_of(c->local), peer = port_of(c->peer);
		if (s->wait < 0 || !(s->s.waits[s->wait].events & EPOLLOUT) || c->name_len < 4 || !peer)
			continue;
		if ((t->local.port == local && t->peer.port == peer) ||
		    (t->local.port == peer && t->peer.port == local))
			return true;
	}
	return false;
}

// False: there is no memory.
static bool all_inets(struct inets *s, pid_t pid)
{
	static const struct {
		const char *file;
		uint8_t family, protocol; // 0: there is no diagnosis of it
	} kinds[] = {{"net/tcp", AF_INET, IPPROTO_TCP},
		     {"net/tcp6", AF_INET6, IPPROTO_TCP},
		     {"net/udp", AF_INET, IPPROTO_UDP},
		     {"net/udp6", AF_INET6, IPPROTO_UDP},
		     {"net/udplite", 0, 0},
		     {"net/udplite6", 0, 0},
		     {"net/raw", 0, 0},
		     {"net/raw6", 0, 0},
		     {"net/icmp", 0, 0},
		     {"net/icmp6", 0, 0}};
	int diag = sock_diag_open(pid);
	bool ok = true;
	for (size_t i = 0; ok && i < sizeof(kinds) / sizeof(*kinds); i++) {
		size_t before = s->n;
		int e = kinds[i].family ? dump_inets(s, diag, kinds[i].family, kinds[i].protocol) : -1;
		if (e < 0)
			s->n = before; // what was told until then is in the file, too
		ok = e < 0 ? read_inets(s, pid, kinds[i].file) : !e;
	}
	sock_diag_close(diag);
	return ok;
}

static bool inet_sockets(struct queues *q)
{
	struct inets s = {0};
	bool ok = all_inets(&s, q->l->pid);
	if (!ok)
		snprintf(q->why, sizeof(q->why), "out of memory");
	for (size_t i = 0; ok && i < s.n; i++) {
		const struct inet *t = &s.v[i];
		note(q, t->ino);
		unsigned most = t->queued > t->sent ? t->queued : t->sent;
		if (most < LEAST || (most > BULK && of_suspect(q, t)) || t->state == LISTENS)
			continue;
		if (signals_late(q->l->deadline_ns)) {
			snprintf(q->why, sizeof(q->why), "no time to look at every socket");
			ok = false;
		} else if (!*q->doubt && from_itself(q, &s, t)) {
			snprintf(q->may_doubt ? q->doubt : q->why, sizeof(q->why),
				 "a socket at port %u holds bytes that the process may have sent to itself",
				 t->local.port);
			ok = q->may_doubt;
		}
	}
	free(s.v);
	return ok;
}

// ----------------------------------------------------------------- all others

// Tables that tell how much waits in a socket, and which it is, in these columns.
static bool other_sockets(struct queues *q)
{
	static const struct {
		const char *file, *format;
	} tables[] = {
		{"net/netlink", "%*s %*s %*s %*s %u %*s %*s %*s %*s %llu"},
		{"net/packet", "%*s %*s %*s %*s %*s %*s %u %*s %llu"},
	};
	bool ok = true;
	for (size_t i = 0; ok && i < sizeof(tables) / sizeof(*tables); i++) {
		char *text, *save = NULL;
		if (proc_slurp(q->l->pid, tables[i].file, &text, NULL))
			continue; // no such protocol here
		for (char *line = strtok_r(text, "\n", &save); ok && line;
		     line = strtok_r(NULL, "\n", &save)) {
			unsigned waits;
			unsigned long long ino;
			if (sscanf(line, tables[i].format, &waits, &ino) != 2 || !queues_own(q, ino))
				continue;
			note(q, ino);
			ok = !waits;
		}
		free(text);
		if (!ok)
			snprintf(q->why, sizeof(q->why),
				 "a socket of %s holds bytes that the process may have sent to itself",
				 tables[i].file + 4);
	}
	return ok;
}

// In no table: a connection that is over, a socket never bound, a kind that is not
// known, another network. Only the socket itself can tell; nobody is at its other end.
static bool unlisted(struct queues *q, const struct queues_socket *s)
{
	int waits = -1, p = living_pidfd(q->l->pid);
	int fd = p >= 0 ? (int)syscall(SYS_pidfd_getfd, p, s->fd, 0) : -1;
	if (fd >= 0 && ioctl(fd, FIONREAD, &waits))
		waits = -1;
	bool carried = !waits && proc_fd_awaits_fds(q->l->pid, s->fd);
	if (fd >= 0)
		close(fd);
	if (p >= 0)
		close(p);
	if (waits || carried)
		snprintf(q->why, sizeof(q->why),
			 carried ? "socket fd %d holds descriptors that the process may have sent to itself" :
			 waits > 0 ? "socket fd %d holds bytes that the process may have sent to itself" :
				     "it cannot be seen what waits in socket fd %d",
			 s->fd);
	return !waits && !carried;
}

bool queues_sockets(struct queues *q)
{
	struct sockets_asked asked = sockets_ask(q);
	bool ok = (!asked.others || unix_sockets(q)) && (asked.empty || inet_sockets(q)) &&
		  (!asked.others || other_sockets(q));
	for (size_t i = 0; ok && i < q->nsockets; i++)
		ok = q->sockets[i].seen || unlisted(q, &q->sockets[i]);
	return ok;
}
