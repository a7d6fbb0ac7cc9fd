// SPDX-License-Identifier: MIT
//
// Puts together what is to be told of one process. Stacks are walked only where
// they are shown: one for each group, and where no stack was recorded; each one
// if --all --stack asks for it.
#include "ps/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// Those without a recorded stack are walked, so that they can be grouped.
static int name_stacks(struct report *r)
{
	struct stacks_job *jobs = calloc(r->tables.n ? r->tables.n : 1, sizeof(*jobs));
	size_t n = 0;
	int e = jobs ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < r->tables.n; i++) {
		struct coroutine *c = &r->tables.coroutines[i];
		uint32_t id = c->stack;
		c->stack = 0;
		if (c->life != CTP_SUSPENDED)
			continue;
		e = stacks_recorded(r->stacks, id, &c->stack);
		if (!c->stack)
			jobs[n++] = (struct stacks_job){ c, &c->stack };
	}
	if (!e)
		e = stacks_live(r->stacks, jobs, n);
	free(jobs);
	return e;
}

static int walk_groups(struct report *r)
{
	size_t n = r->all && !r->whole ? 0 : r->groups.n;
	struct stacks_job *jobs = calloc(n ? n : 1, sizeof(*jobs));
	int e = jobs ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++)
		jobs[i] = (struct stacks_job){ r->groups.v[i].first, &r->groups.v[i].stack };
	if (!e)
		e = stacks_live(r->stacks, jobs, n);
	free(jobs);
	return e;
}

// In another mount namespace the files are found below the process's root.
static void find_root(struct report *r)
{
	char path[40];
	struct stat mine, its;
	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", (int)r->found->pid);
	if (!stat("/proc/self/ns/mnt", &mine) && !stat(path, &its) && mine.st_ino != its.st_ino)
		snprintf(r->root, sizeof(r->root), "/proc/%d/root", (int)r->found->pid);
}

static int make_symbols(struct report *r)
{
	size_t n = r->tables.nmodules;
	struct symbols_module *all = calloc(n ? n : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct ctp_module *m = &r->tables.modules[i];
		all[i] = (struct symbols_module){ .path = m->path, .base = m->base, .start = m->start, .end = m->end, .since = m->since,
						  .build_id = m->build_id, .build_id_len = m->build_id_len };
	}
	find_root(r);
	int e = symbols_new(&r->symbols, all, n, *r->root ? r->root : NULL);
	free(all);
	return e;
}

int report_make(struct report *r, const struct found *f, bool all, bool whole)
{
	struct report got = { .found = f, .all = all, .whole = whole };
	int e = tables_read(&got.tables, f);
	if (!e)
		e = stacks_new(&got.stacks, f);
	if (!e)
		e = fds_new(&got.fds, f);
	if (!e)
		e = make_symbols(&got);
	if (!e)
		e = name_stacks(&got);
	if (!e)
		e = groups_make(&got.groups, got.tables.coroutines, got.tables.n, all);
	if (!e)
		e = walk_groups(&got);
	if (e)
		report_deinit(&got);
	else
		*r = got;
	return e;
}

void report_deinit(struct report *r)
{
	symbols_free(r->symbols);
	fds_free(r->fds);
	stacks_free(r->stacks);
	groups_deinit(&r->groups);
	tables_deinit(&r->tables);
	*r = (struct report){ 0 };
}

int report_frames(const struct report *r, uint32_t stack, struct frames *out)
{
	const struct ctp_ext *x = &r->found->header.ext;
	const struct frames_own own = { x->self_base, x->self_end };
	struct stacks_one s = stacks_get(r->stacks, stack);
	*out = (struct frames){ .captured = s.n > 0, .flags = s.flags };
	return frames_add(out, r->symbols, &own, s.pcs, s.n);
}

const struct symbols_frame *report_created_at(const struct report *r, const struct coroutine *c)
{
	struct frames f = { 0 };
	uint32_t number = 0;
	const struct symbols_frame *at = NULL;
	if (!stacks_recorded(r->stacks, c->creator_stack, &number) && !report_frames(r, number, &f))
		for (size_t i = 0; i < f.n && !at; i++)
			at = frames_is_library(f.items[i]) ? NULL : f.items[i];
	frames_deinit(&f);
	return at;
}

const struct symbols_frame *report_entry(const struct report *r, const struct coroutine *c)
{
	return frames_entry(r->symbols, c->entry);
}

const char *report_label(const struct report *r, const struct coroutine *c, char *buf, size_t bytes)
{
	const struct symbols_frame *entry = report_entry(r, c), *own = NULL;
	struct frames f = { 0 };
	if (entry && c->stack && !report_frames(r, c->stack, &f))
		own = frames_task(&f, entry);
	frames_entry_name(entry, own, buf, bytes);
	frames_deinit(&f);
	find_clean(buf);
	return buf;
}

const char *report_state(const struct coroutine *c)
{
	return c->life == CTP_SUSPENDED ? "suspended" : c->life == CTP_CREATED ? "created" : "running";
}
