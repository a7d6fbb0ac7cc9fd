// SPDX-License-Identifier: MIT
//
// Only a trace of ours is ever replaced, and only by moving it to PATH.old. Links are not
// followed: what is no plain directory or file is no trace of ours.
// A trace is created in a slot beside PATH (slot.h) and gets its name when it can be
// recognized. SIGKILL at any instant leaves a trace at PATH if there was one, and loses neither
// that trace nor, before the new one is complete, the one at PATH.old: first the new trace takes
// PATH.old's name, then it and PATH are exchanged. The former PATH.old is in the slot then.
#include "engine/record/output.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/jsonl.h"
#include "engine/record/tree.h"

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

static bool begins(int dir, const char *path, const char *with)
{
	char head[64];
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	if (fd < 0)
		return false;
	size_t want = strlen(with);
	ssize_t n = fstat(fd, &st) || !S_ISREG(st.st_mode) ? -1 : read(fd, head, want);
	close(fd);
	return n == (ssize_t)want && !memcmp(head, with, want);
}

enum { IS_TRACE = 100, IS_EMPTY };

// IS_TRACE; IS_EMPTY: an empty file; 0: nothing there; OUTPUT_EXISTS: something else; or -errno.
static int what_is(int at, const char *name)
{
	struct stat st;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISREG(st.st_mode) && !st.st_size)
		return IS_EMPTY;
	if (S_ISREG(st.st_mode))
		return begins(at, name, CTP_JSONL_BEGIN) ? IS_TRACE : OUTPUT_EXISTS;
	if (!S_ISDIR(st.st_mode))
		return OUTPUT_EXISTS;
	int dir = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return errno == EACCES ? -EACCES : OUTPUT_EXISTS; // such as root's
	bool is = begins(dir, "ctp/trace.json", "{\"format\":\"ctp-trace\"");
	close(dir);
	return is ? IS_TRACE : OUTPUT_EXISTS;
}

// The name at which the trace of before is kept. NULL: no memory.
static char *old_name(const struct output *o)
{
	char *old;
	return asprintf(&old, "%s.old", o->name) < 0 ? NULL : old;
}

// What PATH.old may become: 0, or as output_publish.
static int may_be_old(const struct output *o, const char *old)
{
	int is = what_is(o->parent, old);
	return is == OUTPUT_EXISTS || is == IS_EMPTY ? OUTPUT_OLD_EXISTS : is < 0 ? is : 0;
}

// Whether the trace can have its name. As output_publish.
static int may_be(const struct output *o)
{
	int is = what_is(o->parent, o->name);
	if (is == IS_EMPTY)
		return o->jsonl ? 0 : OUTPUT_EXISTS;
	if (is != IS_TRACE || o->replaces)
		return is == IS_TRACE ? 0 : is;
	char *old = old_name(o);
	int r = old ? may_be_old(o, old) : -ENOMEM;
	free(old);
	return r;
}

// ------------------------------------------------------------------ names

// Not every file system can do what is asked by flags (NFS cannot).
static bool cannot(int r)
{
	return r == -EINVAL || r == -ENOSYS || r == -EOPNOTSUPP;
}

static int rename_flags(int from, const char *a, int to, const char *b, unsigned flags)
{
	return renameat2(from, a, to, b, flags) ? -errno : 0;
}

static int exchange(int from, const char *a, int to, const char *b)
{
	return rename_flags(from, a, to, b, RENAME_EXCHANGE);
}

// To a name that is free.
static int move(int from, const char *a, int to, const char *b)
{
	int r = rename_flags(from, a, to, b, RENAME_NOREPLACE);
	if (!cannot(r))
		return r;
	int is = what_is(to, b);
	return is > 0 ? -EEXIST : is < 0 ? is : rename_flags(from, a, to, b, 0);
}

// In steps, of which each leaves a trace at PATH or at PATH.old.
static int rotate_in_steps(const struct output *o, const char *old)
{
	int dir = o->slot.dir, r = what_is(o->parent, old) ? move(o->parent, old, dir, SLOT_AWAY) : 0;
	if (r < 0)
		return r;
	r = move(o->parent, o->name, o->parent, old);
	return r ? r : move(dir, SLOT_TRACE, o->parent, o->name);
}

// PATH, which is a trace, becomes PATH.old.
static int rotate(struct output *o, const char *old)
{
	int dir = o->slot.dir, r = may_be_old(o, old);
	if (r)
		return r;
	bool was = what_is(o->parent, old) == IS_TRACE;
	r = was ? exchange(dir, SLOT_TRACE, o->parent, old) : move(dir, SLOT_TRACE, o->parent, old);
	if (cannot(r))
		return rotate_in_steps(o, old);
	if (r)
		return r;
	r = exchange(o->parent, o->name, o->parent, old);
	if (!r)
		o->took = was ? OUTPUT_TOOK_BOTH : OUTPUT_TOOK_PATH;
	else if (was) // back to where it was
		exchange(dir, SLOT_TRACE, o->parent, old);
	else
		move(o->parent, old, dir, SLOT_TRACE);
	return cannot(r) ? rotate_in_steps(o, old) : r;
}

// PATH goes, and the trace takes its place.
static int replace(struct output *o)
{
	int dir = o->slot.dir, r = exchange(dir, SLOT_TRACE, o->parent, o->name);
	if (!cannot(r))
		return r;
	r = move(o->parent, o->name, dir, SLOT_AWAY);
	return r ? r : move(dir, SLOT_TRACE, o->parent, o->name);
}

