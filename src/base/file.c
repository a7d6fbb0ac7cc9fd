// SPDX-License-Identifier: MIT
//
// Whole files in memory, and paths. A mapping is private and read-only; an empty file maps
// to nothing. Only files that nobody shortens are mapped (tables are written once); growing
// streams are read with pread.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// Not opened before it is known to be regular: to open a device or a FIFO may do something. It
// is looked at again when it is open, as it may have been replaced in between.
int file_open(int folder, const char *name, int how)
{
	struct stat st;
	if (fstatat(folder, name, &st, how & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | how);
	if (fd < 0)
		return -errno;
	int r = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? fd : -EMEDIUMTYPE;
	if (r < 0)
		close(fd);
	return r;
}

int file_open_folder(int folder, const char *name, int how)
{
	struct stat st;
	int fd = openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | how), e = errno;
	if (fd >= 0)
		return fd;
	bool link = e == ENOTDIR && how & O_NOFOLLOW && !fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISLNK(st.st_mode);
	return link ? -ELOOP : -e;
}

bool file_refused(int e)
{
	return e == -ELOOP || e == -EMEDIUMTYPE || e == -ENOTDIR || e == -EFBIG || e == -EMLINK ||
	       e == -ESTALE;
}

FILE *file_open_input(const char *path, int *e)
{
	struct stat st;
	FILE *f = fopen(path, "re");
	*e = f && !fstat(fileno(f), &st) ? 0 : -errno;
	bool null = !*e && S_ISCHR(st.st_mode) &&
		    st.st_rdev == makedev(1, 3); // Documentation/admin-guide/devices.txt
	if (!*e && S_ISDIR(st.st_mode))
		*e = -EISDIR;
	else if (!*e && (S_ISBLK(st.st_mode) || (S_ISCHR(st.st_mode) && !null && !isatty(fileno(f)))))
		*e = -EMEDIUMTYPE;
	if (!*e)
		return f;
	if (f)
		fclose(f);
	return NULL;
}

const char *file_why(int e)
{
	switch (e) {
	case -ELOOP:
		return "it is a symbolic link";
	case -EMEDIUMTYPE:
		return "it is not a regular file";
	case -ENOTDIR:
		return "it is not a folder";
	case -EMLINK:
		return "it has another name (a hard link)";
	case -ESTALE:
		return "it has changed since it was read";
	default:
		return strerror(-e);
	}
}

int file_text(int fd, size_t most, char **text, size_t *bytes)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	if (st.st_size < 0 || (uint64_t)st.st_size > most)
		return -EFBIG;
	char *all = malloc((size_t)st.st_size + 1);
	size_t n = 0;
	ssize_t got = all ? 1 : -1;
	while (n < (size_t)st.st_size && got > 0) {
		got = pread(fd, all + n, (size_t)st.st_size - n, (off_t)n);
		n += got > 0 ? (size_t)got : 0;
	}
	if (got < 0) {
		int e = all ? -errno : -ENOMEM;
		free(all);
		return e;
	}
	all[n] = 0;
	*text = all;
	*bytes = n;
	return 0;
}

int file_map(struct file_map *m, int fd)
{
	struct stat st;
	void *p = NULL;
	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EMEDIUMTYPE;
	if (st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	m->data = p;
	m->bytes = p ? (size_t)st.st_size : 0;
	return 0;
}

void file_unmap(struct file_map *m)
{
	if (m && m->data)
		munmap((void *)m->data, m->bytes);
	if (m)
		*m = (struct file_map){0};
}

// Copies path's parts to `out`, leaving out "." and going back at "..".
static void file_normalize(const char *path, char *out)
{
	char *o = out;
	bool absolute = *path == '/';
	char *floor = out + absolute;
	if (absolute)
		*o++ = '/';
	while (*path) {
		size_t n = strcspn(path, "/");
		bool up = n == 2 && path[0] == '.' && path[1] == '.';
		if (up && o > floor &&
		    !(o - floor >= 2 && o[-1] == '.' && o[-2] == '.' && (o - floor == 2 || o[-3] == '/'))) {
			while (o > floor && o[-1] != '/')
				o--;
			if (o > floor)
				o--;
		} else if (n && !(n == 1 && *path == '.') && !(up && absolute)) {
			if (o > floor)
				*o++ = '/';
			memcpy(o, path, n);
			o += n;
		}
		path += n;
		path += strspn(path, "/");
	}
	*o = 0;
}

char *file_join(const char *dir, const char *name)
{
	char *joined = NULL;
	if (!dir || !*dir || *name == '/')
		joined = strdup(name);
	else if (asprintf(&joined, "%s/%s", dir, name) < 0)
		joined = NULL;
	if (!joined)
		return NULL;
	char *clean = malloc(strlen(joined) + 2);
	if (clean)
		file_normalize(joined, clean);
	free(joined);
	return clean;
}

const char *file_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}
