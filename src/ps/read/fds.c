// SPDX-License-Identifier: MIT
//
// What a descriptor is: its kind from the region's table, its name from /proc. The link there
// gives the path or the socket's inode; the network's tables, read at the first socket, give
// the addresses. A name is reported only if the descriptor had the same generation before and
// after the link was read.
#include "ps/read/fds.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "base/living.h"
#include "ctp/words.h"
#include "ps/read/sockets.h"

enum { ROWS_AT_ONCE = 256 };

struct fds {
	const struct found *found;
	int32_t *numbers; // in order, each once
	struct ctp_fd *rows;
	size_t nrows, capacity_rows;
	bool ends_read;
	struct sockets sockets;
	struct idmap by_ends; // a connection's number, by hash_ends
};

int fds_new(struct fds **out, const struct found *f)
{
	struct fds *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->found = f;
	*out = s;
	return 0;
}

void fds_free(struct fds *f)
{
	if (!f)
		return;
	free(f->numbers);
	free(f->rows);
	sockets_deinit(&f->sockets);
	idmap_deinit(&f->by_ends);
	free(f);
}

static const struct sockets_one *socket_of(struct fds *f, uint64_t ino)
{
	char folder[32];
	snprintf(folder, sizeof(folder), "/proc/%d", (int)living_of(f->found->pid));
	return sockets_find(&f->sockets, folder, ino);
}

static void socket_name(struct fds *f, uint64_t ino, bool accepted, struct fds_one *out)
{
	const struct sockets_one *s = socket_of(f, ino);
	if (s)
		sockets_name(s, accepted, out->name, sizeof(out->name));
}

static bool read_row(const struct fds *f, int32_t fd, struct ctp_fd *row)
{
	const struct ctp_ext *x = &f->found->header.ext;
	return fd >= 0 && (uint64_t)fd < x->fds_max &&
	       source_read_record(&f->found->region, x->fds_off + (uint64_t)fd * sizeof(*row), row,
				  sizeof(*row)) >= 0;
}

// ----------------------------------------------------------------- the rows

static int wish(struct fds *f, int32_t fd)
{
	if (fd < 0 || (uint64_t)fd >= f->found->header.ext.fds_max)
		return 0;
	int e = GROW(f->numbers, f->nrows, f->capacity_rows);
	if (!e)
		f->numbers[f->nrows++] = fd;
	return e;
}

// In a core: all of which the table tells.
static int wish_used(struct fds *f)
{
	const struct ctp_ext *x = &f->found->header.ext;
	struct ctp_fd rows[64];
	uint64_t n = x->fd_high < x->fds_max ? x->fd_high + 1 : x->fds_max;
	int e = 0;
	for (uint64_t at = 0; !e && at < n; at += 64) {
		uint64_t some = n - at < 64 ? n - at : 64;
		e = source_read(&f->found->region, x->fds_off + at * sizeof(*rows), rows,
				some * sizeof(*rows));
		for (uint64_t i = 0; !e && i < some; i++)
			if (rows[i].gen)
				e = wish(f, (int32_t)(at + i));
	}
	return e;
}

static int wish_open(struct fds *f)
{
	char path[40];
	int e = 0;
	if (f->found->core)
		return wish_used(f);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)living_of(f->found->pid));
	DIR *d = opendir(path);
	for (struct dirent *x; !e && d && (x = readdir(d));)
		if (isdigit((unsigned char)*x->d_name))
			e = wish(f, atoi(x->d_name));
	if (d)
		closedir(d);
	return e;
}

static int by_number(const void *a, const void *b)
{
	const int32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

// A piece of them: what is the same in two copies counts, the rest is read again one by one.
static int copy_rows(struct fds *f, size_t at, size_t n, struct ctp_fd *again)
{
	const struct source *from = &f->found->region;
	uint64_t offs[ROWS_AT_ONCE];
	for (size_t i = 0; i < n; i++)
		offs[i] = f->found->header.ext.fds_off + (uint64_t)f->numbers[at + i] * sizeof(*again);
	int e = source_read_many(from, offs, n, f->rows + at, sizeof(*again));
	if (!e)
		e = source_read_many(from, offs, n, again, sizeof(*again));
	for (size_t i = 0; !e && i < n; i++) {
		struct ctp_fd *row = &f->rows[at + i];
		if ((row->seq & 1) || memcmp(row, &again[i], sizeof(*row)))
			e = source_read_record(from, offs[i], row, sizeof(*row));
		e = e == SOURCE_UNSETTLED ? 0 : e;
	}
	return e;
}

int fds_read(struct fds *f, const struct coroutine *all, size_t n, bool every)
{
	int e = every ? wish_open(f) : 0;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; !e && k < all[i].nwaits; k++)
			e = wish(f, all[i].waits[k].fd);
	if (e || !f->nrows)
		return e;
	qsort(f->numbers, f->nrows, sizeof(*f->numbers), by_number);
	size_t kept = 1;
	for (size_t i = 1; i < f->nrows; i++)
		if (f->numbers[i] != f->numbers[kept - 1])
			f->numbers[kept++] = f->numbers[i];
	f->nrows = kept;
	struct ctp_fd *again = malloc(ROWS_AT_ONCE * sizeof(*again));
	f->rows = calloc(f->nrows, sizeof(*f->rows));
	e = again && f->rows ? 0 : -ENOMEM;
	for (size_t at = 0; !e && at < f->nrows; at += ROWS_AT_ONCE)
		e = copy_rows(f, at, f->nrows - at < ROWS_AT_ONCE ? f->nrows - at : ROWS_AT_ONCE, again);
	free(again);
	return e;
}

