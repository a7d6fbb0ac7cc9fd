// SPDX-License-Identifier: MIT
//
// A thread that has ended has no program any more, and no link to its file: that asks for one call where all
// is as usual. /proc/TID is there for each thread, though no listing of /proc shows it.
#include "base/living.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

// pidfd_open(2): of a thread (Linux 6.9).
#define OF_THREAD O_EXCL

pid_t living_of(pid_t pid)
{
	char path[64], c;
	pid_t found = pid;
	int error = errno;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if (readlink(path, &c, 1) >= 0 || errno != ENOENT) {
		errno = error;
		return pid;
	}
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *e; found == pid && d && (e = readdir(d));) {
		int tid = isdigit((unsigned char)*e->d_name) ? atoi(e->d_name) : 0;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/exe", (int)pid, tid);
		if (tid && readlink(path, &c, 1) >= 0)
			found = tid;
	}
	if (d)
		closedir(d);
	errno = error;
	return found;
}

// Whom to ask again, after a call by `pid`; 0: nobody.
static pid_t other(pid_t pid, ssize_t result)
{
	pid_t tid = result < 0 && errno == ESRCH ? living_of(pid) : pid;
	return tid != pid ? tid : 0;
}

ssize_t living_read(pid_t pid, const struct iovec *here, size_t nhere, const struct iovec *there,
		    size_t nthere)
{
	ssize_t n = process_vm_readv(pid, here, nhere, there, nthere, 0);
	pid_t tid = other(pid, n);
	return tid ? process_vm_readv(tid, here, nhere, there, nthere, 0) : n;
}

ssize_t living_write(pid_t pid, const struct iovec *here, size_t nhere, const struct iovec *there,
		     size_t nthere)
{
	ssize_t n = process_vm_writev(pid, here, nhere, there, nthere, 0);
	pid_t tid = other(pid, n);
	return tid ? process_vm_writev(tid, here, nhere, there, nthere, 0) : n;
}

int living_pidfd(pid_t pid)
{
	pid_t tid = living_of(pid);
	return (int)syscall(SYS_pidfd_open, tid, tid == pid ? 0 : OF_THREAD);
}