int output_publish(struct output *o)
{
	int r = -EEXIST;
	for (int tries = 0; tries < 10 && (r == -EEXIST || r == -ENOENT); tries++) { // others may do the same
		int is = may_be(o);
		if (is)
			return is;
		is = what_is(o->parent, o->name);
		char *old = is == IS_TRACE && !o->replaces ? old_name(o) : NULL;
		if (old)
			r = rotate(o, old);
		else
			r = is ? replace(o) : move(o->slot.dir, SLOT_TRACE, o->parent, o->name);
		free(old);
	}
	o->published = !r;
	if (!r)
		slot_drop_empty(&o->slot, o->parent); // else it goes when there is time
	return r;
}

// ------------------------------------------------------------------ making it

static int open_parent(struct output *o)
{
	char *copy = strdup(o->path), *slash = strrchr(o->path, '/');
	if (!copy)
		return -ENOMEM;
	o->name = slash && slash[1] ? slash + 1 : o->path;
	o->parent = open(dirname(copy), O_PATH | O_DIRECTORY | O_CLOEXEC);
	free(copy);
	return o->parent < 0 ? -errno : 0;
}

static int create_lines(struct output *o)
{
	o->fd = openat(o->slot.dir, SLOT_TRACE, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	return o->fd < 0 ? -errno : 0;
}

static int create_directory(struct output *o)
{
	if (mkdirat(o->slot.dir, SLOT_TRACE, 0700) < 0)
		return -errno;
	o->fd = openat(o->slot.dir, SLOT_TRACE, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (o->fd < 0 || mkdirat(o->fd, "ctp", 0700) < 0)
		return -errno;
	flock(o->fd, LOCK_EX | LOCK_NB); // as long as it is written: readers need not wait for one whose
					 // writer is dead
	return 0;
}

// In a slot beside where it will be.
static int create(struct output *o)
{
	int r = may_be(o);
	if (!r)
		r = slot_take(&o->slot, o->parent);
	if (!r)
		r = o->jsonl ? create_lines(o) : create_directory(o);
	if (r < 0)
		output_tidy(o);
	return r;
}

int output_init(struct output *o, const char *pattern, pid_t pid, const char *program)
{
	*o = (struct output)OUTPUT_NONE;
	o->path = expand(pattern, pid, program);
	if (!o->path)
		return -ENOMEM;
	size_t n = strlen(o->path);
	o->jsonl = n >= 6 && !strcmp(o->path + n - 6, ".jsonl");
	int r = n ? open_parent(o) : -ENOENT;
	return r ? r : create(o);
}

void output_tidy(struct output *o)
{
	if (o->parent < 0)
		return;
	slot_drop(&o->slot, o->parent);
	if (!o->swept)
		slot_sweep(o->parent);
	o->swept = true;
}

void output_deinit(struct output *o)
{
	output_tidy(o);
	if (o->fd >= 0)
		close(o->fd);
	if (o->parent >= 0)
		close(o->parent);
	free(o->path);
	*o = (struct output)OUTPUT_NONE;
}

// The names as they were: what was replaced is still there.
static void take_back(struct output *o)
{
	struct stat ours, named;
	if (o->slot.dir < 0 && slot_take(&o->slot, o->parent))
		return;
	int dir = o->slot.dir;
	char *old = old_name(o);
	if (!old || fstat(o->fd, &ours) || fstatat(o->parent, o->name, &named, AT_SYMLINK_NOFOLLOW) ||
	    ours.st_dev != named.st_dev || ours.st_ino != named.st_ino) {
		free(old); // another run has moved it
		return;
	}
	if (o->took == OUTPUT_TOOK_BOTH) {
		if (!exchange(o->parent, o->name, o->parent, old))
			exchange(dir, SLOT_TRACE, o->parent, old);
	} else if (o->took == OUTPUT_TOOK_PATH) {
		if (!exchange(o->parent, o->name, o->parent, old))
			move(o->parent, old, dir, SLOT_TRACE);
	} else if (what_is(dir, SLOT_TRACE)) {
		exchange(o->parent, o->name, dir, SLOT_TRACE);
	} else {
		move(o->parent, o->name, dir, SLOT_TRACE);
	}
	free(old);
}

void output_remove(struct output *o)
{
	if (o->published)
		take_back(o);
	output_tidy(o);
}

void output_remove_image(const struct output *o, unsigned k, const char *sub)
{
	char name[64];
	snprintf(name, sizeof(name), "ctp/image%u/%s", k, sub);
	tree_remove(o->fd, name);
}

int output_beside(const struct output *o, unsigned n, struct output *to)
{
	*to = (struct output)OUTPUT_NONE;
	to->replaces = true;
	if (asprintf(&to->path, "%s.%u", o->path, n) < 0) {
		to->path = NULL;
		return -ENOMEM;
	}
	to->name = to->path + (o->name - o->path);
	to->parent = fcntl(o->parent, F_DUPFD_CLOEXEC, 3);
	int r = to->parent < 0 ? -errno : create(to);
	return r;
}

int output_copy(const struct output *o, const struct output *to, void (*meanwhile)(void *arg), void *arg)
{
	return tree_copy(o->fd, to->fd, 3, meanwhile, arg);
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
