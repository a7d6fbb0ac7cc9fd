// SPDX-License-Identifier: MIT
//
// Which files a program makes nobody notes, but it must find them again: by a path in its memory or its own
// file, by a name with a number in it (printf(3)), in a directory, or where it works. Numbers that are
// written out in a log, which it has open for writing alone, are no handles. ctp-run's own files are none of
// the program's. One that it names, and that is too large to be read, may hold anything.
#include "engine/stored/made_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/living.h"
#include "engine/stored/apart_text.h"
#include "search/memory/memory_walk.h"

enum { PATHS_MOST = 512, PATH_MOST = 256, LEAST = 4, FILES_MOST = 2048, LOGS_MOST = 64, ROOT = 32 };
enum { PIECE = 1 << 16, BEHIND = 32, BYTES_MOST = 1 << 20, NAMED_MOST = 8 << 20, ALL_MOST = 32 << 20 };
enum { IMAGE_MOST = 16 << 20 }; // of the program's own file
enum { ROUNDED_S = 2, DEPTH_MOST = 4 };

struct made {
	struct queues *q;
	void (*text)(void *ctx, const char *where, const char *name);
	void (*number)(void *ctx, const char *where, uint64_t number);
	char (*paths)[PATH_MOST];
	size_t npaths, files;
	const struct maps_line *stack; // with the environment
	bool watched, shut;            // files must not be opened; one was not
	bool large;                    // one was not read to its end
	unsigned depth;                // of the directory below one that it names; 0: none that it names
	uint64_t bytes;                // read so far
	struct log {
		dev_t dev;
		ino_t ino;
	} logs[LOGS_MOST];
	size_t nlogs;
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

// Those that are constants of the program, from its file. If that is another user's, the time of the last
// access cannot be kept (open(2), O_NOATIME): to run it has set that, too.
static void constant_paths(struct made *m)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/exe", living_of(m->q->l->pid));
	unsigned char *bytes = malloc(PIECE + PATH_MOST);
	int fd = bytes && !m->watched ? open(path, O_RDONLY | O_CLOEXEC | O_NOATIME) : -1;
	if (fd < 0 && bytes && !m->watched && errno == EPERM)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;
	for (off_t at = 0; fd >= 0 && n > 0 && at < IMAGE_MOST && !signals_late(m->q->l->deadline_ns);
	     at += PIECE) {
		n = pread(fd, bytes, PIECE + PATH_MOST, at);
		if (n > 0)
			on_piece(m, bytes, (size_t)n, 0);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
}

// ------------------------------------------------------------------- files

// Files that the program has open for writing alone.
static void find_logs(struct made *m)
{
	char path[64], name[64], *text;
	struct stat st;
	pid_t pid = living_of(m->q->l->pid);
	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && m->nlogs < LOGS_MOST && (e = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%.20s", pid, e->d_name);
		snprintf(name, sizeof(name), "fdinfo/%.20s", e->d_name);
		if (stat(path, &st) || !S_ISREG(st.st_mode) || proc_slurp(m->q->l->pid, name, &text, NULL))
			continue;
		if ((proc_field(text, "flags:", 8) & O_ACCMODE) == O_WRONLY)
			m->logs[m->nlogs++] = (struct log){st.st_dev, st.st_ino};
		free(text);
	}
	if (d)
		closedir(d);
}

static bool is_log(const struct made *m, const struct stat *st)
{
	for (size_t i = 0; i < m->nlogs; i++)
		if (m->logs[i].dev == st->st_dev && m->logs[i].ino == st->st_ino)
			return true;
	return false;
}

static void on_number(void *ctx, uint64_t number)
{
	const struct made *m = ctx;
	m->number(m->q->ctx, "a number in a file that it made", number);
}

// Its first `most` bytes; a word, or a number, may lie across two pieces. False: it is longer, or cannot be
// read. What ctp-run may not read the program may not, either; nor has it made what is another user's, and
// what it may not write.
static bool read_file(struct made *m, const char *path, const struct stat *st, off_t most)
{
	unsigned char *bytes = malloc(PIECE + BEHIND);
	int fd = bytes ? open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME) : -1;
	bool foreign = fd < 0 && (errno == EACCES || (errno == EPERM && access(path, W_OK)));
	bool log = is_log(m, st), ok = fd >= 0 ? st->st_size <= most : bytes && foreign;
	for (off_t at = 0; fd >= 0 && at < st->st_size && at < most; at += PIECE) {
		ssize_t n = pread(fd, bytes, PIECE + BEHIND, at);
		if (n <= 0 || m->bytes > ALL_MOST || signals_late(m->q->l->deadline_ns)) {
			ok &= n == 0;
			break;
		}
		m->bytes += (uint64_t)n;
		m->q->bytes(m->q->ctx, "a word in a file that it made", bytes, (size_t)n);
		if (!log)
			apart_numbers(bytes, (size_t)n, on_number, m);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
	return ok || log;
}

static bool is_new(const struct made *m, const struct stat *st)
{
	return st->st_ctim.tv_sec + ROUNDED_S >= m->q->l->memory.began_s;
}

static void directory(struct made *m, const char *path, const char *prefix);

// A name may be split in two: "1f/2e3d".
static void with_folder(struct made *m, const char *path)
{
	char joined[2 * PATH_MOST];
	const char *name = strrchr(path, '/'), *folder = name;
	while (folder && folder > path && folder[-1] != '/')
		folder--;
	if (!folder || name - folder >= PATH_MOST)
		return;
	snprintf(joined, sizeof(joined), "%.*s%s", (int)(name - folder), folder, name + 1);
	m->text(m->q->ctx, "the names of a directory and of what lies there", joined);
}

// `named`: the program knows its very name.
static void one(struct made *m, const char *path, const char *name, bool named)
{
	struct stat st;
	char link[PATH_MOST];
	if (lstat(path, &st) || !is_new(m, &st) || m->files++ > FILES_MOST)
		return;
	m->text(m->q->ctx, "the name of a file that it made", name);
	if (m->depth)
		with_folder(m, path);
	ssize_t n = S_ISLNK(st.st_mode) ? readlink(path, link, sizeof(link) - 1) : 0;
	link[n > 0 ? n : 0] = '\0';
	m->text(m->q->ctx, "a link that it made", link);
	if (S_ISREG(st.st_mode) && m->depth <= 1)
		m->large |= !read_file(m, path, &st, named ? NAMED_MOST : BYTES_MOST) && named;
	if (S_ISREG(st.st_mode)) {
		queues_attributes(m->q, path, -1, &st);
		queues_times(m->q, -1, &st);
		m->q->number(m->q->ctx, "the size of a file that it made", (uint64_t)st.st_size);
	}
	if (S_ISDIR(st.st_mode) && m->depth && m->depth < DEPTH_MOST) {
		m->depth++;
		directory(m, path, "");
		m->depth--;
	}
}

// Those whose names begin so.
static void directory(struct made *m, const char *path, const char *prefix)
{
	char name[3 * PATH_MOST + ROOT];
	snprintf(name, sizeof(name), "%s/witness.jsonl", path);
	DIR *d = access(name, F_OK) ? opendir(path) : NULL;
	for (struct dirent *e; d && m->files < FILES_MOST && (e = readdir(d));) {
		snprintf(name, sizeof(name), "%s/%s", path, e->d_name);
		if (*e->d_name != '.' && !strncmp(e->d_name, prefix, strlen(prefix)))
			one(m, name, e->d_name, *prefix != 0);
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

// A name with a number in it. What the directory's other files are is nobody's business.
static void follow_format(struct made *m, const char *path)
{
	char name[PATH_MOST + ROOT + 16];
	int n = snprintf(name, sizeof(name), "%s%.*s", m->root, (int)strcspn(path, "%"), path);
	char *prefix = strrchr(name, '/');
	if (n < 0 || m->watched || !prefix || !prefix[1])
		return;
	*prefix = '\0';
	if (queues_local(name))
		directory(m, name, prefix + 1);
}

// Where it works: files that it names by their last names.
static void follow_cwd(struct made *m)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/cwd", living_of(m->q->l->pid));
	if (!m->watched && queues_local(path))
		directory(m, path, "");
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
	bool shared = st.st_mode & S_ISVTX; // as /tmp is: what lies there is others', too
	bool inside = S_ISDIR(st.st_mode) && !shared && !m->watched; // what lies in a directory may be new
	if ((!is_new(m, &st) && !inside) || !queues_local(name))
		return;
	if (m->watched && !S_ISLNK(st.st_mode))
		m->shut |= S_ISDIR(st.st_mode) || S_ISREG(st.st_mode);
	else if (S_ISDIR(st.st_mode)) {
		m->depth = inside;
		directory(m, name, "");
		m->depth = 0;
	} else if (S_ISREG(st.st_mode) || S_ISLNK(st.st_mode))
		one(m, name, strrchr(path, '/') + 1, true);
}

const char *made_files(struct queues *q, const struct span *skip, size_t nskip,
		       void (*text)(void *ctx, const char *where, const char *name),
		       void (*number)(void *ctx, const char *where, uint64_t number))
{
	struct made m = {.q = q, .text = text, .number = number, .paths = malloc(PATHS_MOST * PATH_MOST)};
	snprintf(m.root, sizeof(m.root), "/proc/%d/root", living_of(q->l->pid));
	m.watched = is_watched(q->l->pid);
	bool ok = m.paths && find_paths(&m, skip, nskip);
	if (ok) {
		constant_paths(&m);
		find_logs(&m);
		follow_cwd(&m);
	}
	for (size_t i = 0; i < m.npaths && ok; i++) {
		if (strchr(m.paths[i], '%'))
			follow_format(&m, m.paths[i]);
		else
			follow(&m, m.paths[i]);
		ok = !signals_late(q->l->deadline_ns);
	}
	free(m.paths);
	return !ok ? "memory was not searched in time" :
	       m.shut ?
		     "the program watches files: those that it made were not opened" :
	       m.large ?
		     "a file that it made is too large, or could not be read: what it holds may lead to it" :
		     NULL;
}
