// SPDX-License-Identifier: MIT
//
// /proc/PID/fd does not show every open file. An epoll set whose number was closed while a
// thread sleeps in it lives until that thread wakes, and a thread may have a descriptor
// table of its own. A hidden set can still deliver events, and its data can reference any
// coroutine, so obligations that depend on it stay undecided.
#include "engine/inspect/hidden_fds.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/living.h"

static bool is_set(const struct inspection *l, int fd)
{
	for (size_t i = 0; i < l->registrations.nsets; i++)
		if (l->registrations.sets[i] == fd)
			return true;
	return false;
}

static bool sleeps_in_unseen(const struct inspection *l, const struct proc_task *t)
{
	struct ctp_fd f;
	int fd = (int)t->args[0];
	if (!inspect_in_epoll(t))
		return false;
	if (!is_set(l, fd))
		return true;
	return t->hooked && inspect_fd(l->r, (uint64_t)(uint32_t)fd, &f) &&
	       f.opened > l->threads[t->slot].wait_since;
}

// Where kcmp is forbidden: do the numbers lead to the same names?
static bool same_links(pid_t pid, int tid)
{
	char path[64], other[64], a[256], b[256];
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(pid));
	snprintf(other, sizeof(other), "/proc/%d/task/%d/fd", pid, tid);
	DIR *x = opendir(path), *y = opendir(other);
	size_t here = 0, there = 0;
	bool same = x && y;
	for (struct dirent *e; same && (e = readdir(x)); here++) {
		ssize_t n = readlinkat(dirfd(x), e->d_name, a, sizeof(a)),
			m = readlinkat(dirfd(y), e->d_name, b, sizeof(b));
		same = n == m && (n <= 0 || !memcmp(a, b, (size_t)n));
	}
	while (same && readdir(y))
		there++;
	if (x)
		closedir(x);
	if (y)
		closedir(y);
	return same && here == there;
}

static bool has_memory(pid_t pid, int tid)
{
	char path[64], c;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", pid, tid);
	return readlink(path, &c, 1) >= 0;
}

enum own { NOT_OWN, PERHAPS_OWN, SURELY_OWN };

// shown: the thread whose descriptors are taken for those of the process. A thread that ends has no table,
// and lists may change while they are compared. A thread gives its memory back before its table (Linux,
// do_exit), so what has memory afterwards had a table.
static enum own own_table(const struct inspection *l, const struct proc_task *t, pid_t shown)
{
	if (t->tid == shown || proc_task_dead(t))
		return NOT_OWN;
	long r = syscall(SYS_kcmp, shown, t->tid, KCMP_FILES, 0L, 0L);
	if (r < 0)
		return same_links(l->pid, t->tid) ? NOT_OWN : PERHAPS_OWN;
	return !r                                                      ? NOT_OWN :
	       has_memory(l->pid, t->tid) && has_memory(l->pid, shown) ? SURELY_OWN :
									 PERHAPS_OWN;
}

void hidden_fds_find(struct inspection *l)
{
	pid_t shown = living_of(l->pid);
	*l->hidden = 0;
	for (size_t i = 0; i < l->tasks.n; i++) {
		const struct proc_task *t = &l->tasks.v[i];
		enum own own = own_table(l, t, shown);
		if (own == SURELY_OWN)
			ctp_or32(&l->r->ext->gaps, CTP_GAP_OWN_FDS);
		if (*l->hidden)
			continue;
		if (l->registrations.complete && sleeps_in_unseen(l, t))
			snprintf(l->hidden, sizeof(l->hidden),
				 "thread %d sleeps in an epoll set that no descriptor names any more",
				 t->tid);
		else if (own != NOT_OWN)
			snprintf(l->hidden, sizeof(l->hidden), "thread %d has descriptors of its own",
				 t->tid);
	}
}
