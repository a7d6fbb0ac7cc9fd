// SPDX-License-Identifier: MIT
//
// Candidates for a lost wakeup: a descriptor was closed, or left its epoll set, while a
// coroutine may wait on it. What the entry was, and what the kernel called it, is kept from
// before the call; the candidate is posted after it, with the epoch that the call raised. A
// kept copy that turns out to be unneeded is given back. This file also queries the kernel
// about what a descriptor is.
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "ctp/fd_kind.h"
#include "preload/guest/coredump_advise.h"
#include "preload/guest/exit.h"
#include "preload/fds/fds.h"

enum { KEEPS = 256 };

static struct fd_keep *keeps; // taken when first needed

void fd_candidates_init(void)
{
	keeps = NULL;
}

static struct fd_keep *keeps_table(void)
{
	struct fd_keep *t = (struct fd_keep *)ctp_load64((uint64_t *)&keeps);
	if (t)
		return t;
	t = memory_take(sizeof(*t) * KEEPS);
	if (t && !ctp_cas64((uint64_t *)&keeps, 0, (uint64_t)t))
		t = (struct fd_keep *)ctp_load64((uint64_t *)&keeps);
	return t;
}

struct fd_keep *fd_candidates_keep(const struct ctp_fd *e, int fd)
{
	struct fd_keep *t = keeps_table();
	for (int i = 0; t && i < KEEPS; i++) {
		if (ctp_load32(&t[i].taken) || !ctp_cas32(&t[i].taken, 0, 1))
			continue;
		t[i].next = NULL;
		t[i].post = false;
		t[i].kind = CTP_CAND_CLOSE;
		memset(&t[i].cand, 0, sizeof(t[i].cand)); // in place: nothing of it on the stack
		t[i].cand.fd = fd;
		t[i].cand.gen = e->gen;
		t[i].cand.was = *e;
		t[i].cand.was.seq &= ~1U;
		return &t[i];
	}
	ctp_or32(&ctp_tracer->region.ext->gaps, CTP_GAP_CANDS);
	return NULL;
}

void fd_candidates_identify(struct fd_keep *k)
{
	struct ctp_cand *c = &k->cand;
	struct stat st;
	if (guest_syscall(SYS_fstat, c->fd, (long)&st, 0, 0, 0, 0) == 0) {
		c->dev = st.st_dev;
		c->ino = st.st_ino;
		c->mode = st.st_mode;
	}
	if (c->was.kind == CTP_FD_OTHER)
		c->was.kind = fd_candidates_kind(c->fd);
	if (!S_ISSOCK(c->mode))
		return;
	uint32_t local = sizeof(c->local), peer = sizeof(c->peer);
	if (guest_syscall(SYS_getsockname, c->fd, (long)c->local, (long)&local, 0, 0, 0) == 0)
		c->name_len = local < sizeof(c->local) ? local : sizeof(c->local);
	guest_syscall(SYS_getpeername, c->fd, (long)c->peer, (long)&peer, 0, 0, 0);
}

uint64_t fd_candidates_epoch(void)
{
	return ctp_add64(&ctp_tracer->region.ext->epoch, 1) + 1;
}

// The next slot, ours to fill; NULL, and noted, if somebody still waits for what is in it.
static struct ctp_cand *slot(void)
{
	const struct ctp_region *r = &ctp_tracer->region;
	uint32_t at = ctp_add32(&r->ext->cand_count, 1);
	coredump_advise_grow(COREDUMP_CANDS, at < r->cands_max ? at + 1 : r->cands_max);
	struct ctp_cand *c = r->cands_max ? &r->cands[at % r->cands_max] : NULL;
	uint32_t is = c ? ctp_load32(&c->ready) : CTP_CAND_READY; // partner: suspects_release
	if ((is == CTP_CAND_EMPTY || is == CTP_CAND_FREE) && ctp_cas32(&c->ready, is, CTP_CAND_FILLING))
		return c;
	ctp_or32(&r->ext->gaps, CTP_GAP_CANDS);
	return NULL;
}

void fd_candidates_post(struct thread_ctx *g, struct fd_keep *k, unsigned kind, const struct fd_death *d)
{
	struct ctp_cand *to = kind ? slot() : NULL, *c = &k->cand;
	if (to) {
		c->kind = kind;
		c->time = d->time;
		c->epoch = d->epoch;
		c->call = d->call;
		c->closer = d->closer;
		c->closer_thread = g->slot;
		c->closer_stack = d->stack;
		c->fd_kind = c->was.kind;
		c->ready = CTP_CAND_FILLING;
		*to = *c;
		ctp_store32(&to->ready, CTP_CAND_READY);
	}
	ctp_store32(&k->taken, 0);
	if (kind)
		emit_wake();
}

static enum ctp_fd_kind socket_kind(int fd)
{
	int domain = 0, type = 0;
	uint32_t len = sizeof(int);
	guest_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, (long)&domain, (long)&len, 0);
	len = sizeof(int);
	guest_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&len, 0);
	return fd_socket_kind(domain, type);
}

// Anonymous inodes (eventfd, epoll ...) are recognized by their names in /proc.
static enum ctp_fd_kind anon_kind(int fd)
{
	char path[40] = "/proc/thread-self/fd/", digits[12], to[24] = "";
	int n = 0, at = 21;
	do
		digits[n++] = (char)('0' + fd % 10);
	while (fd /= 10);
	while (n)
		path[at++] = digits[--n];
	guest_syscall(SYS_readlinkat, AT_FDCWD, (long)path, (long)to, sizeof(to) - 1, 0, 0);
	return fd_kind_anon(to);
}

enum ctp_fd_kind fd_candidates_kind(int fd)
{
	struct stat st;
	if (guest_syscall(SYS_fstat, fd, (long)&st, 0, 0, 0, 0) != 0)
		return CTP_FD_OTHER;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
		return CTP_FD_FILE;
	case S_IFIFO:
		return CTP_FD_PIPE;
	case S_IFSOCK:
		return socket_kind(fd);
	case 0:
		return anon_kind(fd);
	default:
		return CTP_FD_OTHER;
	}
}
