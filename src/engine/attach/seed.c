// SPDX-License-Identifier: MIT
//
// Coroutines as src/find sees them, but those that run; descriptors from /proc/PID/fd and fdinfo; sockets by
// the kernel's tables of them; epoll registrations from fdinfo, where the file registered is the one that the
// number has now. Nothing is asked of the process itself.
//
// Only a declared stack has both bounds: where one was guessed by what lies around it, its lower end says
// nothing.
#include "engine/attach/seed.h"

#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/attach/seed_fds.h"
#include "engine/target/proc.h"
#include "engine/target/registrations.h"
#include "find/contexts.h"
#include "find/leads.h"
#include "find/lost.h"
#include "find/registers.h"
#include "search/mark/scan.h"

struct found {
	struct seed_fds fds;
	struct registrations rows;
	struct contexts contexts;
	struct image image;
	struct span ours[3];
	bool searched;
	struct lost lost;
	bool marked; // `lost` says something
};

// Where the hooks will look for it.
static uint64_t slot_of(const struct context *x)
{
	return x->kind == SHAPE_ASSEMBLY ? x->shape.saved : x->shape.block;
}

static bool is_wanted(const struct context *x)
{
	return x->state != CONTEXT_RUNNING && slot_of(x);
}

// Timers hold words of the program's, too; which, is not asked.
static bool has_timers(pid_t pid)
{
	char *text = NULL;
	size_t bytes = 0;
	bool any = proc_slurp(pid, "timers", &text, &bytes) || bytes;
	free(text);
	return any;
}

static void mark(struct found *f, pid_t pid)
{
	size_t n = f->rows.n;
	uint64_t *held = calloc(n + 1, sizeof(*held));
	for (size_t i = 0; held && i < n; i++)
		held[i] = f->rows.v[i].data;
	bool told = held && f->rows.complete && !f->rows.uring && !f->rows.userfault && !has_timers(pid) &&
		    !*f->contexts.partial;
	f->marked = told && !lost_mark(&f->lost, &f->contexts, held, n);
	if (f->marked && f->lost.undecided) {
		lost_deinit(&f->lost);
		f->marked = false;
	}
	free(held);
}

static void search(struct found *f, pid_t pid, const struct ctp_region *r, bool reach, uint64_t deadline_ns)
{
	const struct ctp_ext *e = r->ext;
	struct registers_hold glance = {0};
	f->ours[0] = (struct span){e->region_base, e->region_base + e->region_bytes};
	f->ours[1] = (struct span){e->areas_base, e->areas_base + e->areas_bytes};
	f->ours[2] = (struct span){e->self_base, e->self_end};
	if (image_of_process(&f->image, pid, deadline_ns))
		return;
	f->image.skip = f->ours;
	f->image.nskip = spans_tidy(f->ours, 3);
	reach = reach && !registers_take(&f->image, REGISTERS_GLANCE, &glance);
	f->searched = !contexts_find(&f->contexts, &f->image);
	if (f->searched && reach)
		mark(f, pid);
	registers_release(&glance);
	if (!f->searched)
		image_close(&f->image);
}

static void deinit(struct found *f)
{
	if (f->marked)
		lost_deinit(&f->lost);
	if (f->searched) {
		contexts_deinit(&f->contexts);
		image_close(&f->image);
	}
	registrations_deinit(&f->rows);
	free(f->fds.v);
}

// Which coroutine of the block each row leads to, + 1. NULL: not known.
static uint32_t *led(const struct found *f)
{
	size_t n = f->rows.n, wanted = 0;
	uint64_t *data = calloc(n + 1, sizeof(*data));
	uint32_t *to = calloc(n + 1, sizeof(*to));
	uint32_t *number = f->searched ? calloc(f->contexts.n + 1, sizeof(*number)) : NULL;
	for (size_t i = 0; data && i < n; i++)
		data[i] = f->rows.v[i].data;
	for (size_t i = 0; number && i < f->contexts.n; i++)
		number[i] = is_wanted(&f->contexts.v[i]) ? (uint32_t)++wanted : 0;
	if (!data || !to || !number || leads_find(&f->contexts, data, n, to)) {
		free(to);
		to = NULL;
	}
	for (size_t i = 0; to && i < n; i++)
		to[i] = to[i] == LEADS_NOWHERE ? 0 : number[to[i]];
	free(data);
	free(number);
	return to;
}

static void put_rows(struct ctp_seeds *s, pid_t pid, const struct found *f)
{
	struct ctp_seed_row *to = ctp_seed_rows(s);
	uint32_t *leads = led(f);
	for (size_t i = 0; i < f->rows.n; i++) {
		const struct registration *r = &f->rows.v[i];
		if (registrations_is_open_as(pid, r, r->tfd) == 1)
			to[s->nrows++] = (struct ctp_seed_row){.epfd = r->epfd,
							       .fd = r->tfd,
							       .events = r->events,
							       .leads = leads ? leads[i] : 0,
							       .data = r->data};
	}
	free(leads);
}

