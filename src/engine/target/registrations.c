// SPDX-License-Identifier: MIT
//
// Epoll registrations, which /proc/PID/fdinfo shows as rows. A row is identified by inode and device;
// anonymous inodes share one inode, so there kcmp(KCMP_EPOLL_TFD) tells which open file a row holds.
// Both list rows in the order of the set's tree, so the n-th row of a number is kcmp's n-th (`toff`).
#include "engine/target/registrations.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/living.h"
#include "engine/target/proc.h"
#include "engine/target/signals.h"

static bool add_set(struct registrations *r, int fd)
{
	int *more = realloc(r->sets, (r->nsets + 1) * sizeof(*more));
	if (!more)
		return false;
	r->sets = more;
	r->sets[r->nsets++] = fd;
	return true;
}

static int list_sets(pid_t pid, uint64_t deadline_ns, struct registrations *r)
{
	char path[64], link[64];
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(pid));
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	int err = 0;
	for (struct dirent *e; !err && (e = readdir(d));) {
		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		r->fds++;
		if (r->fds % 1024 == 0 && signals_late(deadline_ns))
			r->complete = false;
		if (!r->complete)
			break;
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		if (n < 0)
			continue;
		link[n] = 0;
		if (!strcmp(link, "anon_inode:[eventpoll]"))
			err = add_set(r, atoi(e->d_name)) ? 0 : -ENOMEM;
		else if (!strcmp(link, "anon_inode:[io_uring]"))
			r->uring++;
		else if (!strcmp(link, "anon_inode:[userfaultfd]"))
			r->userfault = true;
	}
	closedir(d);
	return err;
}

size_t registrations_rings(pid_t pid, uint64_t deadline_ns)
{
	struct registrations r = {.complete = true};
	size_t n = list_sets(pid, deadline_ns, &r) ? 0 : r.uring;
	registrations_deinit(&r);
	return n;
}

// A set's tree is ordered by file, then number, so rows of one number may lie
// anywhere in it.
static int by_number(const void *a, const void *b)
{
	const struct registration *x = *(struct registration *const *)a,
				  *y = *(struct registration *const *)b;
	if (x->tfd != y->tfd)
		return x->tfd < y->tfd ? -1 : 1;
	return x < y ? -1 : x > y;
}

static int count_nth(struct registration *v, size_t n)
{
	struct registration **p = malloc((n + 1) * sizeof(struct registration *));
	if (!p)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		p[i] = &v[i];
	qsort(p, n, sizeof(struct registration *), by_number);
	for (size_t i = 0; i < n; i++)
		p[i]->nth = i && p[i]->tfd == p[i - 1]->tfd ? p[i - 1]->nth + 1 : 0;
	free(p);
	return 0;
}

static int read_set(pid_t pid, int epfd, size_t limit, size_t *room, struct registrations *r)
{
	char name[64], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", epfd);
	int err = proc_slurp(pid, name, &text, NULL);
	if (err)
		return err;
	size_t from = r->n;
	for (char *line = text; !err && (line = strstr(line, "tfd:")); line += 4) {
		int tfd;
		unsigned events, dev;
		unsigned long long data, ino;
		if (sscanf(line, "tfd: %d events: %x data: %llx pos:%*d ino:%llx sdev:%x", &tfd, &events,
			   &data, &ino, &dev) != 5) {
			r->complete = false;
			continue;
		}
		if (limit && r->n >= limit) {
			r->complete = false;
			break;
		}
		if (r->n == *room) {
			*room = *room ? *room * 2 : 64;
			struct registration *more = realloc(r->v, *room * sizeof(*more));
			if (!more) {
				err = -ENOMEM;
				break;
			}
			r->v = more;
		}
		r->v[r->n++] = (struct registration){
			.epfd = epfd, .tfd = tfd, .events = events, .data = data, .ino = ino, .dev = dev};
	}
	if (!err)
		err = count_nth(r->v + from, r->n - from);
	free(text);
	return err;
}

// A process that ends, killed or by exit, first gives up all its descriptors at once, and is seen with none.
static bool has_any(pid_t pid)
{
	char path[40];
	unsigned n = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)living_of(pid));
	DIR *d = opendir(path);
	for (struct dirent *e; d && !n && (e = readdir(d));)
		n += *e->d_name != '.';
	if (d)
		closedir(d);
	return n;
}

