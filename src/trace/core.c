// SPDX-License-Identifier: MIT
//
// A core file holds the region's tables as they were (preload/guest/coredump_advise.c):
// the present state, without a history and without the kernel's answers. The parts of
// the region are copied to their offsets in a sparse file, so that the checks of a live
// region apply (ctp_region_open): no offset is used before it is bounded. What the core
// file lacks reads as zeros, which in every table means: not in use.
#include "trace/core.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/corefile.h"
#include "ctp/seq.h"
#include "ctp/tables.h"

enum { PAGE = 4096 };

struct core {
	struct world_error *error;
	struct corefile file;
	unsigned char *copy;
	struct ctp_region region;
};

static int refuse(struct core *c, const char *why)
{
	snprintf(c->error->text, sizeof(c->error->text), "%s", why);
	return -EPROTO;
}

// ---------------------------------------------------------------- the region

// What of the part lies in the region, into the copy.
static bool put_part(const struct core *c, const struct corefile_part *p)
{
	const struct corefile *f = &c->file;
	uint64_t lo = p->addr > f->base ? p->addr : f->base;
	uint64_t end = p->addr + p->bytes, hi = end < f->base + f->bytes ? end : f->base + f->bytes;
	if (lo >= hi)
		return true;
	uint64_t from = (lo - f->base) & ~(PAGE - 1ULL);
	if (mprotect(c->copy + from, hi - f->base - from, PROT_READ | PROT_WRITE))
		return false;
	return corefile_put(f, lo, c->copy + (lo - f->base), hi - lo);
}

static int copy_region(struct core *c)
{
	void *copy = mmap(NULL, c->file.bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return -errno;
	c->copy = copy;
	for (size_t i = 0; i < c->file.n; i++)
		if (!put_part(c, &c->file.parts[i]))
			return -EIO;
	return ctp_region_read(&c->region, c->copy, c->file.bytes) ?
		       refuse(c, "a core in which ctp's tables are damaged") :
		       0;
}

static int open_core(struct core *c, const char *path)
{
	int r = corefile_open(&c->file, path);
	if (!r)
		r = corefile_find_region(&c->file);
	if (!r && world_layout(c->error, "a core with tables ", c->file.version))
		return -EPROTO;
	if (!r)
		r = corefile_check_region(&c->file);
	if (r == -EPROTO) {
		bool whole = c->file.n && !c->file.cut && !c->file.base;
		refuse(c, c->file.why);
		return whole ? -ENODATA : r;
	}
	return r ? r : copy_region(c);
}

// ---------------------------------------------------------------- the tables

// Rows are counted, then put into memory that table_close gives back.
struct rows {
	struct table *table;
	const struct ctp_table_shape *shape;
	unsigned char *to; // NULL: only counted
};

static void put_row(void *arg, uint64_t index, const void *row)
{
	struct rows *r = arg;
	unsigned char *to = r->to ? r->to + r->table->n * r->table->row_bytes : NULL;
	r->table->n++;
	if (to && r->shape->indexed)
		memcpy(to, &index, sizeof(index));
	if (to)
		memcpy(to + (r->shape->indexed ? 8 : 0), row, r->shape->bytes);
}

static int make_room(struct rows *r)
{
	size_t bytes = r->table->n * r->table->row_bytes;
	void *p = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) :
			  NULL;
	if (p == MAP_FAILED)
		return -ENOMEM;
	r->table->map = (struct file_map){.data = p, .bytes = bytes};
	r->table->rows = r->to = p;
	return 0;
}

static int copy_table(const struct core *c, enum ctp_table which, struct table *t)
{
	const struct ctp_table_shape *shape = &ctp_table_shapes[which];
	struct rows r = {t, shape, NULL};
	uint64_t n;
	*t = (struct table){.row_bytes = shape->bytes + (shape->indexed ? 8 : 0), .indexed = shape->indexed};
	if (which < CTP_TABLES_BY_ROW) {
		ctp_table_rows(&c->region, which, put_row, &r);
		int e = make_room(&r);
		t->n = 0;
		if (!e && r.to)
			ctp_table_rows(&c->region, which, put_row, &r);
		return e;
	}
	const void *rows = ctp_table_whole(&c->region, which, &n);
	t->n = n;
	int e = make_room(&r);
	if (!e && r.to)
		memcpy(r.to, rows, n * shape->bytes);
	return e;
}

static int copy_tables(const struct core *c, struct image *m)
{
	struct table *all[CTP_TABLES] = {
		[CTP_TABLE_STATIONS] = &m->stations,
		[CTP_TABLE_THREADS] = &m->threads,
		[CTP_TABLE_FDS] = &m->fds,
		[CTP_TABLE_CANDS] = &m->cands,
		[CTP_TABLE_MODULES] = &m->modules,
		[CTP_TABLE_INCIDENTS] = &m->incidents,
		[CTP_TABLE_STACK_INDEX] = &m->stack_index,
		[CTP_TABLE_STACK_WORDS] = &m->stack_words,
		[CTP_TABLE_SITES] = &m->sites,
		[CTP_TABLE_NAMES] = &m->names,
		[CTP_TABLE_EXT] = &m->ext_table,
	};
	int r = 0;
	for (unsigned i = 0; !r && i < CTP_TABLES; i++)
		r = all[i] ? copy_table(c, i, all[i]) :
			     0; // which functions were patched is the manifest's to say
	m->ext = *c->region.ext;
	return r;
}

