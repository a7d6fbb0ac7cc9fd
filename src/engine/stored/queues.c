// SPDX-License-Identifier: MIT
//
// Pipes are opened anew through /proc and copied with tee(2), which removes nothing and
// holds none of the process's own files. The number of an eventfd is in its fdinfo, as is
// the offset of a file. Memory files and unlinked files are read. Files that have a name
// are outside the process and are not searched.
#include "engine/stored/queues.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/living.h"

enum { PIECE = 1 << 20 };

static bool __attribute__((format(printf, 2, 3))) fail(struct queues *q, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(q->why, sizeof(q->why), format, ap);
	va_end(ap);
	return false;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

// The pipe with this key, as it is known so far; NULL: out of memory.
static struct queues_pipe *find_pipe(struct queues *q, uint64_t key)
{
	for (size_t i = 0; i < q->npipes; i++)
		if (q->pipes[i].key == key)
			return &q->pipes[i];
	struct queues_pipe *more = realloc(q->pipes, (q->npipes + 1) * sizeof(*more));
	if (!more)
		return NULL;
	q->pipes = more;
	more[q->npipes] = (struct queues_pipe){.key = key};
	return &more[q->npipes++];
}

static bool add_socket(struct queues *q, uint64_t ino, int fd)
{
	struct queues_socket *more = realloc(q->sockets, (q->nsockets + 1) * sizeof(*more));
	if (!more)
		return false;
	q->sockets = more;
	more[q->nsockets++] = (struct queues_socket){.ino = ino, .fd = fd};
	return true;
}

struct queues_socket *queues_own(const struct queues *q, uint64_t ino)
{
	struct queues_socket key = {.ino = ino};
	return ino && q->nsockets ? bsearch(&key, q->sockets, q->nsockets, sizeof(key), by_value) : NULL;
}

// All of `from`, which is a pipe of the process's, by way of a pipe of our own.
static bool copy_pipe(struct queues *q, int from, int number)
{
	int own[2], want = 0;
	char where[40];
	if (ioctl(from, FIONREAD, &want))
		return fail(q, "pipe fd %d cannot be looked into", number);
	if (!want)
		return true;
	if (pipe2(own, O_CLOEXEC | O_NONBLOCK))
		return fail(q, "no descriptor to look into pipe fd %d", number);
	fcntl(own[1], F_SETPIPE_SZ, fcntl(from, F_GETPIPE_SZ));
	ssize_t got = tee(from, own[1], (size_t)want, SPLICE_F_NONBLOCK);
	unsigned char *bytes = malloc((size_t)want);
	ssize_t n = bytes && got == want ? read(own[0], bytes, (size_t)want) : -1;
	close(own[0]);
	close(own[1]);
	snprintf(where, sizeof(where), "a word in the pipe of fd %d", number);
	if (n == want)
		q->bytes(q->ctx, where, bytes, (size_t)n);
	free(bytes);
	return n == want || fail(q, "pipe fd %d cannot be looked into", number);
}

static bool one_pipe(struct queues *q, const char *path, int number, uint64_t key)
{
	struct stat st;
	if (lstat(path, &st))
		return true; // closed meanwhile
	struct queues_pipe *p = find_pipe(q, key);
	if (!p)
		return fail(q, "out of memory");
	p->fd = number;
	p->ends |= (st.st_mode & S_IRUSR ? QUEUES_READS : 0) | (st.st_mode & S_IWUSR ? QUEUES_WRITES : 0);
	if (p->read || !(st.st_mode & S_IRUSR))
		return true; // or nobody can read it through this number
	p->read = true;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(q, "pipe fd %d cannot be looked into", number);
	bool ok = copy_pipe(q, fd, number);
	close(fd);
	return ok;
}

static void one_eventfd(struct queues *q, int number)
{
	char name[40], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", number);
	if (proc_slurp(q->l->pid, name, &text, NULL))
		return; // closed meanwhile: then something ran, and the search does not count
	uint64_t count = proc_field(text, "eventfd-count:", 16);
	free(text);
	snprintf(name, sizeof(name), "the count of eventfd %d", number);
	q->bytes(q->ctx, name, (const unsigned char *)&count, sizeof(count));
}

// Where there may be bytes from `at` on: a file may be far larger than what was written to it. Zeros on
// either side belong to a word that ends, or begins, in a hole.
static struct span next_bytes(int fd, off_t at, off_t size)
{
	enum { BESIDE = sizeof(uint64_t) };
	off_t lo = lseek(fd, at, SEEK_DATA), hi;
	if (lo < 0)
		lo = errno == ENXIO ? size : at; // nothing more; or the file system does not tell
	hi = lseek(fd, lo, SEEK_HOLE);
	hi = hi > lo && size - hi > BESIDE ? hi + BESIDE : size;
	lo = lo - at > BESIDE ? lo - BESIDE : at;
	return (struct span){(uint64_t)lo, (uint64_t)(hi - lo < PIECE ? hi : lo + PIECE)};
}

static bool one_file(struct queues *q, const char *path, int number)
{
	struct stat st;
	char where[40];
	snprintf(where, sizeof(where), "a word in the unlinked file fd %d", number);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	unsigned char *bytes = malloc(PIECE);
	bool ok = fd >= 0 && bytes && !fstat(fd, &st);
	for (off_t at = 0; ok && S_ISREG(st.st_mode) && at < st.st_size;) {
		struct span s = next_bytes(fd, at, st.st_size);
		ssize_t n = pread(fd, bytes, s.hi - s.lo, (off_t)s.lo);
		if (n <= 0)
			break;
		q->bytes(q->ctx, where, bytes, (size_t)n);
		at = (off_t)s.lo + (n < PIECE ? n : n - 7);
		ok = !signals_late(q->l->deadline_ns);
	}
	if (fd >= 0)
		close(fd);
	free(bytes);
	return ok || fail(q, "unlinked file fd %d could not be read", number);
}

// How far it was read or written is a number that the program can set and ask for, as others are.
static bool numbers_of(struct queues *q, int number, const struct stat *st)
{
	char name[40], *text;
	snprintf(name, sizeof(name), "fdinfo/%d", number);
	if (proc_slurp(q->l->pid, name, &text, NULL))
		return true; // closed meanwhile
	uint64_t at = proc_field(text, "pos:", 10);
	snprintf(name, sizeof(name), "the offset of fd %d", number);
	q->bytes(q->ctx, name, (const unsigned char *)&at, sizeof(at));
	bool ok = queues_file(q, number, st, text);
	free(text);
	return ok;
}

// Something that has, or had, a name.
static bool one_named(struct queues *q, const char *path, int number, bool gone)
{
	struct stat st;
	if (stat(path, &st))
		return true; // closed meanwhile
	if (S_ISFIFO(st.st_mode))
		return one_pipe(q, path, number, st.st_ino ^ (uint64_t)st.st_dev << 40);
	if (!queues_special(q, path, number, &st) || !queues_attributes(q, path, number, &st))
		return false;
	if (S_ISREG(st.st_mode) && !numbers_of(q, number, &st))
		return false;
	return !gone || !S_ISREG(st.st_mode) || one_file(q, path, number);
}

static bool unlinked(const char *link)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(link);
	return *link == '/' && n > sizeof(gone) && !strcmp(link + n - (sizeof(gone) - 1), gone);
}