const struct ctp_fd *fds_row(const struct fds *f, int32_t fd)
{
	const int32_t *at = f->rows ? bsearch(&fd, f->numbers, f->nrows, sizeof(fd), by_number) : NULL;
	return at ? &f->rows[at - f->numbers] : NULL;
}

const struct ctp_fd *fds_at(const struct fds *f, size_t i, int32_t *fd)
{
	if (!f->rows || i >= f->nrows)
		return NULL;
	*fd = f->numbers[i];
	return &f->rows[i];
}

// ------------------------------------------------------------------- one of them

static int is_open(const struct ctp_fd *row, uint32_t gen, const char **kind)
{
	bool open = row->gen == gen && row->life == CTP_FD_OPEN;
	*kind = open ? words_kind(row->kind) : NULL;
	return open;
}

static int open_now(const struct fds *f, int32_t fd, uint32_t gen, const char **kind)
{
	struct ctp_fd row;
	*kind = NULL;
	return read_row(f, fd, &row) ? is_open(&row, gen, kind) : -1;
}

int fds_open(const struct fds *f, int32_t fd, uint32_t gen, const char **kind)
{
	const struct ctp_fd *row = fds_row(f, fd);
	return row ? is_open(row, gen, kind) : open_now(f, fd, gen, kind);
}

// Where /proc says that it leads to; the number of a socket, or 0.
static uint64_t read_link(const struct fds *f, int32_t fd, char *link, size_t bytes)
{
	char path[48];
	uint64_t ino = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)living_of(f->found->pid), fd);
	ssize_t n = readlink(path, link, bytes - 1);
	link[n > 0 ? n : 0] = 0;
	return sscanf(link, "socket:[%" SCNu64, &ino) == 1 ? ino : 0;
}

static void find_name(struct fds *f, int32_t fd, struct fds_one *out)
{
	char link[sizeof(out->name)];
	const struct ctp_fd *row = fds_row(f, fd);
	struct ctp_fd now;
	uint64_t ino = read_link(f, fd, link, sizeof(link));
	if (ino)
		socket_name(f, ino,
			    (row || (read_row(f, fd, &now) && (row = &now))) &&
				    row->opened_how == CTP_CALL_ACCEPT,
			    out);
	else if (strncmp(link, "anon_inode:", 11))
		snprintf(out->name, sizeof(out->name), "%s", link);
	find_clean(out->name);
}

void fds_describe(struct fds *f, int32_t fd, uint32_t gen, struct fds_one *out)
{
	const char *kind;
	*out = (struct fds_one){.kind = NULL};
	out->open = fds_open(f, fd, gen, &out->kind);
	if (f->found->core) // its names were /proc's
		return;
	if (out->open == 1)
		find_name(f, fd, out);
	if (out->open == 1 && open_now(f, fd, gen, &kind) != 1)
		*out = (struct fds_one){.open = 0};
}

// ----------------------------------------------------------------- its other end

// A hash of where a connection is from and to: of its other end, the two change places.
static uint64_t hash_ends(const char *from, const char *to)
{
	uint64_t h = 0xcbf29ce484222325ULL;
	for (const char *p = from; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ULL;
	h = (h ^ '>') * 0x100000001b3ULL;
	for (const char *p = to; *p; p++)
		h = (h ^ (unsigned char)*p) * 0x100000001b3ULL;
	return h;
}

static const struct sockets_one *sock_of(struct fds *f, int32_t fd)
{
	char link[64];
	uint64_t ino = read_link(f, fd, link, sizeof(link));
	const struct sockets_one *s = ino ? socket_of(f, ino) : NULL;
	return s && *s->local && *s->peer ? s : NULL;
}

static void read_ends(struct fds *f)
{
	const struct sockets_one *s;
	f->ends_read = true;
	for (size_t i = 0; i < f->nrows; i++)
		if (f->rows[i].kind == CTP_FD_TCP && f->rows[i].life == CTP_FD_OPEN &&
		    (s = sock_of(f, f->numbers[i])))
			idmap_set(&f->by_ends, hash_ends(s->local, s->peer), (uint32_t)f->numbers[i]);
}

int32_t fds_partner(struct fds *f, int32_t fd)
{
	if (f->found->core)
		return -1;
	if (!f->ends_read)
		read_ends(f);
	const struct sockets_one *s = sock_of(f, fd), *other;
	uint32_t at = s ? idmap_get(&f->by_ends, hash_ends(s->peer, s->local)) : IDMAP_NONE;
	other = at == IDMAP_NONE ? NULL : sock_of(f, (int32_t)at);
	return other && !strcmp(other->local, s->peer) && !strcmp(other->peer, s->local) ? (int32_t)at : -1;
}
