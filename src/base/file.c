// SPDX-License-Identifier: MIT
//
// Whole files in memory, and paths. A mapping is private and read-only; an
// empty file maps to nothing. Only files that nobody shortens any more are
// mapped (tables are written once); growing streams are read with pread.
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int file_map(struct file_map *m, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	struct stat st;
	int r = fstat(fd, &st) ? -errno : 0;
	void *p = NULL;
	if (!r && !S_ISREG(st.st_mode))
		r = -EINVAL;
	if (!r && st.st_size > 0) {
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p == MAP_FAILED)
			r = -errno;
	}
	close(fd);
	if (r)
		return r;
	m->data = p;
	m->bytes = p ? (size_t)st.st_size : 0;
	return 0;
}

void file_unmap(struct file_map *m)
{
	if (m && m->data)
		munmap((void *)m->data, m->bytes);
	if (m)
		*m = (struct file_map){ 0 };
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
		if (up && o > floor && !(o - floor >= 2 && o[-1] == '.' && o[-2] == '.' &&
					 (o - floor == 2 || o[-3] == '/'))) {
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