static void put_coroutine(struct ctp_seeds *s, struct ctp_seed_coroutine *to, const struct contexts *c,
			  const struct context *x, uint64_t *words)
{
	bool declared = x->evidence & CONTEXT_DECLARED;
	*to = (struct ctp_seed_coroutine){.slot = slot_of(x),
					  .lo = declared ? x->lo : x->hi,
					  .hi = x->hi,
					  .entry = x->entry,
					  .function = x->kind == SHAPE_ASSEMBLY ? x->function : 0,
					  .block = x->kind == SHAPE_ASSEMBLY ? x->shape.block : 0,
					  .life = x->state == CONTEXT_CREATED ? CTP_CREATED : CTP_SUSPENDED,
					  .words = s->nwords,
					  .nwords = x->state == CONTEXT_CREATED ? 0 : (uint32_t)x->npcs};
	memcpy(to->regs, x->regs, sizeof(to->regs));
	while (to->nwords > 1 && sites_is_start(&c->sites, c->pcs[x->pcs + to->nwords - 1]))
		to->nwords--;
	memcpy(words + s->nwords, c->pcs + x->pcs, to->nwords * sizeof(*words));
	s->nwords += to->nwords;
}

static void put_coroutines(struct ctp_seeds *s, const struct found *f)
{
	const struct contexts *c = &f->contexts;
	size_t n = 0;
	for (size_t i = 0; i < c->n; i++)
		n += is_wanted(&c->v[i]);
	s->ncoroutines = (uint32_t)n;
	struct ctp_seed_coroutine *to = ctp_seed_coroutines(s);
	uint64_t *words = ctp_seed_words(s);
	for (size_t i = 0; i < c->n; i++) {
		if (!is_wanted(&c->v[i]))
			continue;
		put_coroutine(s, to, c, &c->v[i], words);
		to->unreached = f->marked && !f->lost.reached[i] && to->life == CTP_SUSPENDED;
		to++;
	}
}

struct ctp_seeds *seed_find(pid_t pid, const struct ctp_region *ours, bool reach, uint64_t deadline_ns)
{
	struct found f = {.searched = false};
	struct ctp_seeds *s = NULL;
	bool read = !seed_fds_read(&f.fds, pid) && !registrations_read(pid, 0, deadline_ns, &f.rows);
	search(&f, pid, ours, reach && read, deadline_ns);
	if (read) {
		size_t words = 0;
		for (size_t i = 0; f.searched && i < f.contexts.n; i++)
			words += f.contexts.v[i].npcs;
		s = calloc(1, sizeof(*s) + f.fds.n * sizeof(struct ctp_seed_fd) +
				      f.rows.n * sizeof(struct ctp_seed_row) +
				      (f.searched ? f.contexts.n : 0) * sizeof(struct ctp_seed_coroutine) +
				      words * sizeof(uint64_t));
	}
	if (s) {
		s->nfds = (uint32_t)f.fds.n;
		if (f.fds.n)
			memcpy(ctp_seed_fds(s), f.fds.v, f.fds.n * sizeof(*f.fds.v));
		put_rows(s, pid, &f);
		if (f.searched)
			put_coroutines(s, &f);
	}
	deinit(&f);
	return s;
}

uint32_t seed_taken(const struct ctp_seeds *s)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < s->ncoroutines; i++)
		n += ctp_seed_coroutines(s)[i].id != 0;
	return n;
}

// ------------------------------------------------------------- what is gone

static int by_row(const void *a, const void *b)
{
	const struct ctp_seed_row *x = a, *y = b;
	if (x->epfd != y->epfd)
		return x->epfd < y->epfd ? -1 : 1;
	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return (x->data > y->data) - (x->data < y->data);
}