int registrations_read(pid_t pid, size_t limit, uint64_t deadline_ns, struct registrations *out)
{
	struct registrations r = {.complete = true};
	size_t room = 0;
	int err = list_sets(pid, deadline_ns, &r);
	for (size_t i = 0; !err && i < r.nsets; i++) {
		if (signals_late(deadline_ns))
			r.complete = false;
		if (!r.complete)
			break;
		err = read_set(pid, r.sets[i], limit, &room, &r);
		if (err == -ENOENT) // closed meanwhile: the program is not idle
			r.complete = false, err = 0;
	}
	if (!has_any(pid))
		r.complete = false; // what was read before may be half of it
	if (err)
		registrations_deinit(&r);
	else
		*out = r;
	return err;
}

int registrations_list(pid_t pid, uint64_t deadline_ns, struct registrations *out)
{
	*out = (struct registrations){.complete = true};
	return list_sets(pid, deadline_ns, out);
}

void registrations_deinit(struct registrations *r)
{
	free(r->v);
	free(r->sets);
	*r = (struct registrations){0};
}

uint64_t registrations_dev(uint64_t st_dev)
{
	return (uint64_t)major(st_dev) << 20 | minor(st_dev);
}

int registrations_is_open_as(pid_t pid, const struct registration *reg, int fd)
{
	struct kcmp_epoll_slot slot = {
		.efd = (unsigned)reg->epfd, .tfd = (unsigned)reg->tfd, .toff = reg->nth};
	long r = syscall(SYS_kcmp, pid, pid, KCMP_EPOLL_TFD, (long)fd, &slot);
	pid_t tid = r < 0 && errno == EBADF ? living_of(pid) : pid;
	if (tid != pid)
		r = syscall(SYS_kcmp, tid, tid, KCMP_EPOLL_TFD, (long)fd, &slot);
	if (r == 0)
		return 1;
	if (r > 0 || errno == EBADF)
		return r > 0 ? 0 : -1;
	// kcmp is not there (seccomp, old kernel): the inode settles it where it is unique
	struct stat st;
	char path[64], link[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(pid), fd);
	if (stat(path, &st))
		return errno == ENOENT ? 0 : -1;
	if (st.st_ino != reg->ino || registrations_dev(st.st_dev) != reg->dev)
		return 0;
	return S_ISSOCK(st.st_mode) && proc_fd_link(pid, fd, link, sizeof(link)) ? 1 : -1;
}

// tid: of a living thread. *epfd: our number of the first such set.
static bool shares(pid_t tid, const struct registrations *own, pid_t other, int *epfd)
{
	struct registrations theirs = {.complete = true};
	bool shared = false;
	pid_t them = living_of(other);
	if (list_sets(them, UINT64_MAX, &theirs) == -EACCES)
		return false; // another user's: no child that kept what it inherited
	for (size_t i = 0; !shared && i < theirs.nsets; i++)
		for (size_t k = 0; !shared && k < own->nsets; k++) {
			shared = syscall(SYS_kcmp, tid, them, KCMP_FILE, (long)own->sets[k],
					 (long)theirs.sets[i]) <= 0;
			*epfd = own->sets[k];
		}
	registrations_deinit(&theirs);
	return shared;
}

pid_t registrations_sharer(pid_t pid, uint64_t deadline_ns, int *epfd)
{
	struct registrations own = {.complete = true};
	pid_t tid = living_of(pid), by = 0;
	DIR *d = opendir("/proc");
	if (!d || list_sets(pid, deadline_ns, &own) < 0 || !own.complete || (!own.nsets && !has_any(pid)))
		by = -1;
	for (struct dirent *e; !by && (e = readdir(d));) {
		pid_t other = isdigit((unsigned char)e->d_name[0]) ? atoi(e->d_name) : 0;
		if (other && other != pid && shares(tid, &own, other, epfd))
			by = other;
		else if (signals_late(deadline_ns))
			by = -1;
	}
	if (d)
		closedir(d);
	registrations_deinit(&own);
	return by;
}