static bool one(struct queues *q, int number)
{
	char path[64], link[256];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", living_of(q->l->pid), number);
	if (!proc_fd_link(q->l->pid, number, link, sizeof(link)))
		return true;
	if (!strncmp(link, "pipe:[", 6))
		return one_pipe(q, path, number, strtoull(link + 6, NULL, 10));
	if (!strcmp(link, "anon_inode:[eventfd]"))
		one_eventfd(q, number);
	else if (!strncmp(link, "anon_inode:", 11))
		return queues_kind(q, link, number);
	else if (!strncmp(link, "socket:[", 8))
		return add_socket(q, strtoull(link + 8, NULL, 10), number) || fail(q, "out of memory");
	else if (*link == '/')
		return one_named(q, path, number, unlinked(link));
	return true;
}

bool queues_read(struct queues *q)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/fd", living_of(q->l->pid));
	DIR *d = opendir(path);
	bool ok = d || fail(q, "its descriptors cannot be seen");
	for (struct dirent *e; ok && (e = readdir(d));) {
		if (!isdigit((unsigned char)*e->d_name))
			continue;
		ok = one(q, atoi(e->d_name));
		if (ok && signals_late(q->l->deadline_ns))
			ok = fail(q, "no time to look into its pipes and sockets");
	}
	if (d)
		closedir(d);
	if (ok && q->nsockets)
		qsort(q->sockets, q->nsockets, sizeof(*q->sockets), by_value);
	ok = ok && (!q->nsockets || (queues_sockets(q) && queues_options(q))) && queues_ipc(q) &&
	     queues_process(q);
	if (ok && q->text)
		queues_names(q);
	free(q->sockets);
	free(q->pipes);
	q->sockets = NULL;
	q->pipes = NULL;
	return ok;
}
