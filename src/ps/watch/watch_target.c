// SPDX-License-Identifier: MIT
//
// What is expensive is done only for what is shown: whether a descriptor is still open, and
// how much of a stack was touched. Symbols are read again when the program has loaded a
// library.
#include "ps/watch/watch_target.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/living.h"
#include "ps/watch/watch_status.h"

enum { POOLS_EVERY = 5, AT_ONCE = 512 }; // inspections; rows
#define NO_SAMPLE_NS 3600000000000ULL

static uint64_t cpu_now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void close_names(struct watch_target *t)
{
	watch_names_free(t->names);
	t->names = NULL;
	report_deinit(&t->report);
}

static int open_names(struct watch_target *t)
{
	int e = report_begin(&t->report, &t->found);
	if (!e)
		e = watch_names_new(&t->names, &t->report);
	t->report.unlisted = &t->frames.listing;
	return e;
}

int watch_target_open(struct watch_target *t, const struct found *f)
{
	*t = (struct watch_target){.found = *f, .file = find_file(f)};
	find_command(f->pid, t->command, sizeof(t->command));
	watch_use_open(&t->use, &t->found);
	int e = open_names(t);
	if (!e)
		e = watch_threads_new(&t->threads, &t->found);
	if (!e)
		e = watch_proofs_new(&t->proofs, &t->found);
	if (e)
		watch_target_close(t);
	return e;
}

int watch_target_search(struct watch_target *t, pid_t pid)
{
	*t = (struct watch_target){
		.found = {.pid = pid, .region.fd = -1}, .searched = true, .use.pagemap = -1, .file = -1};
	find_command(pid, t->command, sizeof(t->command));
	t->report = (struct report){.found = &t->found, .unlisted = &t->frames.listing};
	int e = watch_target_look(t);
	if (e)
		watch_target_close(t);
	return e;
}

void watch_target_sample(struct watch_target *t)
{
	if (t->threads)
		watch_threads_sample(t->threads); // the next inspection will say what is wrong with it
}

uint64_t watch_target_pause_ns(const struct watch_target *t)
{
	return t->threads ? watch_threads_pause_ns(t->threads) : NO_SAMPLE_NS;
}

void watch_target_close(struct watch_target *t)
{
	watch_proofs_free(t->proofs);
	watch_threads_free(t->threads);
	close_names(t);
	watch_use_close(&t->use);
	watch_model_deinit(&t->model);
	watch_frames_close(&t->frames);
	find_release(&t->found);
	if (t->file >= 0)
		close(t->file);
	*t = (struct watch_target){.found.region.fd = -1, .use.pagemap = -1, .file = -1};
}

void watch_target_ended(struct watch_target *t)
{
	if (t->found.region.fd >= 0 || t->file < 0)
		return;
	t->found.region.fd = t->file;
	t->file = -1;
}

static void count_pooled(struct watch_model *m)
{
	m->pooled = 0;
	for (size_t i = 0; i < m->n; i++)
		m->pooled += m->rows[i].there && m->rows[i].c.life == CTP_SUSPENDED &&
			     m->rows[i].c.status == STATUS_POOLED;
}

// Those that no table knows, behind those that are marked.
static int look_at_frames(struct watch_target *t)
{
	bool anew;
	int e = watch_frames_look(&t->frames, &t->model, &t->found, t->modules, &anew);
	if (e || !anew)
		return e;
	watch_names_free(t->names);
	t->names = NULL;
	return watch_names_new(&t->names, &t->report);
}

// CPU time that all threads of a process have used. False: not known.
static bool cpu_used(pid_t pid, uint64_t *ns)
{
	char path[40], text[1024];
	uint64_t user, system, tick = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	if (f)
		fclose(f);
	text[n] = 0;
	const char *behind = strrchr(text, ')'); // its name may hold anything
	if (!behind || sscanf(behind + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64,
			      &user, &system) != 2)
		return false;
	*ns = (user + system) * tick;
	return true;
}

static int look_searched(struct watch_target *t)
{
	uint64_t cpu = cpu_now(), begun = clock_mono_ns();
	bool anew;
	int e = watch_frames_search(&t->frames, t->found.pid, &anew);
	if (!e && (anew || !t->names)) {
		watch_names_free(t->names);
		t->names = NULL;
		e = watch_names_new(&t->names, &t->report);
	}
	if (!e)
		e = watch_model_begin(&t->model, 0, begun);
	if (e)
		return e;
	watch_model_end(&t->model, clock_mono_ns(), NULL, 0, false);
	t->model.closed = 0;
	e = watch_frames_add(&t->frames, &t->model);
	count_pooled(&t->model);
	t->before = t->totals;
	t->totals = (struct watch_totals){.threads = t->frames.listing.nthreads};
	t->totals.cpu_known = cpu_used(t->found.pid, &t->totals.cpu_ns);
	t->cost_ns = cpu_now() - cpu;
	return e;
}

