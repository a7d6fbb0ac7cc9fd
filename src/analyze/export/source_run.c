// SPDX-License-Identifier: MIT
//
// The row of the trace itself.
#include "analyze/export/source_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/export/source.h"

#define DAY_NS 86400000000000u

uint64_t source_hash(uint64_t h, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

uint64_t source_started_ns(const struct world *w)
{
	return run_identity_wall_ns(w, w->start_ns);
}

static const char *exe_of(const struct world *w)
{
	return w->manifest.nimages ? w->manifest.images[0].exe : NULL;
}

const char *source_build_id(const struct world *w, char buf[65])
{
	const struct image *m = w->nimages ? &w->images[0] : NULL;
	const char *exe = exe_of(w);
	for (size_t i = 0; m && m->has_tables && i < m->modules.n; i++) {
		const struct ctp_module *o = table_row(&m->modules, i);
		if (!o->build_id_len || o->build_id_len > sizeof(o->build_id) || !exe ||
		    strncmp(o->path, exe, sizeof(o->path)))
			continue;
		for (uint32_t k = 0; k < o->build_id_len; k++)
			snprintf(buf + 2 * (size_t)k, 3, "%02x", o->build_id[k]);
		return buf;
	}
	return NULL;
}

void source_uuid(const struct world *w, char buf[RUN_IDENTITY_UUID])
{
	char own[RUN_IDENTITY_UUID];
	const char *is = run_identity_uuid(w, own);
	uint64_t said[] = {w->form,   run_identity_pid(w), w->start_ns,        w->duration_ns,
			   w->events, w->coroutines,       w->counts.switches, w->manifest.ticks0};
	uint64_t a = source_hash(0xcbf29ce484222325ULL, said, sizeof(said)),
		 b = source_hash(a, said, sizeof(said));
	if (is && strlen(is) == RUN_IDENTITY_UUID - 1)
		memcpy(buf, is, RUN_IDENTITY_UUID);
	else
		snprintf(buf, RUN_IDENTITY_UUID, "%08x-%04x-8%03x-%04x-%012" PRIx64, (unsigned)(a >> 32),
			 (unsigned)(a >> 16) & 0xffff, (unsigned)a & 0xfff,
			 0x8000 | ((unsigned)(b >> 48) & 0x3fff), (uint64_t)(b & 0xffffffffffff));
}

int64_t source_trace_id(const struct world *w, uint64_t seed)
{
	uint64_t day = source_started_ns(w) / DAY_NS;
	uint64_t bits = seed & ((1ULL << SCHEMA_DAY_SHIFT) - 1);
	return (int64_t)((day & 0x7fff) << SCHEMA_DAY_SHIFT | (bits ? bits : 1));
}

// --------------------------------------------------------------------- the row

static void put_run(struct source *s)
{
	static const char *const forms[] = {"directory", "lines", "core"};
	const struct world *w = s->world;
	const struct manifest *m = &w->manifest;
	char build[65];
	row_int(&s->row, s->trace);
	row_text(&s->row, s->uuid);
	row_count(&s->row, m->part);
	row_text(&s->row, forms[w->form]);
	row_text(&s->row, m->host);
	row_text(&s->row, m->boot_id);
	row_text(&s->row, exe_of(w));
	row_text(&s->row, m->command);
	row_copy(&s->row, source_build_id(w, build));
	row_text(&s->row, run_identity_version(w));
	row_text(&s->row, s->labels);
	row_some(&s->row, run_identity_pid(w));
	row_some(&s->row, source_started_ns(w));
	row_some(&s->row,
		 run_identity_wall_ns(w, w->snapshot_ns ? w->snapshot_ns : w->start_ns + w->duration_ns));
	row_count(&s->row, w->duration_ns);
}

static void put_counts(struct source *s)
{
	const struct world *w = s->world;
	const struct image_counts *c = &w->counts;
	bool known = w->form != WORLD_LINES;
	row_count(&s->row, w->events);
	row_count(&s->row, c->switches);
	row_count(&s->row, w->lost);
	row_count(&s->row, w->threads);
	row_count(&s->row, w->coroutines);
	known ? row_count(&s->row, c->created) : row_null(&s->row);
	row_count(&s->row, c->suspended);
	row_count(&s->row, c->running);
	row_count(&s->row, c->finished);
	known ? row_count(&s->row, c->destroyed) : row_null(&s->row);
	for (unsigned i = ACCOUNT_FOUND; i < ACCOUNTS; i++)
		row_count(&s->row, s->report->accounting[i]);
	row_count(&s->row, s->report->healthy);
	row_count(&s->row, s->report->nfindings);
}

// The sentences of coverage, one a line; NULL: no memory.
static char *coverage_of(const struct world *w)
{
	size_t n = 1;
	for (size_t i = 0; i < w->ncoverage; i++)
		n += strlen(w->coverage[i]) + 1;
	char *all = calloc(1, n), *at = all;
	for (size_t i = 0; all && i < w->ncoverage; i++)
		at += sprintf(at, "%s%s", i ? "\n" : "", w->coverage[i]);
	return all;
}

int source_traces(struct source *s)
{
	struct timespec now;
	char *coverage = coverage_of(s->world);
	clock_gettime(CLOCK_REALTIME, &now);
	source_row(s, SCHEMA_TRACES);
	put_run(s);
	put_counts(s);
	row_bool(&s->row, s->world->has_last_tables);
	row_text(&s->row, coverage);
	row_text(&s->row, s->tables);
	row_text(&s->row, CTP_TOOL_VERSION);
	row_count(&s->row, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
	int r = coverage ? source_done(s) : -ENOMEM;
	free(coverage);
	return r;
}
