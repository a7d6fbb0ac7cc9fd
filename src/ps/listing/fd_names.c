// SPDX-License-Identifier: MIT
//
// /proc/PID/fdinfo of an epoll set has a line for each registration: the number, the events, the
// data, and the inode of what is registered.
#include "ps/listing/fd_names.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/text.h"
#include "ps/read/sockets.h"

struct listing_fds {
	char folder[4096];
	struct listing_epoll *v;
	size_t n, capacity;
	struct sockets sockets;
};

static void read_link(const struct listing_fds *f, int fd, char *to, size_t bytes)
{
	char path[4128];
	snprintf(path, sizeof(path), "%s/fd/%d", f->folder, fd);
	ssize_t n = readlink(path, to, bytes - 1);
	to[n > 0 ? n : 0] = 0;
}

// Is the number still what was registered? Only sockets and pipes say their inode in the link.
static bool is_stale(const struct listing_fds *f, int fd, uint64_t ino)
{
	char link[256];
	uint64_t now;
	read_link(f, fd, link, sizeof(link));
	if (!*link)
		return true;
	return (sscanf(link, "socket:[%" SCNu64, &now) == 1 || sscanf(link, "pipe:[%" SCNu64, &now) == 1) &&
	       now != ino;
}

static int read_set(struct listing_fds *f, int epfd)
{
	char path[4128], *line = NULL;
	size_t room = 0;
	int e = 0;
	snprintf(path, sizeof(path), "%s/fdinfo/%d", f->folder, epfd);
	FILE *file = fopen(path, "re");
	while (!e && file && getline(&line, &room, file) > 0) {
		struct listing_epoll r = {.epfd = epfd};
		uint64_t ino = 0;
		if (sscanf(line, "tfd: %d events: %" SCNx32 " data: %" SCNx64 " pos:%*d ino:%" SCNx64, &r.fd,
			   &r.events, &r.data, &ino) < 3)
			continue;
		r.stale = is_stale(f, r.fd, ino);
		e = GROW(f->v, f->n, f->capacity);
		if (!e)
			f->v[f->n++] = r;
	}
	free(line);
	if (file)
		fclose(file);
	return e;
}

static int by_set(const void *a, const void *b)
{
	const struct listing_epoll *x = a, *y = b;
	return x->epfd != y->epfd ? (x->epfd > y->epfd ? 1 : -1) : (x->fd > y->fd) - (x->fd < y->fd);
}

int listing_fds_read(struct listing_fds **out, const char *folder)
{
	struct listing_fds *f = calloc(1, sizeof(*f));
	char path[4128];
	int e = 0;
	if (!f)
		return -ENOMEM;
	snprintf(f->folder, sizeof(f->folder), "%s", folder);
	snprintf(path, sizeof(path), "%s/fdinfo", folder);
	DIR *d = opendir(path);
	if (!d)
		e = -errno;
	for (struct dirent *x; !e && (x = readdir(d));)
		if (isdigit((unsigned char)*x->d_name))
			e = read_set(f, atoi(x->d_name));
	if (d)
		closedir(d);
	if (e) {
		listing_fds_free(f);
		return e;
	}
	if (f->n)
		qsort(f->v, f->n, sizeof(*f->v), by_set);
	*out = f;
	return 0;
}

void listing_fds_free(struct listing_fds *f)
{
	if (!f)
		return;
	free(f->v);
	sockets_deinit(&f->sockets);
	free(f);
}

const struct listing_epoll *listing_fds_rows(const struct listing_fds *f, size_t *n)
{
	*n = f ? f->n : 0;
	return f ? f->v : NULL;
}

bool listing_fds_any(const struct listing_fds *f, const char *begins)
{
	char path[4128], link[64];
	bool found = false;
	snprintf(path, sizeof(path), "%s/fd", f->folder);
	DIR *d = opendir(path);
	for (struct dirent *x; !found && d && (x = readdir(d));) {
		if (!isdigit((unsigned char)*x->d_name))
			continue;
		read_link(f, atoi(x->d_name), link, sizeof(link));
		found = !strncmp(link, begins, strlen(begins));
	}
	if (d)
		closedir(d);
	return found;
}

size_t listing_fds_timers(const struct listing_fds *f, uint64_t *out, size_t most)
{
	char path[4128], line[256];
	size_t n = 0;
	snprintf(path, sizeof(path), "%s/timers", f->folder);
	FILE *file = fopen(path, "re");
	while (n < most && file && fgets(line, sizeof(line), file))
		n += sscanf(line, "signal: %*d/%" SCNx64, &out[n]) == 1;
	if (file)
		fclose(file);
	return n;
}

static const char *kind_of(const char *link)
{
	static const struct {
		const char *begins, *kind;
	} all[] = {{"pipe:", "pipe"},
		   {"anon_inode:[eventfd", "eventfd"},
		   {"anon_inode:[timerfd", "timerfd"},
		   {"anon_inode:[signalfd", "signalfd"},
		   {"anon_inode:[eventpoll", "epoll"},
		   {"/", "file"}};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (!strncmp(link, all[i].begins, strlen(all[i].begins)))
			return all[i].kind;
	return "other";
}

void listing_fds_describe(struct listing_fds *f, int fd, const char **kind, char *name, size_t bytes)
{
	char link[4096];
	uint64_t ino;
	*kind = NULL;
	*name = 0;
	if (!f)
		return;
	read_link(f, fd, link, sizeof(link));
	if (!*link)
		return;
	*kind = kind_of(link);
	if (sscanf(link, "socket:[%" SCNu64, &ino) == 1) {
		const struct sockets_one *s = sockets_find(&f->sockets, f->folder, ino);
		*kind = !s ? "other" : s->local_only ? "unix" : s->udp ? "udp" : "tcp";
		if (s)
			sockets_name(s, false, name, bytes);
	} else if (strncmp(link, "anon_inode:", 11)) {
		snprintf(name, bytes, "%.*s", (int)bytes - 1, link);
	}
	text_clean(name);
}