int watch_target_look(struct watch_target *t)
{
	uint64_t begun = cpu_now();
	struct watch_totals got;
	if (t->searched)
		return look_searched(t);
	int e = watch_inspect(&t->model, t->threads, &t->found, &got);
	if (e)
		return e;
	t->before = t->totals;
	t->totals = got;
	if (t->found.engine && kill(t->found.engine, 0) && errno == ESRCH)
		t->found.engine = 0;
	e = watch_proofs_read(t->proofs);
	t->nrules = watch_proofs_mark(t->proofs, &t->model, got.cands, t->rules, WATCH_RULES);
	if (!e && got.modules != t->modules) {
		t->modules = got.modules;
		t->found.header.ext.module_count = got.modules;
		close_names(t);
		e = open_names(t);
	}
	t->found.header.ext.stack_count = got.stacks;
	if (!e && t->looks++ % POOLS_EVERY == 0)
		e = watch_status_pooled(&t->report, &t->model);
	count_pooled(&t->model);
	if (!e)
		e = look_at_frames(t);
	t->cost_ns = cpu_now() - begun;
	return e;
}

void watch_target_head(const struct watch_target *t, struct watch_head *h)
{
	const struct watch_model *m = &t->model;
	double seconds = m->last && m->begun > m->last ? (double)(m->begun - m->last) / 1e9 : 0;
	*h = (struct watch_head){.pid = t->found.pid,
				 .engine = t->found.engine,
				 .command = t->command,
				 .created = m->created,
				 .suspended = m->suspended,
				 .pooled = m->pooled,
				 .running = m->running,
				 .closed = m->closed,
				 .frames = listing_stackless(&t->frames.listing),
				 .addresses = t->frames.listing.n > 0,
				 .searched = t->searched,
				 .unsure = t->searched ? t->frames.listing.partial : "",
				 .finished = t->totals.finished,
				 .destroyed = t->totals.destroyed,
				 .threads = t->totals.threads,
				 .lost = t->totals.lost,
				 .rate = -1,
				 .cpu = -1,
				 .partial = t->totals.partial,
				 .trace = !t->searched && proofs_any(watch_proofs_found(t->proofs)),
				 .ending = t->totals.exit_begun || t->totals.signal_taken,
				 .nrules = t->nrules};
	memcpy(h->rules, t->rules, sizeof(h->rules));
	if (seconds > 0 && !t->searched && t->totals.switches >= t->before.switches)
		h->rate = (double)(t->totals.switches - t->before.switches) / seconds;
	if (seconds > 0 && t->totals.cpu_known && t->before.cpu_known)
		h->cpu = (double)(t->totals.cpu_ns - t->before.cpu_ns) / 1e9 / seconds;
}

// What was known last stays, once the process has ended.
static int64_t stack_used(const struct watch_target *t, struct watch_row *r)
{
	if (r->frame_state || (r->c.flags & CTP_STATE_SHARED_STACK))
		return -1;
	int64_t used = watch_use_bytes(&t->use, r->c.lo, r->c.hi);
	r->stack_bytes = used >= 0 ? used : r->stack_bytes;
	return r->stack_bytes;
}

static bool any_closed(const struct watch_target *t, const struct coroutine *c)
{
	const char *kind;
	for (unsigned i = 0; i < c->nwaits; i++)
		if (c->waits[i].gen != WATCH_NO_GEN &&
		    fds_open(t->report.fds, c->waits[i].fd, c->waits[i].gen, &kind) == 0)
			return true;
	return false;
}

// Not of groups: of their members each may stand otherwise.
static void find_ready(const struct watch_target *t, const struct watch_item *items, size_t n, bool grouped,
		       bool *ready)
{
	struct watch_row *rows[AT_ONCE] = {NULL};
	if (grouped || n > AT_ONCE || t->searched)
		return;
	for (size_t i = 0; i < n; i++)
		rows[i] = &t->model.rows[items[i].row];
	watch_status_ready(&t->report, rows, n, ready); // if it cannot be read, nobody is
}

void watch_target_show(struct watch_target *t, const struct watch_item *items, size_t n, bool grouped,
		       struct watch_shown *out)
{
	bool ready[AT_ONCE] = {false};
	find_ready(t, items, n, grouped, ready);
	for (size_t i = 0; i < n; i++) {
		const struct watch_item *it = &items[i];
		struct watch_row *r = &t->model.rows[it->row];
		struct watch_shown *s = &out[i];
		char called[CTP_NAME_TEXT];
		*s = (struct watch_shown){.id = r->c.id,
					  .n = it->n,
					  .where = watch_names_place(t->names, r),
					  .state = i < AT_ONCE && ready[i] ? "ready" : watch_names_state(r),
					  .since_ns = watch_model_age(&t->model, r),
					  .rate = it->rate,
					  .cpu = it->cpu,
					  .slice_ns = it->slice_ns,
					  .stack = -1,
					  .running = r->c.life == CTP_RUNNING,
					  .frame = r->frame_state};
		watch_model_name(&t->model, r, called);
		if (*called && !(grouped && it->n > 1))
			snprintf(s->entry, sizeof(s->entry), "\"%s\" %s", called,
				 watch_names_label(t->names, r));
		else
			snprintf(s->entry, sizeof(s->entry), "%s", watch_names_label(t->names, r));
		if (!grouped || it->n == 1)
			watch_names_waits(&r->c, s->waits, sizeof(s->waits));
		if (!grouped)
			s->stack = stack_used(t, r);
		s->closed = r->closed || any_closed(t, &r->c);
		s->proof = r->c.life == CTP_SUSPENDED && !r->frame_state && !t->searched &&
			   proofs_of(watch_proofs_found(t->proofs), r->c.id, r->c.changes);
	}
}
