// SPDX-License-Identifier: MIT
//
// Probes of version 1 write one byte to the socket when the header says that
// the engine sleeps. It never says so, but they connect at their start, and
// closing their connections would turn a late write into SIGPIPE: keep them.
// The program waits while this is made, so there is no directory around it:
// what bind makes is the user's alone by the mask, and never takes a name that is in use.
#include "engine/sock.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { TRIES = 16 };

// Binds to a name of its own in `base`. 0 or -errno.
static int bind_in(struct sock *s, const char *base)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	uint64_t name;
	int r = -EADDRINUSE;
	mode_t mask = umask(077);
	for (int i = 0; i < TRIES && r == -EADDRINUSE; i++) {
		if (getrandom(&name, sizeof(name), GRND_NONBLOCK) != sizeof(name)) {
			r = -errno;
			break;
		}
		snprintf(s->path, sizeof(s->path), "%.40s/ctp-%016llx", base, (unsigned long long)name);
		snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", s->path);
		r = bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) ? -errno : 0;
	}
	umask(mask);
	if (r < 0)
		s->path[0] = '\0';
	return r;
}

// Makes a directory that is ours alone in `base`. 0 or -errno.
static int dir_in(struct sock *s, const char *base)
{
	snprintf(s->dir, sizeof(s->dir), "%.40s/ctp-XXXXXX", base);
	int r = mkdtemp(s->dir) ? 0 : -errno;
	if (r < 0)
		s->dir[0] = '\0';
	return r;
}

// In the first place of these where it can be done.
static int somewhere(struct sock *s, int (*make)(struct sock *, const char *))
{
	const char *bases[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
	int r = -ENOENT;
	for (unsigned i = 0; i < 3 && r < 0; i++)
		if (bases[i] && bases[i][0] == '/' && strlen(bases[i]) <= 40)
			r = make(s, bases[i]);
	return r;
}

int sock_init(struct sock *s)
{
	*s = (struct sock){ .fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0) };
	int r = s->fd < 0 ? -errno : somewhere(s, bind_in);
	if (!r && listen(s->fd, 1024) < 0)
		r = -errno;
	if (r < 0)
		sock_deinit(s);
	return r;
}

void sock_deinit(struct sock *s)
{
	for (unsigned i = 0; i < s->n; i++)
		close(s->connection[i]);
	if (s->fd >= 0)
		close(s->fd);
	if (s->path[0])
		unlink(s->path);
	if (s->link[0])
		unlink(s->link);
	if (s->dir[0])
		rmdir(s->dir);
	*s = (struct sock){ .fd = -1 };
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

const char *sock_alias(struct sock *s, const char *target)
{
	if (somewhere(s, dir_in) < 0)
		return NULL;
	snprintf(s->link, sizeof(s->link), "%s/libctp.so", s->dir);
	return symlink(target, s->link) ? NULL : s->link;
}
