// SPDX-License-Identifier: MIT
//
// /proc/PID/fd says what file each number has; fdinfo, whether it blocks; the tables of /proc/PID/net, what a
// socket is. A socket is not opened to be asked: it would stay open for that long if the program closes it.
#include "engine/attach/seed_fds.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "base/living.h"
#include "ctp/fd_kind.h"
#include "engine/target/proc.h"

enum { LISTENING = 1 << 8 }; // beside the kind, in the map of sockets

// /proc/PID/net/tcp and its like: a line for each, of which the tenth word is the inode, the fourth the
// state.
static void read_inet(struct idmap *to, pid_t pid, const char *name, enum ctp_fd_kind kind)
{
	char *text = NULL;
	if (proc_slurp(pid, name, &text, NULL))
		return;
	for (char *line = strchr(text, '\n'); line && *++line; line = strchr(line, '\n')) {
		unsigned state;
		unsigned long long ino;
		if (sscanf(line, " %*s %*s %*s %x %*s %*s %*s %*s %*s %llu", &state, &ino) == 2 && ino)
			idmap_set(to, ino, kind | (kind == CTP_FD_TCP && state == 0x0a ? LISTENING : 0));
	}
	free(text);
}

// /proc/PID/net/unix: the fourth word has a bit for those that listen, the seventh is the inode.
static void read_unix(struct idmap *to, pid_t pid)
{
	enum { ACCEPTS = 1 << 16 };
	char *text = NULL;
	if (proc_slurp(pid, "net/unix", &text, NULL))
		return;
	for (char *line = strchr(text, '\n'); line && *++line; line = strchr(line, '\n')) {
		unsigned flags;
		unsigned long long ino;
		if (sscanf(line, "%*s %*s %*s %x %*s %*s %llu", &flags, &ino) == 2 && ino)
			idmap_set(to, ino, CTP_FD_UNIX | (flags & ACCEPTS ? LISTENING : 0));
	}
	free(text);
}

static void read_sockets(struct idmap *to, pid_t pid)
{
	read_inet(to, pid, "net/tcp", CTP_FD_TCP);
	read_inet(to, pid, "net/tcp6", CTP_FD_TCP);
	read_inet(to, pid, "net/udp", CTP_FD_UDP);
	read_inet(to, pid, "net/udp6", CTP_FD_UDP);
	read_unix(to, pid);
}

// By st_mode and where the link leads.
static enum ctp_fd_kind kind_of(int dir, const char *name, const struct stat *st)
{
	char link[64];
	ssize_t n;
	switch (st->st_mode & S_IFMT) {
	case S_IFREG:
	case S_IFDIR:
		return CTP_FD_FILE;
	case S_IFIFO:
		return CTP_FD_PIPE;
	case 0:
		n = readlinkat(dir, name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = 0;
		return fd_kind_anon(link);
	default:
		return CTP_FD_OTHER;
	}
}

static bool blocks_not(pid_t pid, int fd)
{
	char name[40], *text = NULL;
	unsigned flags = 0;
	snprintf(name, sizeof(name), "fdinfo/%d", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return false;
	const char *at = strstr(text, "flags:");
	bool not = at && sscanf(at, "flags: %o", &flags) == 1 && (flags & O_NONBLOCK);
	free(text);
	return not ;
}

static int add(struct seed_fds *out, pid_t pid, int dir, const char *name, struct idmap *sockets, bool *read)
{
	struct ctp_seed_fd one = {.fd = (int)strtol(name, NULL, 10)};
	struct stat st;
	if (fstatat(dir, name, &st, 0)) // closed meanwhile
		return 0;
	one.kind = kind_of(dir, name, &st);
	if (S_ISSOCK(st.st_mode)) {
		if (!*read)
			read_sockets(sockets, pid);
		*read = true;
		uint32_t what = idmap_get(sockets, st.st_ino);
		what = what == IDMAP_NONE ? CTP_FD_OTHER : what;
		one.kind = what & (LISTENING - 1);
		one.flags = what & LISTENING ? CTP_FD_LISTENS : 0;
	}
	// A file blocks all the same; so does a set of descriptors
	bool may = one.kind != CTP_FD_FILE && one.kind != CTP_FD_OTHER && one.kind != CTP_FD_EPOLL;
	one.flags |= may && blocks_not(pid, one.fd) ? CTP_FD_NONBLOCK : 0;
	if (GROW(out->v, out->n, out->capacity))
		return -ENOMEM;
	out->v[out->n++] = one;
	return 0;
}

int seed_fds_read(struct seed_fds *out, pid_t pid)
{
	char path[32];
	struct idmap sockets = {0};
	bool read = false;
	int e = 0;
	*out = (struct seed_fds){0};
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)living_of(pid));
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	for (struct dirent *x; !e && (x = readdir(d));)
		if (isdigit((unsigned char)x->d_name[0]))
			e = add(out, pid, dirfd(d), x->d_name, &sockets, &read);
	closedir(d);
	idmap_deinit(&sockets);
	return e;
}
