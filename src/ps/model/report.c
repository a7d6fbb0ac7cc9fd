// SPDX-License-Identifier: MIT
//
// Collects what is reported of one process. A stack is walked only where it is shown: one per
// group, and where no stack was recorded; with --all --stack every one.
#include "ps/model/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/maps.h"
#include "base/search.h"
#include "ps/model/forest.h"
#include "ps/model/status.h"
#include "ps/read/proofs.h"

enum { ENDED_MOST = 10000 };

// Those without a recorded stack are walked, so that they can be grouped, and those that run a script.
static int name_stacks(struct report *r)
{
	struct stacks_job *jobs = calloc(r->tables.n ? r->tables.n : 1, sizeof(*jobs));
	size_t n = 0;
	int e = jobs ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < r->tables.n; i++) {
		struct coroutine *c = &r->tables.coroutines[i];
		if (c->life != CTP_SUSPENDED || r->found->probes)
			continue;
		e = stacks_recorded(r->stacks, c->recorded, &c->stack);
		bool walks = !c->announced && (!c->stack || stacks_have_scripts(r->stacks));
		c->walked = !c->stack || c->announced || walks;
		if (walks)
			jobs[n++] = (struct stacks_job){c, &c->stack};
	}
	if (!e)
		e = stacks_live(r->stacks, jobs, n);
	free(jobs);
	return e;
}

static int walk_groups(struct report *r)
{
	size_t n = (r->wants->all || r->wants->tree) && !r->wants->whole ? 0 : r->groups.n, walks = 0;
	struct stacks_job *jobs = calloc(n ? n : 1, sizeof(*jobs));
	int e = jobs ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < n; i++)
		if (!r->groups.v[i].first->walked)
			jobs[walks++] = (struct stacks_job){r->groups.v[i].first, &r->groups.v[i].stack};
	if (!e)
		e = stacks_live(r->stacks, jobs, walks);
	free(jobs);
	return e;
}

static int index_all(struct report *r)
{
	int e = r->wants->why ? why_new(&r->why, r->fds, &r->tables) : 0;
	for (size_t i = 0; !e && i < r->tables.n && (r->wants->why || r->wants->tree || r->found->core); i++)
		e = idmap_set(&r->by_id, r->tables.coroutines[i].id, (uint32_t)i);
	return e;
}

// In another mount namespace the files are found below the process's root.
static void find_root(struct report *r)
{
	if (!r->found->core && !symbols_root(r->found->pid, r->root))
		*r->root = '\0';
}

static int make_symbols(struct report *r)
{
	size_t n = r->tables.nmodules;
	struct symbols_module *all = calloc(n ? n : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		const struct ctp_module *m = &r->tables.modules[i];
		all[i] = (struct symbols_module){.path = m->path,
						 .base = m->base,
						 .start = m->start,
						 .end = m->end,
						 .since = m->since,
						 .build_id = m->build_id,
						 .build_id_len = m->build_id_len};
	}
	find_root(r);
	int e = symbols_new(&r->symbols, all, n, *r->root ? r->root : NULL);
	free(all);
	return e;
}

static bool wanted(const struct report_wants *w, uint64_t id)
{
	for (size_t i = 0; i < w->nids; i++)
		if (w->ids[i] == id)
			return true;
	return w->nids == 0;
}

// What ctp-run has found out by now. A trace that cannot be read has said nothing.
static int note_findings(struct report *r)
{
	struct proofs *p;
	int e = proofs_new(&p, r->found->engine);
	if (e)
		return e;
	e = proofs_read(p);
	r->judged = !e && proofs_any(p);
	for (size_t i = 0; r->judged && i < r->tables.n; i++) {
		struct coroutine *c = &r->tables.coroutines[i];
		const struct proofs_one *one = c->life == CTP_SUSPENDED ? proofs_of(p, c->id, c->changes) :
									  NULL;
		c->so_far = one ? one->so_far : SO_FAR_OPEN;
		if (c->so_far)
			snprintf(c->rule, sizeof(c->rule), "%s", one->rule);
	}
	proofs_free(p);
	return e;
}

// Puts those that were asked for in front: how many they are.
static size_t chosen(struct report *r)
{
	struct coroutine *v = r->tables.coroutines;
	size_t n = 0;
	for (size_t i = 0; i < r->tables.n; i++)
		if (wanted(r->wants, v[i].id)) {
			struct coroutine c = v[i];
			v[i] = v[n];
			v[n++] = c;
		}
	for (size_t i = 0; i < r->wants->nids && !r->missing; i++) {
		size_t k = 0;
		while (k < n && v[k].id != r->wants->ids[i])
			k++;
		r->missing = k < n ? 0 : r->wants->ids[i];
	}
	return r->wants->tree ? r->tables.n : n;
}

