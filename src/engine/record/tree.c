// SPDX-License-Identifier: MIT
//
// Links are never followed, and a file that another process removes meanwhile is no error.
#include "engine/record/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH = 5 };

static void remove_below(int at, const char *name, int depth)
{
	if (!unlinkat(at, name, 0) || errno == ENOENT || depth == 0)
		return;
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			remove_below(dirfd(d), e->d_name, depth - 1);
	closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

void tree_remove(int at, const char *name)
{
	remove_below(at, name, DEPTH);
}

static int copy_file(int from, int to, const char *name)
{
	int r = 0, in = openat(from, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	int out = in < 0 ? -1 : openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	ssize_t n = out < 0 ? -1 : 1;
	while (n > 0)
		n = copy_file_range(in, NULL, out, NULL, SSIZE_MAX & ~4095L, 0);
	if (n < 0)
		r = -errno;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out) < 0 && !r)
		r = -errno;
	return r;
}

static int copy_entry(int from, int to, const char *name, int depth)
{
	struct stat st;
	if (!strcmp(name, ".") || !strcmp(name, "..") || !strncmp(name, "trace.json", 10) ||
	    fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISREG(st.st_mode))
		return copy_file(from, to, name);
	if (!S_ISDIR(st.st_mode) || !depth)
		return 0;
	if (mkdirat(to, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	int in = openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int out = in < 0 ? -1 : openat(to, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	int r = out < 0 ? -errno : tree_copy(in, out, depth - 1);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return r;
}

int tree_copy(int from, int to, int depth)
{
	int fd = openat(from, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r = 0;
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		r = -errno;
		if (fd >= 0)
			close(fd);
		return r;
	}
	for (struct dirent *e; !r && (e = readdir(d));)
		r = copy_entry(from, to, e->d_name, depth);
	closedir(d);
	return r;
}
