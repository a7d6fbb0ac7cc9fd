// SPDX-License-Identifier: MIT
//
// Nothing is ever replaced but a trace of ours, and that only by moving it to
// PATH.old first. Links are not followed: what is no plain directory or file
// is no trace of ours.
#include "engine/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *expand(const char *pattern, pid_t pid, const char *program)
{
	const char *slash = strrchr(program, '/'), *name = slash ? slash + 1 : program;
	char *out = NULL;
	size_t bytes;
	FILE *f = open_memstream(&out, &bytes);
	if (!f)
		return NULL;
	for (const char *p = pattern; *p; p++) {
		if (*p != '%' || !strchr("pe%", p[1]) || !p[1]) {
			fputc(*p, f);
			continue;
		}
		p++;
		if (*p == 'p')
			fprintf(f, "%d", (int)pid);
		else
			fputs(*p == 'e' ? name : "%", f);
	}
	if (fclose(f))
		return NULL;
	for (size_t n = strlen(out); n > 1 && out[n - 1] == '/'; n--)
		out[n - 1] = '\0';
	return out;
}

static bool begins(int dir, const char *path, const char *with, bool empty_is_one)
{
	char head[64];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0)
		return false;
	size_t want = strlen(with);
	ssize_t n = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : read(fd, head, want);
	close(fd);
	return n == 0 ? empty_is_one : n == (ssize_t)want && !memcmp(head, with, want);
}

enum { IS_TRACE = 100 };

// IS_TRACE; 0: nothing there; OUTPUT_EXISTS: something else; or -errno.
static int what_is(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode))
		return begins(AT_FDCWD, path, "{\"probe_id\":", true) ? IS_TRACE : OUTPUT_EXISTS;
	if (!S_ISDIR(st.st_mode))
		return OUTPUT_EXISTS;
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return OUTPUT_EXISTS;
	bool is = begins(dir, "ctp/trace.json", "{\"format\":\"ctp-trace\"", false);
	close(dir);
	return is ? IS_TRACE : OUTPUT_EXISTS;
}

// Removes a tree, no deeper than a trace is. Best effort.
static void remove_tree(int at, const char *name, int depth)
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
			remove_tree(dirfd(d), e->d_name, depth - 1);
	closedir(d);
	unlinkat(at, name, AT_REMOVEDIR);
}

// PATH.old makes room: its name now, its files later. What an earlier run had no time to remove goes first.
static int put_aside(struct output *o, const char *old)
{
	if (asprintf(&o->gone, "%s.gone", old) < 0) {
		o->gone = NULL;
		return -ENOMEM;
	}
	int was = what_is(o->gone);
	if (was == IS_TRACE)
		remove_tree(AT_FDCWD, o->gone, 5);
	if (was >= 0 && was != OUTPUT_EXISTS && !rename(old, o->gone))
		return 0;
	remove_tree(AT_FDCWD, old, 5);
	free(o->gone);
	o->gone = NULL;
	return 0;
}

void output_tidy(struct output *o)
{
	if (o->gone)
		remove_tree(AT_FDCWD, o->gone, 5);
	free(o->gone);
	o->gone = NULL;
}

static int move_away(struct output *o)
{
	const char *path = o->path;
	int is = what_is(path);
	if (is != IS_TRACE)
		return is;
	char *old = NULL;
	if (asprintf(&old, "%s.old", path) < 0)
		return -ENOMEM;
	int was = what_is(old), r = 0;
	if (was == OUTPUT_EXISTS)
		r = OUTPUT_OLD_EXISTS;
	if (was < 0)
		r = was;
	if (was == IS_TRACE)
		r = put_aside(o, old);
	if (!r && rename(path, old) < 0)
		r = -errno;
	free(old);
	return r;
}

static int create(struct output *o)
{
	if (o->jsonl) {
		o->fd = open(o->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		return o->fd < 0 ? -errno : 0;
	}
	if (mkdir(o->path, 0700) < 0)
		return -errno;
	o->fd = open(o->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (o->fd < 0 || mkdirat(o->fd, "ctp", 0700) < 0) {
		int e = errno;
		output_remove(o);
		return -e;
	}
	return 0;
}

int output_init(struct output *o, const char *pattern, pid_t pid, const char *program)
{
	*o = (struct output){ .fd = -1 };
	o->path = expand(pattern, pid, program);
	if (!o->path)
		return -ENOMEM;
	size_t n = strlen(o->path);
	o->jsonl = n >= 6 && !strcmp(o->path + n - 6, ".jsonl");
	int r = n ? move_away(o) : -ENOENT;
	return r ? r : create(o);
}

void output_deinit(struct output *o)
{
	output_tidy(o);
	if (o->fd >= 0 && o->path)
		close(o->fd);
	free(o->path);
	*o = (struct output){ .fd = -1 };
}

void output_remove(struct output *o)
{
	remove_tree(AT_FDCWD, o->path, 5);
}

void output_remove_image(const struct output *o, unsigned k, const char *sub)
{
	char name[64];
	snprintf(name, sizeof(name), "ctp/image%u/%s", k, sub);
	remove_tree(o->fd, name, 1);
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

static int copy_tree(int from, int to, int depth);

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
	int r = out < 0 ? -errno : copy_tree(in, out, depth - 1);
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	return r;
}

static int copy_tree(int from, int to, int depth)
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

int output_beside(const struct output *o, unsigned n, struct output *to)
{
	*to = (struct output){ .fd = -1 };
	if (asprintf(&to->path, "%s.%u", o->path, n) < 0) {
		to->path = NULL;
		return -ENOMEM;
	}
	int is = what_is(to->path);
	if (is == IS_TRACE)
		remove_tree(AT_FDCWD, to->path, 5);
	else if (is)
		return is;
	int r = create(to);
	return r ? r : copy_tree(o->fd, to->fd, 3);
}

int output_image(const struct output *o, unsigned k, const char *sub)
{
	char name[64];
	snprintf(name, sizeof(name), "ctp/image%u", k);
	if (mkdirat(o->fd, name, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (sub) {
		snprintf(name, sizeof(name), "ctp/image%u/%s", k, sub);
		if (mkdirat(o->fd, name, 0700) < 0 && errno != EEXIST)
			return -errno;
	}
	int fd = openat(o->fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}