// By where it was saved, and what its stack pointer is.
struct place {
	uint64_t slot, sp;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	if (x->sp != y->sp)
		return x->sp < y->sp ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

// Where coroutines stand that have been seen to run, as of now: whoever was found there is one of these.
static struct place *seen_places(const struct ctp_region *r, size_t *n)
{
	uint32_t most = ctp_load32(&r->header->allocated_count);
	most = most < r->stations_max ? most : r->stations_max;
	struct place *v = calloc(most + 1, sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < most; i++) {
		struct ctp_state s;
		if (ctp_state_read(&r->states[i], &s) && s.entity == CTP_COROUTINE && s.changes)
			v[(*n)++] = (struct place){0, s.regs[CTP_REG_SP]};
	}
	if (v)
		qsort(v, *n, sizeof(*v), by_place);
	return v;
}

static bool is_untouched(const struct ctp_region *r, const struct ctp_seed_coroutine *c)
{
	struct ctp_state s;
	return c->id && c->station < r->stations_max && ctp_state_read(&r->states[c->station], &s) &&
	       s.id == c->id && !s.changes && s.life == c->life;
}

static bool has(const struct place *v, size_t n, uint64_t slot, uint64_t sp)
{
	const struct place key = {slot, sp};
	return n && bsearch(&key, v, n, sizeof(*v), by_place);
}

static void put_gone_coroutines(struct ctp_seeds *out, const struct ctp_seeds *was,
				const struct ctp_seeds *now, const struct ctp_region *r)
{
	size_t nseen = 0, n = now->ncoroutines;
	struct place *seen = seen_places(r, &nseen), *there = calloc(n + 1, sizeof(*there));
	struct ctp_seed_coroutine *to = ctp_seed_coroutines(out);
	for (size_t i = 0; there && i < n; i++) {
		const struct ctp_seed_coroutine *c = &ctp_seed_coroutines(now)[i];
		there[i] = (struct place){c->slot, c->regs[CTP_REG_SP]};
	}
	if (there)
		qsort(there, n, sizeof(*there), by_place);
	for (uint32_t i = 0; i < was->ncoroutines; i++) {
		const struct ctp_seed_coroutine *c = &ctp_seed_coroutines(was)[i];
		uint64_t sp = c->regs[CTP_REG_SP];
		bool stands = seen && there && has(there, n, c->slot, sp) && !has(seen, nseen, 0, sp);
		if (!stands && is_untouched(r, c))
			to[out->ncoroutines++] = *c;
	}
	free(seen);
	free(there);
}

struct ctp_seeds *seed_gone(const struct ctp_seeds *was, const struct ctp_seeds *now,
			    const struct ctp_region *r)
{
	struct ctp_seeds *out = calloc(1, sizeof(*out) + was->nrows * sizeof(struct ctp_seed_row) +
						  was->ncoroutines * sizeof(struct ctp_seed_coroutine));
	struct ctp_seed_row *rows = calloc(now->nrows + 1, sizeof(*rows));
	if (!out || !rows) {
		free(out);
		free(rows);
		return NULL;
	}
	out->time = was->time;
	memcpy(rows, ctp_seed_rows(now), now->nrows * sizeof(*rows));
	qsort(rows, now->nrows, sizeof(*rows), by_row);
	for (uint32_t i = 0; i < was->nrows; i++) {
		const struct ctp_seed_row *row = &ctp_seed_rows(was)[i];
		if (!bsearch(row, rows, now->nrows, sizeof(*rows), by_row))
			ctp_seed_rows(out)[out->nrows++] = *row;
	}
	free(rows);
	put_gone_coroutines(out, was, now, r);
	if (out->nrows || out->ncoroutines)
		return out;
	free(out);
	return NULL;
}

// ------------------------------------------------------- what nothing leads to

bool seed_any_unreached(const struct ctp_seeds *s)
{
	for (uint32_t i = 0; i < s->ncoroutines; i++)
		if (ctp_seed_coroutines(s)[i].unreached)
			return true;
	return false;
}

// Where those stand that nothing leads to, in order.
static struct place *unreached_places(const struct ctp_seeds *s, size_t *n)
{
	struct place *v = calloc(s->ncoroutines + 1, sizeof(*v));
	*n = 0;
	for (uint32_t i = 0; v && i < s->ncoroutines; i++) {
		const struct ctp_seed_coroutine *c = &ctp_seed_coroutines(s)[i];
		if (c->unreached)
			v[(*n)++] = (struct place){c->slot, c->regs[CTP_REG_SP]};
	}
	if (v)
		qsort(v, *n, sizeof(*v), by_place);
	return v;
}

struct ctp_seeds *seed_unreached(const struct ctp_seeds *was, const struct ctp_seeds *one,
				 const struct ctp_seeds *other)
{
	size_t n[2];
	struct place *at[2] = {unreached_places(one, &n[0]), unreached_places(other, &n[1])};
	struct ctp_seeds *out =
		calloc(1, sizeof(*out) + was->ncoroutines * sizeof(struct ctp_seed_coroutine));
	for (uint32_t i = 0; out && at[0] && at[1] && i < was->ncoroutines; i++) {
		struct ctp_seed_coroutine c = ctp_seed_coroutines(was)[i];
		uint64_t sp = c.regs[CTP_REG_SP];
		c.unreached = 1;
		if (c.id && has(at[0], n[0], c.slot, sp) && has(at[1], n[1], c.slot, sp))
			ctp_seed_coroutines(out)[out->ncoroutines++] = c;
	}
	free(at[0]);
	free(at[1]);
	if (out && out->ncoroutines)
		return out;
	free(out);
	return NULL;
}
