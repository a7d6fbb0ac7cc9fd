// SPDX-License-Identifier: MIT
//
// The tables are copied row by row: only rows in use, each behind its index.
// A row that is being written (its sequence is odd for good: the writer was
// killed) is copied as it is. Counts come from the program and are bounded
// by ctp-run's own idea of the layout.
#include "engine/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ctp/tables.h"

struct table_header {
	char magic[8];
	uint32_t version, record_bytes;
	uint64_t count;
	uint32_t indexed, reserved;
	uint64_t time;
	uint8_t reserved2[24];
};
_Static_assert(sizeof(struct table_header) == 64, "table header");

struct table {
	FILE *f;
	struct table_header h;
};

static int table_begin(struct table *t, int dir, const char *name, size_t bytes, bool indexed, uint64_t time)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	t->f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!t->f) {
		int e = errno;
		if (fd >= 0)
			close(fd);
		return -e;
	}
	t->h = (struct table_header){ .magic = "CTPTAB1", .version = 1, .indexed = indexed, .time = time,
				      .record_bytes = (uint32_t)(bytes + (indexed ? 8 : 0)) };
	fwrite(&t->h, sizeof(t->h), 1, t->f);
	return 0;
}

static void table_row(struct table *t, uint64_t index, const void *row, size_t bytes)
{
	if (t->h.indexed)
		fwrite(&index, sizeof(index), 1, t->f);
	fwrite(row, bytes, 1, t->f);
	t->h.count++;
}

static int table_end(struct table *t)
{
	bool bad = fseek(t->f, 0, SEEK_SET) || fwrite(&t->h, sizeof(t->h), 1, t->f) != 1 || ferror(t->f);
	int e = errno;
	if (fclose(t->f) || bad)
		return e ? -e : -EIO;
	return 0;
}

static void put(void *to, uint64_t index, const void *row)
{
	struct table *t = to;
	table_row(t, index, row, t->h.record_bytes - (t->h.indexed ? 8 : 0));
}

static int dump_rows(int dir, enum ctp_table table, const struct ctp_region *r, const struct ctp_thread *ended,
		     uint64_t ticks)
{
	const struct ctp_table_shape *shape = &ctp_table_shapes[table];
	struct table t;
	int e = table_begin(&t, dir, shape->name, shape->bytes, shape->indexed, ticks);
	if (e < 0)
		return e;
	ctp_table_rows(r, table, put, &t);
	if (table == CTP_TABLE_THREADS)
		put(&t, UINT32_MAX, ended);
	return table_end(&t);
}

static int dump_whole(int dir, enum ctp_table table, const struct ctp_region *r, uint64_t ticks)
{
	const struct ctp_table_shape *shape = &ctp_table_shapes[table];
	uint64_t n;
	const void *rows = ctp_table_whole(r, table, &n);
	struct table t;
	int e = table_begin(&t, dir, shape->name, shape->bytes, shape->indexed, ticks);
	if (e < 0)
		return e;
	fwrite(rows, shape->bytes, n, t.f);
	t.h.count = n;
	return table_end(&t);
}

int tables_dump(int dir, const struct ctp_region *r, const struct ctp_thread *ended, uint64_t ticks)
{
	int e = dump_rows(dir, CTP_TABLE_THREADS, r, ended, ticks); // first: the others may know more, not less
	for (unsigned i = 0; !e && i < CTP_TABLES_BY_ROW; i++)
		if (i != CTP_TABLE_THREADS)
			e = dump_rows(dir, i, r, ended, ticks);
	for (unsigned i = CTP_TABLES_BY_ROW; !e && i < CTP_TABLES; i++)
		e = dump_whole(dir, i, r, ticks);
	return e;
}
