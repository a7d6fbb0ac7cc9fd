// SPDX-License-Identifier: MIT
//
// A forked child keeps the ends that it inherited until it closes them: while it lives, a reader here gets no
// end of file, whoever else has gone. /proc shows the files of processes of the same user.
#include "engine/sets/set_outside.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/living.h"
#include "ctp/there.h"

bool set_outside_is(const struct ctp_region *r, uint64_t fd)
{
	struct ctp_fd f;
	if (!inspect_fd(r, fd, &f) || f.life != CTP_FD_OPEN || f.kind != CTP_FD_PIPE || !f.peer_desc)
		return false;
	struct ctp_walk w = ctp_walk_fds(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_fd o;
		if (r->fds[i].desc == f.peer_desc && r->fds[i].life == CTP_FD_OPEN && inspect_fd(r, i, &o) &&
		    o.life == CTP_FD_OPEN && o.desc == f.peer_desc)
			return false;
	}
	return true;
}

static bool may_write(pid_t pid, const char *fd)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%.20s", fd);
	if (proc_slurp(pid, name, &text, NULL))
		return false;
	bool may = (proc_field(text, "\nflags:", 8) & O_ACCMODE) != O_RDONLY;
	free(text);
	return may;
}

static bool writes(pid_t pid, const char *pipe)
{
	char path[64], link[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	bool is = false;
	for (struct dirent *e; d && !is && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n < 0 ? 0 : n] = 0;
		is = n > 0 && !strcmp(link, pipe) && may_write(pid, e->d_name);
	}
	if (d)
		closedir(d);
	return is;
}

pid_t set_outside_writer(const struct inspection *l, int fd)
{
	char pipe[64];
	DIR *d = proc_fd_link(l->pid, fd, pipe, sizeof(pipe)) ? opendir("/proc") : NULL;
	pid_t is = 0;
	for (struct dirent *e; d && !is && !signals_late(l->deadline_ns) && (e = readdir(d));) {
		pid_t pid = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		if (pid && pid != l->pid && pid != getpid() && writes(living_of(pid), pipe))
			is = pid;
	}
	if (d)
		closedir(d);
	return is;
}
