// SPDX-License-Identifier: MIT
//
// Version-1 probes write one byte to the socket if the header says that the engine sleeps. It
// never says so, but probes connect at their start, and closing their connections would turn
// a late write into SIGPIPE, so the connections are kept. The socket has a name only until a
// descriptor of its inode is open; connect(2) reaches it through /proc/PID/fd as well. A name
// would remain if ctp-run were killed.
#include "engine/start/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/record/slot.h"

// Binds to a name in the slot, which only we may enter, and keeps the inode. 0 or -errno.
static int bind_in_slot(struct sock *s, const struct slot *slot)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/proc/self/fd/%d/%s", slot->dir, s->name);
	mode_t mask = umask(077);
	int r = bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	umask(mask);
	int fd = r ? -1 : openat(slot->dir, s->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (!r && (fd < 0 || dup3(fd, s->inode, O_CLOEXEC) < 0))
		r = -errno;
	if (fd >= 0)
		close(fd);
	return r;
}

static int bind_in(struct sock *s, int parent)
{
	struct slot slot;
	int r = slot_take(&slot, parent);
	if (r < 0)
		return r;
	r = bind_in_slot(s, &slot);
	slot_drop(&slot, parent);
	return r;
}

static int bind_at(struct sock *s, const char *base)
{
	int parent = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return -errno;
	int r = bind_in(s, parent);
	slot_sweep(parent);
	close(parent);
	return r;
}

// In the first place of these where it can be done.
static int somewhere(struct sock *s, int (*make)(struct sock *, const char *))
{
	const char *bases[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
	int r = -ENOENT;
	for (unsigned i = 0; i < 3 && r < 0; i++)
		if (bases[i] && bases[i][0] == '/' && strlen(bases[i]) <= 40)
			r = make(s, bases[i]);
	return r;
}

int sock_init(struct sock *s, int type, const char *name)
{
	*s = (struct sock)SOCK_NONE;
	s->name = name;
	s->fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = s->fd < 0 ? -errno : 0;
	if (!r && (s->inode = open("/", O_PATH | O_CLOEXEC)) < 0)
		r = -errno;
	if (r < 0)
		sock_deinit(s);
	return r;
}

int sock_bind(struct sock *s, int near)
{
	if (s->fd < 0)
		return 0; // that it cannot be has been said
	int r = bind_in(s, near);
	if (r < 0)
		r = somewhere(s, bind_at);
	if (!r && listen(s->fd, 1024) < 0)
		r = -errno;
	return r;
}

void sock_deinit(struct sock *s)
{
	for (unsigned i = 0; i < s->n; i++)
		close(s->connection[i]);
	if (s->fd >= 0)
		close(s->fd);
	if (s->inode >= 0)
		close(s->inode);
	if (s->alias_parent >= 0) {
		slot_drop(&s->alias, s->alias_parent);
		close(s->alias_parent);
	}
	*s = (struct sock)SOCK_NONE;
}

void sock_accept(struct sock *s)
{
	while (s->fd >= 0) {
		int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (s->n < SOCK_CONNECTIONS)
			s->connection[s->n++] = fd;
		else
			close(fd);
	}
}

// With its path in s->link.
static int alias_at(struct sock *s, const char *base)
{
	int parent = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (parent < 0)
		return -errno;
	slot_sweep(parent); // of a run that was killed: its program outlives the alias, as after any end of
			    // ctp-run
	int r = slot_take(&s->alias, parent);
	if (r < 0) {
		close(parent);
		return r;
	}
	s->alias_parent = parent;
	snprintf(s->link, sizeof(s->link), "%.40s/%s/" SLOT_ALIAS, base, s->alias.name);
	return 0;
}

const char *sock_alias(struct sock *s, const char *target)
{
	if (somewhere(s, alias_at) < 0)
		return NULL;
	return symlinkat(target, s->alias.dir, SLOT_ALIAS) ? NULL : s->link;
}
