// SPDX-License-Identifier: MIT
//
// CSV as RFC 4180 has it: lines end in CR LF, the first one has the columns' names. Null is nothing
// between two commas, an empty text is "". Files get their names when all of them are whole, that of
// traces last; a folder that holds another trace's export is left alone.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "analyze/export/target.h"

#define BUFFER_BYTES (1u << 20)
#define NUMBER_BYTES 24u
#define ROW_BYTES ((NUMBER_BYTES + 1) * SCHEMA_COLUMNS_MOST + 2) // of numbers alone

struct file {
	int fd; // -1: not open
	char *buffer;
	size_t used;
	ZSTD_CCtx *packer; // NULL: as it is
	bool begun;
};

struct csv {
	int folder; // -1: stdout
	struct file files[SCHEMA_TABLES];
	char *packed;
	size_t packed_bytes;
};

static const char *suffix(const struct target *t)
{
	return t->settings->compress ? ".csv.zst" : ".csv";
}

static int write_all(struct target *t, int fd, const char *at, size_t n)
{
	while (n) {
		ssize_t k = write(fd, at, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return target_fail(t, -errno, "%s", strerror(errno));
		at += k;
		n -= (size_t)k;
	}
	return 0;
}

static int flush(struct target *t, struct file *f, bool last)
{
	struct csv *c = t->mine;
	ZSTD_inBuffer in = {f->buffer, f->used, 0};
	size_t left = 1;
	int r = 0;
	if (!f->packer) {
		r = write_all(t, f->fd, f->buffer, f->used);
		f->used = 0;
		return r;
	}
	while (!r && (in.pos < in.size || (last && left))) {
		ZSTD_outBuffer out = {c->packed, c->packed_bytes, 0};
		left = ZSTD_compressStream2(f->packer, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
		if (ZSTD_isError(left))
			return target_fail(t, -EIO, "zstd: %s", ZSTD_getErrorName(left));
		r = write_all(t, f->fd, c->packed, out.pos);
	}
	f->used = 0;
	return r;
}

// Room for `bytes` more; NULL: *r.
static inline char *room(struct target *t, struct file *f, size_t bytes, int *r)
{
	if (f->used + bytes > BUFFER_BYTES && (*r = flush(t, f, false)))
		return NULL;
	return f->buffer + f->used;
}

static unsigned digits_of(uint64_t v)
{
	unsigned n = 1;
	for (; v >= 10000; v /= 10000)
		n += 4;
	return n + (v >= 10) + (v >= 100) + (v >= 1000);
}

// Two digits at a time, from the last one. Room for NUMBER_BYTES.
static char *format_number(char *to, int64_t v)
{
	static const char pairs[] =
		"00010203040506070809101112131415161718192021222324252627282930313233343536373839"
		"40414243444546474849505152535455565758596061626364656667686970717273747576777879"
		"8081828384858687888990919293949596979899";
	uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
	if (v < 0)
		*to++ = '-';
	char *end = to + digits_of(u), *p = end;
	for (; u >= 100; u /= 100)
		memcpy(p -= 2, pairs + u % 100 * 2, 2);
	if (u >= 10)
		memcpy(p - 2, pairs + u * 2, 2);
	else
		p[-1] = (char)('0' + u);
	return end;
}

// What must stand between quotes: those that part fields and lines, quotes, an empty text, and blanks at an
// end.
static bool plain(const char *s, size_t n)
{
	if (!n || s[0] == ' ' || s[n - 1] == ' ')
		return false;
	for (size_t i = 0; i < n; i++)
		if (s[i] == ',' || s[i] == '"' || s[i] == '\n' || s[i] == '\r')
			return false;
	return true;
}

static int put_text(struct target *t, struct file *f, const char *s, size_t n)
{
	bool quoted = !plain(s, n);
	int r = 0;
	for (size_t i = 0, piece; i < n || quoted; i += piece) {
		piece = n - i < BUFFER_BYTES / 4 ? n - i : BUFFER_BYTES / 4;
		char *at = room(t, f, 2 * piece + 2, &r), *p = at;
		if (!at)
			return r;
		if (quoted && !i)
			*p++ = '"';
		for (size_t k = i; k < i + piece; k++) {
			if (s[k] == '"')
				*p++ = '"';
			*p++ = s[k];
		}
		if (quoted && i + piece == n)
			*p++ = '"';
		f->used += (size_t)(p - at);
		if (i + piece == n)
			break;
	}
	return 0;
}

// ------------------------------------------------------------------- the target

static int fail_folder(struct target *t, const char *path)
{
	return target_fail(t, -errno, "%s: %s", path, strerror(errno));
}

// Whose export lies there already? 0: nobody's, or this run's.
static int check_folder(struct target *t, const char *path)
{
	struct csv *c = t->mine;
	char line[8192] = "";
	int fd = openat(c->folder, "traces.csv", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 && errno == ENOENT) {
		fd = openat(c->folder, "traces.csv.zst", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			return 0;
		close(fd);
		return target_fail(t, -EEXIST, "%s holds an export already; give it another folder", path);
	}
	ssize_t n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);
	if (fd >= 0)
		close(fd);
	return n > 0 && strstr(line, t->uuid) ?
		       0 :
		       target_fail(t, -EEXIST,
				   "%s holds the export of another trace; give this one another folder",
				   path);
}

static int csv_open(struct target *t)
{
	const char *path = t->settings->where + (strcmp(t->settings->where, "-") ? strlen("csv:") : 0);
	struct csv *c = calloc(1, sizeof(*c));
	if (!(t->mine = c))
		return -ENOMEM;
	c->folder = -1;
	for (unsigned i = 0; i < SCHEMA_TABLES; i++)
		c->files[i].fd = -1;
	c->packed_bytes = ZSTD_CStreamOutSize();
	if (!(c->packed = malloc(c->packed_bytes)))
		return -ENOMEM;
	if (!strcmp(path, "-"))
		return 0;
	if (mkdir(path, 0777) && errno != EEXIST)
		return fail_folder(t, path);
	c->folder = open(path, O_DIRECTORY | O_CLOEXEC);
	return c->folder < 0 ? fail_folder(t, path) : check_folder(t, path);
}

// A file is written anew each time, so there is nothing to find.
static int csv_find(struct target *t, struct target_found *out)
{
	*out = (struct target_found){0};
	return 0;
}

static int csv_has_id(struct target *t, int64_t id)
{
	return 0;
}

static int csv_begin(struct target *t, const struct target_found *old)
{
	return 0;
}

static void temporary(const struct target *t, const struct schema_table *table, char *out, size_t bytes)
{
	snprintf(out, bytes, ".%s%s.new", table->name, suffix(t));
}

static int begin_file(struct target *t, const struct schema_table *table, struct file *f)
{
	struct csv *c = t->mine;
	char name[80];
	int r = 0;
	f->buffer = malloc(BUFFER_BYTES);
	if (!f->buffer || (t->settings->compress && !(f->packer = ZSTD_createCCtx())))
		return -ENOMEM;
	temporary(t, table, name, sizeof(name));
	if (c->folder >= 0) {
		unlinkat(c->folder, name, 0);
		f->fd = openat(c->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	} else {
		f->fd = 1;
	}
	if (f->fd < 0)
		return fail_folder(t, name);
	f->begun = true;
	for (unsigned i = 0; !r && i < table->n; i++) {
		size_t n = strlen(table->columns[i].name);
		char *at = room(t, f, n + 2, &r);
		if (!at)
			return r;
		memcpy(at, table->columns[i].name, n);
		f->used += n;
		memcpy(at + n, i + 1 < table->n ? "," : "\r\n", i + 1 < table->n ? 1 : 2);
		f->used += i + 1 < table->n ? 1 : 2;
	}
	return r;
}

// Of stdout: the one table that was asked for.
static bool writes(const struct target *t, const struct schema_table *table)
{
	const struct csv *c = t->mine;
	return c->folder >= 0 || !strcmp(t->settings->table, table->name);
}

static int csv_table(struct target *t, const struct schema_table *table)
{
	struct csv *c = t->mine;
	return writes(t, table) ? begin_file(t, table, &c->files[table->id]) : 0;
}

static int csv_row(struct target *t, const struct row *row)
{
	struct csv *c = t->mine;
	struct file *f = &c->files[row->table->id];
	int r = 0;
	if (f->fd < 0)
		return 0;
	char *at = room(t, f, ROW_BYTES, &r);
	if (!at)
		return r;
	for (unsigned i = 0; i < row->n; i++) {
		const struct row_value *v = &row->values[i];
		if (i)
			*at++ = ',';
		if (v->null)
			continue;
		if (!v->text) {
			at = format_number(at, v->number);
			continue;
		}
		f->used = (size_t)(at - f->buffer);
		if ((r = put_text(t, f, v->text, v->bytes)) || !(at = room(t, f, ROW_BYTES, &r)))
			return r;
	}
	memcpy(at, "\r\n", 2);
	f->used = (size_t)(at + 2 - f->buffer);
	return 0;
}

static int csv_end(struct target *t, const struct schema_table *table)
{
	struct csv *c = t->mine;
	struct file *f = &c->files[table->id];
	if (f->fd < 0)
		return 0;
	int r = flush(t, f, true);
	free(f->buffer);
	f->buffer = NULL;
	ZSTD_freeCCtx(f->packer);
	f->packer = NULL;
	if (f->fd != 1 && close(f->fd) && !r)
		r = fail_folder(t, table->name);
	f->fd = -1;
	return r;
}

static int csv_commit(struct target *t)
{
	struct csv *c = t->mine;
	char name[80], temp[80];
	for (unsigned i = 0; c->folder >= 0 && i < SCHEMA_TABLES; i++) {
		if (!c->files[i].begun)
			continue;
		temporary(t, &schema_tables[i], temp, sizeof(temp));
		snprintf(name, sizeof(name), "%s%s", schema_tables[i].name, suffix(t));
		if (renameat(c->folder, temp, c->folder, name))
			return fail_folder(t, name);
		c->files[i].begun = false;
	}
	return 0;
}

static void csv_close(struct target *t)
{
	struct csv *c = t->mine;
	char temp[80];
	for (unsigned i = 0; c && i < SCHEMA_TABLES; i++) {
		if (c->files[i].fd > 1)
			close(c->files[i].fd);
		free(c->files[i].buffer);
		ZSTD_freeCCtx(c->files[i].packer);
		temporary(t, &schema_tables[i], temp, sizeof(temp));
		if (c->files[i].begun && c->folder >= 0)
			unlinkat(c->folder, temp, 0);
	}
	if (c && c->folder >= 0)
		close(c->folder);
	if (c)
		free(c->packed);
	free(c);
	t->mine = NULL;
}

const struct target_ops target_csv_ops = {
	.at_once = true,
	.open = csv_open,
	.find = csv_find,
	.has_id = csv_has_id,
	.begin = csv_begin,
	.table = csv_table,
	.row = csv_row,
	.end = csv_end,
	.commit = csv_commit,
	.close = csv_close,
};
