// SPDX-License-Identifier: MIT
//
// Tables are copied row by row: only rows in use, each behind its index. A row whose sequence
// stays odd, since its writer was killed, is copied as it is. Counts come from the program and
// are bounded by ctp-run's own layout.
#include "engine/record/tables.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "ctp/seq.h"
#include "ctp/tables.h"
#include "ctp/there.h"
#include "engine/target/thread_names.h"

struct table_header {
	char magic[8];
	uint32_t version, record_bytes;
	uint64_t count;
	uint32_t indexed, reserved;
	uint64_t time;
	uint8_t reserved2[24];
};
_Static_assert(sizeof(struct table_header) == 64, "table header");

enum { BUFFER = 1 << 20 };

// One copy of all of them.
struct dump {
	unsigned char *buffer;
	uint64_t ticks, late_ns, bytes;
	const struct open_stacks *open_stacks;
};

// A file that grows by whole buffers: of a million rows, the copying is what takes time.
struct table {
	int fd, error;
	uint64_t late_ns;
	struct table_header h;
	unsigned char *buffer;
	size_t used;
	uint64_t *bytes; // written, of all tables
	const struct open_stacks *open_stacks;
};

static void put_out(struct table *t)
{
	if (!t->error && t->used == BUFFER && clock_mono_ns() > t->late_ns)
		t->error = -ETIME;
	for (size_t done = 0; !t->error && done < t->used;) {
		ssize_t n = write(t->fd, t->buffer + done, t->used - done);
		if (n < 0 && errno != EINTR)
			t->error = -errno;
		done += n > 0 ? (size_t)n : 0;
		*t->bytes += n > 0 ? (size_t)n : 0;
	}
	t->used = 0;
}

static void append(struct table *t, const void *bytes, size_t n)
{
	for (size_t done = 0; done < n;) {
		size_t some = n - done < BUFFER - t->used ? n - done : BUFFER - t->used;
		memcpy(t->buffer + t->used, (const unsigned char *)bytes + done, some);
		done += some;
		if ((t->used += some) == BUFFER)
			put_out(t);
	}
}

// So many zeros, which take no room on the disk.
static void leave_out(struct table *t, uint64_t n)
{
	if (!n)
		return;
	put_out(t);
	if (!t->error && lseek(t->fd, (off_t)n, SEEK_CUR) < 0)
		t->error = -errno;
}

static int table_begin(struct table *t, int dir, const struct ctp_table_shape *shape, struct dump *d)
{
	*t = (struct table){.buffer = d->buffer,
			    .late_ns = d->late_ns,
			    .bytes = &d->bytes,
			    .open_stacks = d->open_stacks};
	t->fd = openat(dir, shape->name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (t->fd < 0)
		return -errno;
	t->h = (struct table_header){.magic = "CTPTAB1",
				     .version = 1,
				     .indexed = shape->indexed,
				     .time = d->ticks,
				     .record_bytes = (uint32_t)(shape->bytes + (shape->indexed ? 8 : 0))};
	append(t, &t->h, sizeof(t->h));
	return 0;
}

// The header is written anew: only now is the count known.
static int table_end(struct table *t)
{
	put_out(t);
	if (!t->error && pwrite(t->fd, &t->h, sizeof(t->h), 0) != sizeof(t->h))
		t->error = errno ? -errno : -EIO;
	if (close(t->fd) && !t->error)
		t->error = -errno;
	return t->error;
}

static void put(void *to, uint64_t index, const void *row)
{
	struct table *t = to;
	if (t->h.indexed)
		append(t, &index, sizeof(index));
	append(t, row, t->h.record_bytes - (t->h.indexed ? 8 : 0));
	t->h.count++;
}

static void put_station(void *to, uint64_t index, const void *row)
{
	const struct table *t = to;
	const struct open_stack *open = open_stacks_of(t->open_stacks, row);
	struct ctp_state s;
	if (!open) {
		put(to, index, row);
		return;
	}
	memcpy(&s, row, sizeof(s));
	s.lo = open->lo;
	put(to, index, &s);
}

static int dump_rows(int dir, enum ctp_table table, const struct ctp_region *r,
		     const struct ctp_thread *ended, struct dump *d)
{
	struct table t;
	int e = table_begin(&t, dir, &ctp_table_shapes[table], d);
	if (e < 0)
		return e;
	ctp_table_rows(r, table, table == CTP_TABLE_STATIONS && d->open_stacks ? put_station : put, &t);
	if (table == CTP_TABLE_THREADS)
		put(&t, UINT32_MAX, ended);
	return table_end(&t);
}

static int dump_whole(int dir, enum ctp_table table, const struct ctp_region *r, struct dump *d)
{
	uint64_t n;
	const void *rows = ctp_table_whole(r, table, &n);
	struct table t;
	int e = table_begin(&t, dir, &ctp_table_shapes[table], d);
	if (e < 0)
		return e;
	size_t bytes = ctp_table_shapes[table].bytes;
	struct ctp_walk w = ctp_walk(r, rows, bytes, n);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, w.upto)) {
		leave_out(&t, (i - t.h.count) * bytes);
		append(&t, (const unsigned char *)rows + i * bytes, (w.upto - i) * bytes);
		t.h.count = w.upto;
	}
	return table_end(&t);
}

// The layout that the region says to have is the program's to write; it has ours.
static int dump_ext(int dir, const struct ctp_region *r, struct dump *d)
{
	struct ctp_ext own = *r->ext;
	struct table t;
	int e = table_begin(&t, dir, &ctp_table_shapes[CTP_TABLE_EXT], d);
	if (e < 0)
		return e;
	own.magic = CTP_EXT_MAGIC;
	own.version = CTP_EXT_VERSION;
	own.bytes = sizeof(own);
	put(&t, 0, &own);
	return table_end(&t);
}

static int dump_one(int dir, unsigned i, const struct ctp_region *r, const struct ctp_thread *ended,
		    struct dump *d, const struct tables_copy *copy)
{
	int e = i < CTP_TABLES_BY_ROW ? dump_rows(dir, i, r, ended, d) :
		i == CTP_TABLE_EXT    ? dump_ext(dir, r, d) :
					dump_whole(dir, i, r, d);
	if (copy->meanwhile)
		copy->meanwhile(copy->arg);
	return e;
}

int tables_dump(int dir, const struct ctp_region *r, pid_t pid, const struct ctp_thread *ended,
		struct tables_copy *copy)
{
	struct dump d = {.buffer = malloc(BUFFER),
			 .ticks = copy->ticks,
			 .late_ns = copy->late_ns,
			 .open_stacks = copy->open_stacks};
	if (!d.buffer)
		return -ENOMEM;
	thread_names_note_all(r, pid);
	int e = dump_one(dir, CTP_TABLE_THREADS, r, ended, &d,
			 copy); // first: the others may know more, not less
	for (unsigned i = 0; !e && i < CTP_TABLES; i++)
		if (i != CTP_TABLE_THREADS &&
		    (i != CTP_TABLE_SWITCH_FUNCTIONS || ctp_load32(&r->ext->functions)))
			e = dump_one(dir, i, r, ended, &d, copy);
	free(d.buffer);
	copy->bytes = d.bytes;
	return e;
}
