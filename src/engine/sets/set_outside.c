// SPDX-License-Identifier: MIT
//
// A forked child keeps the ends that it inherited until it closes them: while it lives, a reader here gets no
// end of file, whoever else has gone. /proc shows the files of processes of the same user, and in which call
// their threads sleep. That none of them has run takes two looks.
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
#include "engine/slices/slice.h"

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

void set_outside_deinit(struct set_outside_seen *s)
{
	for (size_t i = 0; i < s->n; i++)
		proc_tasks_deinit(&s->v[i].tasks);
	s->n = 0;
}

static bool is_child(pid_t parent, pid_t pid)
{
	char *text;
	if (proc_slurp(living_of(pid), "status", &text, NULL))
		return false;
	bool is = (pid_t)proc_field(text, "\nPPid:", 10) == parent;
	free(text);
	return is;
}

// For how long has none of these threads run? Takes them.
static uint64_t still(struct set_outside_seen *s, pid_t pid, struct proc_tasks *now, uint64_t ns)
{
	size_t i = 0;
	while (i < s->n && s->v[i].pid != pid)
		i++;
	if (i == SET_OUTSIDE_SEEN) {
		proc_tasks_deinit(now);
		return 0;
	}
	struct set_outside_one *is = &s->v[i];
	bool same = i < s->n && proc_tasks_still(&is->tasks, now);
	if (i < s->n)
		proc_tasks_deinit(&is->tasks);
	else
		s->n++;
	*is = (struct set_outside_one){pid, same ? is->since_ns : ns, *now};
	return ns - is->since_ns;
}

bool set_outside_ask(struct set_outside_seen *s, pid_t parent, pid_t pid, struct set_outside_does *does)
{
	struct proc_tasks now = {0};
	*does = (struct set_outside_does){.child = is_child(parent, pid)};
	if (proc_tasks_read(living_of(pid), true, &now))
		return false;
	does->sleeps = proc_tasks_asleep(&now);
	for (size_t i = 0; does->sleeps && i < now.n; i++)
		if (now.v[i].tid == pid && !proc_task_dead(&now.v[i])) {
			does->call = now.v[i].nr >= 0 ? slice_calls_name(now.v[i].nr) : NULL;
			snprintf(does->wchan, sizeof(does->wchan), "%s",
				 strcmp(now.v[i].wchan, "0") ? now.v[i].wchan : "");
		}
	does->still_ns = still(s, pid, &now, proc_now_ns());
	return true;
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
