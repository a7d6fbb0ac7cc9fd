// SPDX-License-Identifier: MIT
//
// /dev/stderr is a link, too. To open it anew would give a redirected file a second
// offset, and its writers would overwrite each other. So a path that means one of our own
// descriptors is duplicated instead.
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

// The number of our descriptor that the path means, or -1.
static int own_number(const char *path)
{
	static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
	if (!strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (unsigned i = 0; i < 2; i++) {
		size_t n = strlen(folders[i]);
		const char *digits = path + n;
		if (!strncmp(path, folders[i], n) && *digits && strlen(digits) < 8 &&
		    !digits[strspn(digits, "0123456789")])
			return atoi(digits);
	}
	return -1;
}

static int duplicate(int fd)
{
	int flags = fcntl(fd, F_GETFL), to = -1;
	if (flags >= 0 && (flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	if (flags >= 0)
		to = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return to < 0 ? -errno : to;
}

// Whether the link is one of the kernel's, which nobody can plant.
static bool is_of_proc(const char *path)
{
	struct statfs fs;
	int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	bool is = fd >= 0 && !fstatfs(fd, &fs) && fs.f_type == PROC_SUPER_MAGIC;
	if (fd >= 0)
		close(fd);
	return is;
}

int outfile_open(const char *path, int flags)
{
	char link[PATH_MAX];
	int own = own_number(path), follow = 0;
	ssize_t n = own < 0 ? readlink(path, link, sizeof(link) - 1) : -1;
	if (n >= 0) {
		link[n] = '\0';
		own = own_number(link);
		follow = is_of_proc(path);
	}
	if (own >= 0)
		return duplicate(own);
	int fd = open(path, O_WRONLY | flags | (follow ? 0 : O_NOFOLLOW) | O_CLOEXEC | O_NOCTTY, 0666);
	return fd < 0 ? -errno : fd;
}

int outfile_stream(FILE **to, const char *path)
{
	int fd = outfile_open(path, O_CREAT | O_TRUNC);
	if (fd < 0)
		return fd;
	*to = fdopen(fd, "w");
	if (*to)
		return 0;
	int e = errno;
	close(fd);
	return -e;
}

const char *outfile_why(int error)
{
	return error == -ELOOP ? "it is a symbolic link; name the file that it leads to" : strerror(-error);
}
