// SPDX-License-Identifier: MIT
//
// Links are never followed, and a file that another process removes meanwhile is no error.
#include "engine/record/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"

enum { DEPTH = 5, PIECE = 8 << 20 };

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

struct copying {
	int from, to;
	struct tree_file {
		char *name; // from the top
		uint64_t bytes;
	} * files;
	size_t n, capacity;
	void (*meanwhile)(void *arg);
	void *arg;
};

// So many bytes of it, which grows meanwhile. One that is gone by now is left out.
static int copy_file(const struct copying *c, const struct tree_file *f)
{
	int r = 0, in = openat(c->from, f->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (in < 0)
		return errno == ENOENT ? 0 : -errno;
	int out = openat(c->to, f->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	uint64_t left = f->bytes;
	ssize_t n = out < 0 ? -1 : 1;
	while (n > 0 && left) {
		n = copy_file_range(in, NULL, out, NULL, left < PIECE ? left : PIECE, 0);
		left -= n > 0 ? (uint64_t)n : 0;
		if (c->meanwhile)
			c->meanwhile(c->arg);
	}
	if (n < 0)
		r = -errno;
	close(in);
	if (out >= 0 && close(out) < 0 && !r)
		r = -errno;
	return r;
}

static int note_file(struct copying *c, const char *name, uint64_t bytes)
{
	if (GROW(c->files, c->n, c->capacity))
		return -ENOMEM;
	c->files[c->n] = (struct tree_file){.name = strdup(name), .bytes = bytes};
	return c->files[c->n++].name ? 0 : -ENOMEM;
}

static int note_folder(struct copying *c, const char *folder, int depth);

static int note_entry(struct copying *c, const char *folder, const char *entry, int depth)
{
	struct stat st;
	char name[512];
	if (!strcmp(entry, ".") || !strcmp(entry, "..") || !strncmp(entry, "trace.json", 10))
		return 0;
	int n = snprintf(name, sizeof(name), "%s%s%s", folder, *folder ? "/" : "", entry);
	if (n >= (int)sizeof(name) || fstatat(c->from, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISREG(st.st_mode))
		return note_file(c, name, (uint64_t)st.st_size);
	return S_ISDIR(st.st_mode) && depth ? note_folder(c, name, depth - 1) : 0;
}

// Makes the folder, and notes what is in it.
static int note_folder(struct copying *c, const char *folder, int depth)
{
	int r = 0,
	    fd = openat(c->from, *folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	if (!d || (*folder && mkdirat(c->to, folder, 0700) < 0 && errno != EEXIST))
		r = -errno;
	for (struct dirent *e; !r && (e = readdir(d));)
		r = note_entry(c, folder, e->d_name, depth);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return r;
}

int tree_copy(int from, int to, int depth, void (*meanwhile)(void *arg), void *arg)
{
	struct copying c = {.from = from, .to = to, .meanwhile = meanwhile, .arg = arg};
	int r = note_folder(&c, "", depth);
	for (size_t i = 0; !r && i < c.n; i++)
		r = copy_file(&c, &c.files[i]);
	for (size_t i = 0; i < c.n; i++)
		free(c.files[i].name);
	free(c.files);
	return r;
}

static uint64_t bytes_below(int at, const char *name, int depth)
{
	struct stat st;
	uint64_t sum = 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW))
		return 0;
	if (S_ISREG(st.st_mode))
		return (uint64_t)st.st_blocks * 512;
	int fd = !S_ISDIR(st.st_mode) || !depth ?
		       -1 :
		       openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	for (struct dirent *e; d && (e = readdir(d));)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			sum += bytes_below(dirfd(d), e->d_name, depth - 1);
	if (d)
		closedir(d);
	else if (fd >= 0)
		close(fd);
	return sum;
}

uint64_t tree_bytes(int dir)
{
	return bytes_below(dir, ".", DEPTH);
}
