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

#include "ctp/seq.h"

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

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void put_stations(struct table *t, const struct ctp_region *r)
{
	uint64_t n = least(ctp_load32(&r->header->allocated_count), r->stations_max);
	for (uint64_t i = 0; i < n; i++) {
		struct ctp_state s;
		const struct ctp_state *state = &r->stations[i].state;
		if (ctp_load32(&state->owner) != CTP_OWNER_GUEST)
			continue;
		if (!ctp_state_read(state, &s))
			memcpy(&s, state, sizeof(s));
		table_row(t, i, &s, sizeof(s));
	}
}

static void put_threads(struct table *t, const struct ctp_region *r, const struct ctp_thread *ended)
{
	uint64_t n = least(ctp_load32(&r->ext->thread_high), r->threads_max);
	for (uint64_t i = 0; i < n; i++) {
		struct ctp_thread row = r->threads[i];
		if (row.life == CTP_THREAD_LIVE || row.life == CTP_THREAD_DEAD)
			table_row(t, i, &row, sizeof(row));
	}
	table_row(t, UINT32_MAX, ended, sizeof(*ended));
}

static void put_fds(struct table *t, const struct ctp_region *r)
{
	uint64_t n = least(ctp_load64(&r->ext->fd_high) + 1, r->fds_max);
	for (uint64_t i = 0; i < n; i++) {
		const struct ctp_fd *fd = &r->fds[i];
		struct ctp_fd row;
		if (!ctp_load32(&fd->gen))
			continue;
		for (int tries = 0; tries < 1000; tries++) {
			uint32_t seq = ctp_seq_read_begin(&fd->seq);
			row = *fd;
			if (!ctp_seq_read_retry(&fd->seq, seq))
				break;
		}
		table_row(t, i, &row, sizeof(row));
	}
}

static void put_cands(struct table *t, const struct ctp_region *r)
{
	uint64_t n = least(ctp_load32(&r->ext->cand_count), r->cands_max); // untouched memory is not to come into being
	for (uint64_t i = 0; i < n; i++)
		if (ctp_load32(&r->cands[i].ready) == CTP_CAND_READY)
			table_row(t, i, &r->cands[i], sizeof(r->cands[i]));
}

static void put_modules(struct table *t, const struct ctp_region *r)
{
	uint64_t n = least(ctp_load32(&r->ext->module_count), r->modules_max);
	for (uint64_t i = 0; i < n; i++) {
		struct ctp_module m;
		if (!ctp_load32(&r->modules[i].ready))
			continue;
		m = r->modules[i];
		m.path[sizeof(m.path) - 1] = '\0';
		table_row(t, i, &m, sizeof(m));
	}
}

static void put_incidents(struct table *t, const struct ctp_region *r)
{
	uint32_t any = 0;
	for (size_t i = 0; i < sizeof(r->ext->incidents) / sizeof(r->ext->incidents[0]); i++)
		any |= r->ext->incidents[i];
	for (uint64_t i = 0; any && i < r->incidents_max; i++)
		if (ctp_load32(&r->incidents[i].ready) == CTP_CAND_READY)
			table_row(t, i, &r->incidents[i], sizeof(r->incidents[i]));
}

static int dump_plain(int dir, const char *name, uint64_t time, const void *rows, size_t bytes, uint64_t n)
{
	struct table t;
	int r = table_begin(&t, dir, name, bytes, false, time);
	if (r < 0)
		return r;
	fwrite(rows, bytes, n, t.f);
	t.h.count = n;
	return table_end(&t);
}

int tables_dump(int dir, const struct ctp_region *r, const struct ctp_thread *ended, uint64_t ticks)
{
	static const struct {
		const char *name;
		size_t bytes;
		bool indexed;
		void (*put)(struct table *t, const struct ctp_region *r);
	} rows[] = {
		{ "stations", sizeof(struct ctp_state), true, put_stations },
		{ "fds", sizeof(struct ctp_fd), true, put_fds },
		{ "cands", sizeof(struct ctp_cand), true, put_cands },
		{ "modules", sizeof(struct ctp_module), false, put_modules },
		{ "incidents", sizeof(struct ctp_incident), true, put_incidents },
	};
	struct table t;
	int first = table_begin(&t, dir, "threads", sizeof(struct ctp_thread), true, ticks);
	if (!first) {
		put_threads(&t, r, ended);
		first = table_end(&t);
	}
	for (unsigned i = 0; !first && i < sizeof(rows) / sizeof(*rows); i++) {
		first = table_begin(&t, dir, rows[i].name, rows[i].bytes, rows[i].indexed, ticks);
		if (first)
			break;
		rows[i].put(&t, r);
		first = table_end(&t);
	}
	uint64_t stacks = least((uint64_t)ctp_load32(&r->ext->stack_count) + 1, r->stacks_max);
	uint64_t words = least(ctp_load32(&r->ext->stack_words), r->stack_words_max);
	if (!first)
		first = dump_plain(dir, "stack_index", ticks, r->stack_index, sizeof(*r->stack_index), stacks);
	if (!first)
		first = dump_plain(dir, "stack_words", ticks, r->stack_words, sizeof(*r->stack_words), words);
	if (!first)
		first = dump_plain(dir, "sites", ticks, r->sites, sizeof(*r->sites), stacks);
	if (!first)
		first = dump_plain(dir, "ext", ticks, r->ext, sizeof(*r->ext), 1);
	return first;
}