// ----------------------------------------------------------------- the world

// What is not noted by the program itself, the kernel's notes say in part: which thread,
// and so who ran; not where.
static void mend_crash(const struct core *c, struct image *m)
{
	struct ctp_crash *to = &m->ext.crash;
	if (to->ready == 1 || !c->file.signal || c->file.info.si_signo != c->file.signal)
		return;
	*to = (struct ctp_crash){.ready = 1,
				 .signal = c->file.signal,
				 .code = c->file.info.si_code,
				 .tid = c->file.tid,
				 .armed = to->armed,
				 .thread = UINT32_MAX};
	to->addr = c->file.info.si_code > 0 ? (uint64_t)c->file.info.si_addr : 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->tid == c->file.tid && t->life == CTP_THREAD_LIVE) {
			to->who = t->current;
			to->thread = (uint32_t)table_index(&m->threads, i);
		}
	}
}

// From ticks to ns: by the pair from the start, and the latest that there is.
static void set_clock(struct manifest *m, const struct ctp_ext *e)
{
	bool noted = e->crash.ready == 1 && e->crash.time_ns;
	m->ticks0 = e->clock_ticks0;
	m->ns0 = e->clock_ns0;
	m->ticks1 = noted ? e->crash.time : e->clock_ticks1;
	m->ns1 = noted ? e->crash.time_ns : e->clock_ns1;
	m->ticks_are_ns = e->clock_kind != CTP_CLOCK_TSC || m->ticks1 <= m->ticks0 || m->ns1 <= m->ns0;
}

// When it was made: nothing is later than its last word.
static uint64_t latest_ns(const struct manifest *clock, const struct image *m)
{
	uint64_t ticks = m->ext.crash.time;
	for (size_t i = 0; i < m->stations.n; i++)
		ticks = image_state(m, i)->since > ticks ? image_state(m, i)->since : ticks;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		ticks = t->wait_since > ticks ? t->wait_since : ticks;
	}
	uint64_t ns = manifest_ns(clock, ticks);
	return m->ext.crash.ready == 1 || ns > m->ext.clock_ns1 ? ns : m->ext.clock_ns1;
}

static int fill_world(const struct core *c, struct world *w)
{
	struct image *m = w->images = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	w->nimages = w->processes = 1;
	w->form = WORLD_CORE;
	w->has_last_tables = w->manifest.complete = true;
	m->pid = c->file.pid ? c->file.pid : c->region.ext->guest_pid;
	int r = copy_tables(c, m);
	if (r)
		return r;
	mend_crash(c, m);
	m->ended_signal = m->ext.crash.ready == 1 ? m->ext.crash.signal : -1;
	set_clock(&w->manifest, &m->ext);
	m->snapshot_reason = "core";
	m->snapshot_ns = w->snapshot_ns = w->manifest.snapshot_ns = latest_ns(&w->manifest, m);
	w->manifest.ended_signal = m->ended_signal;
	m->ext_table.time = m->ext.crash.time;
	w->start_ns = m->ext.attached_ns;
	w->duration_ns = w->snapshot_ns > w->start_ns ? w->snapshot_ns - w->start_ns : 0;
	r = image_index(m);
	if (!r)
		image_settle_taken(m);
	return r;
}

static int sum_up(const struct core *c, struct world *w)
{
	const struct image *m = &w->images[0];
	w->counts = m->counts;
	w->coroutines = m->counts.created + m->counts.suspended + m->counts.running + m->counts.finished +
			m->counts.destroyed;
	w->lost = m->counts.lost;
	for (size_t i = 0; i < m->threads.n; i++)
		w->threads += ((const struct ctp_thread *)table_row(&m->threads, i))->head > 0;
	int r = world_cover(
		w,
		"a core file: the tables as they were, no history, and nothing could be asked of the kernel or "
		"of other processes");
	if (!r && *c->file.command)
		r = world_cover(w, "process %" PRIu64 ": %.*s", m->pid, (int)strcspn(c->file.command, " "),
				c->file.command); // arguments hold passwords
	return r;
}

int core_read(struct world *w, struct world_error *error)
{
	struct core c = {.error = error, .file.fd = -1};
	int r = open_core(&c, w->path);
	if (!r)
		r = fill_world(&c, w);
	if (!r)
		r = sum_up(&c, w);
	if (c.copy)
		munmap(c.copy, c.file.bytes);
	corefile_close(&c.file);
	return r;
}
