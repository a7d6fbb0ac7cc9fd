// SPDX-License-Identifier: MIT
//
// Which files a program makes nobody notes, but it must find them again. Numbers that are written out in a
// file are no handles: a log is full of them. ctp-run's own files are none of the program's.
#include "engine/stored/made_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/living.h"
#include "search/memory/memory_walk.h"

enum { PATHS_MOST = 128, PATH_MOST = 256, LEAST = 4, FILES_MOST = 2048, BYTES_MOST = 1 << 16, ROOT = 32 };
enum { ROUNDED_S = 2 };

struct made {
	struct queues *q;
	void (*text)(void *ctx, const char *where, const char *name);
	char (*paths)[PATH_MOST];
	size_t npaths, files;
	const struct maps_line *stack; // with the environment
	bool watched, shut;            // files must not be opened; one was not
	char root[ROOT];
};

// ------------------------------------------------------------------- paths

static bool is_path(unsigned char c)
{
	return c > ' ' && c <= '~' && c != ':' && c != ',' && c != '"';
}

static bool is_ours(const char *path)
{
	static const char *const not [] = {"/proc/", "/sys/", "/dev/", "/usr/", "/lib"};
	for (size_t i = 0; i < sizeof(not ) / sizeof(*not ); i++)
		if (!strncmp(path, not [i], strlen(not [i])) && strncmp(path, "/dev/shm/", 9) != 0)
			return false;
	return true;
}

static void add_path(struct made *m, const unsigned char *b, size_t n)
{
	char path[PATH_MOST];
	memcpy(path, b, n);
	path[n] = '\0';
	for (size_t i = 0; i < m->npaths; i++)
		if (!strcmp(m->paths[i], path))
			return;
	if (m->npaths < PATHS_MOST && is_ours(path))
		memcpy(m->paths[m->npaths++], path, n + 1);
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct made *m = ctx;
	if (m->stack && at >= m->stack->lo && at < m->stack->hi)
		return;
	for (size_t i = 0; i < n; i++) {
		size_t k = i;
		if (b[i] != '/' || (i && is_path(b[i - 1])))
			continue;
		while (k < n && k - i < PATH_MOST && is_path(b[k]))
			k++;
		if (k - i >= LEAST && k - i < PATH_MOST && k < n && !b[k])
			add_path(m, b + i, k - i);
		i = k;
	}
}

static bool find_paths(struct made *m, const struct span *skip, size_t nskip)
{
	const struct memory *memory = &m->q->l->memory;
	struct memory_walk w = {.memory = memory, .skip = skip, .nskip = nskip, .piece = on_piece, .ctx = m};
	for (size_t i = 0; i < memory->nmaps; i++)
		if (!strcmp(memory->maps[i].path, "[stack]"))
			m->stack = &memory->maps[i];
	return memory_walk(&w) == 0;
}

// ------------------------------------------------------------------- files

static void read_file(struct made *m, const char *path)
{
	unsigned char *bytes = malloc(BYTES_MOST);
	int fd = bytes ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME) : -1;
	ssize_t n = fd >= 0 ? pread(fd, bytes, BYTES_MOST, 0) : 0;
	if (n > 0)
		m->q->bytes(m->q->ctx, "a word in a file that it made", bytes, (size_t)n);
	if (fd >= 0)
		close(fd);
	free(bytes);
}

static bool is_new(const struct made *m, const struct stat *st)
{
	return st->st_ctim.tv_sec + ROUNDED_S >= m->q->l->memory.began_s;
}

static void one(struct made *m, const char *path, const char *name)
{
	struct stat st;
	char link[PATH_MOST];
	if (lstat(path, &st) || !is_new(m, &st) || m->files++ > FILES_MOST)
		return;
	m->text(m->q->ctx, "the name of a file that it made", name);
	ssize_t n = S_ISLNK(st.st_mode) ? readlink(path, link, sizeof(link) - 1) : 0;
	link[n > 0 ? n : 0] = '\0';
	m->text(m->q->ctx, "a link that it made", link);
	if (S_ISREG(st.st_mode) && st.st_size <= BYTES_MOST)
		read_file(m, path);
	if (S_ISREG(st.st_mode))
		queues_attributes(m->q, path, -1, &st);
}

static void directory(struct made *m, const char *path)
{
	char name[3 * PATH_MOST + ROOT];
	snprintf(name, sizeof(name), "%s/witness.jsonl", path);
	DIR *d = access(name, F_OK) ? opendir(path) : NULL;
	for (struct dirent *e; d && m->files < FILES_MOST && (e = readdir(d));) {
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (*e->d_name != '.')
			one(m, name, e->d_name);
	}
	if (d)
		closedir(d);
}

// Would the program be told that a file is opened: by inotify, fanotify, or a lease (fcntl(2))?
static bool is_watched(pid_t pid)
{
	char path[40], link[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(pid));
	DIR *d = opendir(path);
	bool is = !d;
	for (struct dirent *e; d && !is && (e = readdir(d));) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		is = !strcmp(link, "anon_inode:inotify") || !strcmp(link, "anon_inode:[fanotify]");
	}
	if (d)
		closedir(d);
	FILE *f = is ? NULL : fopen("/proc/locks", "re");
	while (f && !is && fgets(line, sizeof(line), f))
		is = strstr(line, " LEASE ") != NULL;
	if (f)
		fclose(f);
	return is;
}

static void follow(struct made *m, const char *path)
{
	struct stat st;
	char name[PATH_MOST + ROOT + 16];
	snprintf(name, sizeof(name), "%s%s", m->root, path);
	if (lstat(name, &st) && !strchr(path + 1, '/')) { // shm_open
		snprintf(name, sizeof(name), "%s/dev/shm%s", m->root, path);
		if (lstat(name, &st))
			return;
	}
	if (!is_new(m, &st) || !queues_local(name))
		return;
	if (m->watched && !S_ISLNK(st.st_mode))
		m->shut |= S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	else if (S_ISDIR(st.st_mode))
		directory(m, name);
	else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		one(m, name, strrchr(path, '/') + 1);
}

const char *made_files(struct queues *q, const struct span *skip, size_t nskip,
		       void (*text)(void *ctx, const char *where, const char *name))
{
	struct made m = {.q = q, .text = text, .paths = malloc(PATHS_MOST * PATH_MOST)};
	snprintf(m.root, sizeof(m.root), "/proc/%d/root", living_of(q->l->pid));
	m.watched = is_watched(q->l->pid);
	bool ok = m.paths && find_paths(&m, skip, nskip);
	for (size_t i = 0; i < m.npaths && ok; i++) {
		follow(&m, m.paths[i]);
		ok = !signals_late(q->l->deadline_ns);
	}
	free(m.paths);
	return !ok    ? "memory was not searched in time" :
	       m.shut ? "the program watches files: those that it made were not opened" :
			NULL;
}