static int by_stack(const void *a, const void *b)
{
	const struct coroutine *x = a, *y = b;
	if (x->lo != y->lo)
		return x->lo < y->lo ? -1 : 1;
	return x->id < y->id ? 1 : x->id > y->id ? -1 : 0; // the last one first
}

static int by_end(const void *a, const void *b)
{
	const struct coroutine *x = a, *y = b;
	return x->since_ns != y->since_ns ? (x->since_ns < y->since_ns ? -1 : 1) :
	       x->id < y->id              ? -1 :
					    x->id > y->id;
}

struct mapped {
	struct maps_range {
		uint64_t lo, hi;
	} * v; // by address, as /proc lists them
	size_t n, capacity;
};

static int note_mapped(void *arg, const struct maps_line *l)
{
	struct mapped *m = arg;
	if (m->n && m->v[m->n - 1].hi == l->lo) {
		m->v[m->n - 1].hi = l->hi;
		return 0;
	}
	int e = GROW(m->v, m->n, m->capacity);
	if (!e)
		m->v[m->n++] = (struct maps_range){l->lo, l->hi};
	return e;
}

static bool is_mapped(const struct mapped *m, uint64_t lo, uint64_t hi)
{
	size_t a = FIRST_NOT(m->n, i, m->v[i].hi <= lo);
	return a < m->n && m->v[a].lo <= lo && hi <= m->v[a].hi;
}

// Takes out those whose stack has been given back to the kernel.
static int drop_unmapped(struct report *r)
{
	struct tables *t = &r->tables;
	struct mapped m = {0};
	size_t kept = 0;
	int e = r->found->core ? 0 : maps_each(r->found->pid, note_mapped, &m);
	for (size_t i = 0; !e && i < t->nended; i++)
		if (r->found->core || is_mapped(&m, t->ended[i].lo, t->ended[i].hi))
			t->ended[kept++] = t->ended[i];
	t->nended = e ? t->nended : kept;
	free(m.v);
	return e == -ENOMEM ? e : 0;
}

