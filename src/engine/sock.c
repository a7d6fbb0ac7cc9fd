// SPDX-License-Identifier: MIT
//
// Probes of version 1 write one byte to the socket when the header says that
// the engine sleeps. It never says so, but they connect at their start, and
// closing their connections would turn a late write into SIGPIPE: keep them.
#include "engine/sock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int private_dir(char dir[64])
{
	const char *bases[] = { getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp" };
	int r = -ENOENT;
	for (unsigned i = 0; i < 3; i++) {
		if (!bases[i] || bases[i][0] != '/' || strlen(bases[i]) > 40)
			continue;
		snprintf(dir, 64, "%.40s/ctp-XXXXXX", bases[i]);
		if (mkdtemp(dir))
			return 0;
		r = -errno;
	}
	dir[0] = '\0';
	return r;
}

int sock_init(struct sock *s)
{
	*s = (struct sock){ .fd = -1 };
	int r = private_dir(s->dir);
	if (r < 0)
		return r;
	snprintf(s->path, sizeof(s->path), "%s/s", s->dir);
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", s->path);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd >= 0 && !bind(s->fd, (struct sockaddr *)&addr, sizeof(addr)) && !listen(s->fd, 1024))
		return 0;
	r = -errno;
	sock_deinit(s);
	return r;
}

void sock_deinit(struct sock *s)
{
	for (unsigned i = 0; i < s->n; i++)
		close(s->connection[i]);
	if (s->fd >= 0)
		close(s->fd);
	if (s->link[0])
		unlink(s->link);
	if (s->dir[0]) {
		unlink(s->path);
		rmdir(s->dir);
	}
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
	if (!s->dir[0])
		return NULL;
	snprintf(s->link, sizeof(s->link), "%s/libctp.so", s->dir);
	return symlink(target, s->link) ? NULL : s->link;
}