// Of those that have ended, the finished whose stack is nobody else's yet, the latest first.
static int keep_ended(struct report *r)
{
	struct tables *t = &r->tables;
	size_t n = t->n + t->nended, kept = 0;
	struct coroutine *all = calloc(n ? n : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	if (t->n)
		memcpy(all, t->coroutines, t->n * sizeof(*all));
	if (t->nended)
		memcpy(all + t->n, t->ended, t->nended * sizeof(*all));
	qsort(all, n, sizeof(*all), by_stack);
	uint64_t top = 0; // of the stacks so far
	for (size_t i = 0; i < n; i++) {
		bool free = all[i].lo >= top &&
			    (i + 1 == n || all[i + 1].lo >= all[i].hi || all[i + 1].lo == all[i].lo);
		if (all[i].life == CTP_FINISHED && free && all[i].lo < all[i].hi)
			t->ended[kept++] = all[i];
		top = all[i].hi > top ? all[i].hi : top;
	}
	free(all);
	t->nended = kept;
	if (kept)
		qsort(t->ended, kept, sizeof(*t->ended), by_end);
	t->nended = kept < ENDED_MOST ? kept : ENDED_MOST;
	return drop_unmapped(r);
}

int report_begin(struct report *r, const struct found *f)
{
	static const struct report_wants all = {.all = true, .whole = true};
	struct report got = {.found = f, .wants = &all};
	int e = tables_read_modules(&got.tables, f);
	if (!e)
		e = stacks_new(&got.stacks, f);
	if (!e)
		e = fds_new(&got.fds, f);
	if (!e)
		e = make_symbols(&got);
	if (e)
		report_deinit(&got);
	else
		*r = got;
	return e;
}

int report_make(struct report *r, const struct found *f, const struct report_wants *w)
{
	struct report got = {.found = f, .wants = w};
	int e = tables_read(&got.tables, f, w->all || w->tree);
	if (!e)
		e = stacks_new(&got.stacks, f);
	if (!e)
		e = fds_new(&got.fds, f);
	if (!e)
		e = fds_read(got.fds, got.tables.coroutines, got.tables.n, w->tree || w->why);
	if (!e)
		e = threads_look(&got.threads, f, &got.tables, got.stacks);
	if (!e)
		e = make_symbols(&got);
	if (!e)
		e = name_stacks(&got);
	if (!e)
		e = status_decide(&got);
	if (!e)
		e = note_findings(&got);
	if (!e && w->all && !w->tree)
		e = keep_ended(&got);
	if (!e)
		e = groups_make(&got.groups, got.tables.coroutines, chosen(&got),
				!w->tree && (w->all || w->nids));
	if (!e)
		e = walk_groups(&got);
	if (!e)
		e = index_all(&got);
	if (!e && w->tree)
		e = forest_new(&got.forest, &got);
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
	threads_deinit(&r->threads);
	why_free(r->why);
	forest_free(r->forest);
	idmap_deinit(&r->by_id);
	tables_deinit(&r->tables);
	*r = (struct report){0};
}

int report_frames(const struct report *r, uint32_t stack, struct frames *out)
{
	const struct ctp_ext *x = &r->found->header.ext;
	const struct frames_own own = {x->self_base, x->self_end};
	struct stacks_one s = stacks_get(r->stacks, stack);
	*out = (struct frames){.captured = s.n > 0, .flags = s.flags};
	for (const struct symbols_frame *f; s.n && (f = stacks_script(r->stacks, *s.pcs)); s.pcs++, s.n--) {
		if (GROW(out->items, out->n, out->capacity))
			return -ENOMEM;
		out->items[out->n++] = f;
	}
	return frames_add(out, r->symbols, &own, s.pcs, s.n);
}

const struct symbols_frame *report_created_at(const struct report *r, const struct coroutine *c)
{
	return report_own_frame(r, c->creator_stack);
}

const struct symbols_frame *report_own_frame(const struct report *r, uint32_t recorded)
{
	struct frames f = {0};
	uint32_t number = 0;
	const struct symbols_frame *at = NULL;
	if (!stacks_recorded(r->stacks, recorded, &number) && !report_frames(r, number, &f))
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
	if (r->found->probes) {
		snprintf(buf, bytes, "%s", c->name);
		return buf;
	}
	const struct symbols_frame *entry = report_entry(r, c), *own = NULL;
	struct frames f = {0};
	const struct threads_one *runs = report_thread(r, c);
	uint32_t stack = runs ? runs->stack : c->stack;
	if (entry && stack && !report_frames(r, stack, &f))
		own = frames_task(&f, entry);
	frames_entry_name(entry, own, buf, bytes);
	frames_deinit(&f);
	find_clean(buf);
	return buf;
}

const struct coroutine *report_find(const struct report *r, uint64_t id)
{
	uint32_t at = id ? idmap_get(&r->by_id, id) : IDMAP_NONE;
	return at == IDMAP_NONE ? NULL : &r->tables.coroutines[at];
}

static const struct tables_thread *native(const struct report *r, uint64_t id)
{
	for (size_t i = 0; i < r->tables.nthreads; i++)
		if (r->tables.threads[i].native == id)
			return &r->tables.threads[i];
	return NULL;
}

const char *report_who(const struct report *r, uint64_t id, const struct coroutine *self, char *buf,
		       size_t bytes)
{
	uint64_t plain = id & ~(CTP_FD_SEVERAL | CTP_FD_UNNAMED);
	const char *others = id & CTP_FD_SEVERAL ? " (and others)" : "";
	const struct tables_thread *t = id & CTP_FD_UNNAMED ? tables_thread(&r->tables, (uint32_t)plain) :
					plain               ? native(r, plain) :
							      NULL;
	const struct coroutine *c = id & CTP_FD_UNNAMED ? NULL : report_find(r, plain);
	char label[128];
	if (self && plain == self->id && !(id & CTP_FD_UNNAMED))
		snprintf(buf, bytes, "itself%s", others);
	else if (c)
		snprintf(buf, bytes, "coroutine %" PRIu64 " %s%s", plain,
			 report_label(r, c, label, sizeof(label)), others);
	else if (t)
		snprintf(buf, bytes, "thread %" PRIu32 "%s", t->tid, others);
	else if (plain && !(id & CTP_FD_UNNAMED))
		snprintf(buf, bytes, "%" PRIu64 ", which has ended%s", plain, others);
	else
		snprintf(buf, bytes, "a thread");
	return buf;
}

const char *report_state(const struct coroutine *c)
{
	switch (c->life) {
	case CTP_SUSPENDED:
		return "suspended";
	case CTP_CREATED:
		return "created";
	case CTP_RUNNING:
		return "running";
	case CTP_FINISHED:
		return "finished";
	default:
		return "destroyed";
	}
}

const char *report_status(const struct coroutine *c)
{
	bool waits = c->life != CTP_SUSPENDED || c->status == STATUS_WAITS;
	return waits ? report_state(c) : c->status == STATUS_READY ? "ready" : "pooled";
}

const struct threads_one *report_thread(const struct report *r, const struct coroutine *c)
{
	for (size_t i = 0; i < r->threads.n && c->life == CTP_RUNNING; i++)
		if (r->tables.threads[i].slot == c->thread)
			return &r->threads.v[i];
	return NULL;
}
