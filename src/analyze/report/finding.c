// SPDX-License-Identifier: MIT
//
// Groups cases into findings. A coroutine is in one case at most (the strongest verdict, then the
// order of rules). Cases with the same rule, verdict, and functions of waiter and closer are one
// finding. The fingerprint is made of the rule and of functions alone, so it survives another
// run and another build.
#include "analyze/report/finding.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/report/accounting.h"
#include "analyze/report/finished_kept.h"
#include "analyze/report/finished_parked.h"
#include "analyze/report/healthy.h"
#include "analyze/report/stackless_places.h"
#include "analyze/report/stackless_sums.h"
#include "base/file.h"
#include "base/grow.h"
#include "base/idmap.h"

static uint64_t fnv(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3ULL;
	return (h ^ '\n') * 0x100000001b3ULL;
}

static uint64_t fnv_frames(uint64_t h, const struct frames *f)
{
	for (size_t i = 0; i < f->n; i++) {
		char offset[300];
		const struct symbols_frame *e = f->items[i];
		if (!e->symbol) // a bare address would not survive another run
			snprintf(offset, sizeof(offset), "%s+0x%" PRIx64,
				 e->module ? file_base(e->module) : "?", e->module ? e->offset : 0);
		h = fnv(h, e->symbol ? e->symbol : offset);
	}
	return fnv(h, "");
}

static unsigned rule_rank(const struct pass *pass)
{
	static const char *const order[] = {
		rules_id[RULE_LOST_WAKEUP], rules_id[RULE_REMOVED],      rules_id[RULE_ONESHOT],
		rules_id[RULE_MISSED_EDGE], rules_id[RULE_DELIVERED],    rules_id[RULE_ABANDONED],
		rules_id[RULE_REUSED],      rules_id[RULE_WRONG_WAITER], rules_id[RULE_STALE],
		rules_id[RULE_UNRESUMABLE], rules_id[RULE_PARKED],       rules_id[RULE_NEVER_STARTED]};
	for (unsigned i = 0; i < sizeof(order) / sizeof(*order); i++)
		if (!strcmp(order[i], pass->rule))
			return i;
	return 100;
}

// By coroutine, the case that stays first.
static int by_coroutine(const void *a, const void *b)
{
	const struct verdict_case *x = a, *y = b;
	if (x->about.image->index != y->about.image->index)
		return x->about.image->index < y->about.image->index ? -1 : 1;
	if (x->pass->waits != y->pass->waits)
		return x->pass->waits ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	if (x->proof.verdict != y->proof.verdict)
		return x->proof.verdict > y->proof.verdict ? -1 : 1;
	unsigned p = rule_rank(x->pass), q = rule_rank(y->pass);
	if (p != q)
		return p < q ? -1 : 1;
	return x->actor.ticks < y->actor.ticks ? -1 : x->actor.ticks > y->actor.ticks;
}

// Two things said of one coroutine's wait. Of what is no wait each counts.
static bool same_wait(const struct verdict_case *x, const struct verdict_case *y)
{
	return x->about.image == y->about.image && x->id == y->id && x->pass->waits && y->pass->waits;
}

static void one_case_each(struct results *f)
{
	size_t n = 0;
	if (f->ncases)
		qsort(f->cases, f->ncases, sizeof(*f->cases), by_coroutine);
	for (size_t i = 0; i < f->ncases; i++)
		if (!n || !same_wait(&f->cases[n - 1], &f->cases[i]))
			f->cases[n++] = f->cases[i];
	f->ncases = n;
}

static bool is_of(const struct verdict_case *c, enum ctp_rule rule)
{
	return !strcmp(c->pass->rule, rules_id[rule]);
}

// Is it said of that coroutine that it stands in a circle, and as surely as it is said here that it is
// parked?
static bool in_circle(const struct results *f, const struct idmap *circles, const struct verdict_case *c)
{
	uint32_t i = is_of(c, RULE_PARKED) ? idmap_get(circles, c->id) : IDMAP_NONE;
	return i != IDMAP_NONE && f->cases[i].about.image == c->about.image &&
	       f->cases[i].proof.verdict >= c->proof.verdict;
}

// A circle of parked coroutines is one fault: what names them all says more than that nothing leads to each.
// Cases of waits come first, so that no circle moves before it was looked at.
static int one_fault_each(struct results *f)
{
	struct idmap circles = {0};
	size_t n = 0;
	int e = 0;
	for (size_t i = 0; !e && i < f->ncases; i++)
		if (is_of(&f->cases[i], RULE_CYCLE))
			e = idmap_set(&circles, f->cases[i].id, (uint32_t)i);
	for (size_t i = 0; !e && i < f->ncases; i++)
		if (!in_circle(f, &circles, &f->cases[i]))
			f->cases[n++] = f->cases[i];
	f->ncases = e ? f->ncases : n;
	idmap_deinit(&circles);
	return e;
}

static struct finding *find_group(struct report *r, const struct verdict_case *c, uint64_t print)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		struct finding *f = &r->findings[i];
		if (f->fingerprint == print && f->pass == c->pass && f->verdict == c->proof.verdict)
			return f;
	}
	return NULL;
}

// A C++20 coroutine's frame is allocated by its own function, which goes by its name: who called that made
// it.
static void drop_ramp(struct frames *creator, const struct frames *waiter)
{
	char own[160], name[160];
	size_t n = 0;
	if (waiter->n)
		frames_name(waiter->items[0], own, sizeof(own));
	while (waiter->n && n + 1 < creator->n &&
	       !strcmp(frames_name(creator->items[n], name, sizeof(name)), own))
		n++;
	creator->n -= n;
	if (n)
		memmove(creator->items, creator->items + n, creator->n * sizeof(*creator->items));
}

static int new_group(struct report *r, const struct verdict_case *c, uint64_t print, struct frames *waiter,
		     struct frames *closer, struct finding **out)
{
	int e = GROW(r->findings, r->nfindings, r->capacity);
	if (e)
		return e;
	struct finding *f = &r->findings[r->nfindings++];
	*f = (struct finding){
		.pass = c->pass,
		.verdict = c->proof.verdict,
		.fingerprint = print,
		.symbols = r->symbols[c->about.image - r->world->images],
		.waiter = *waiter,
		.closer = *closer,
	};
	*waiter = *closer = (struct frames){0};
	*out = f;
	uint32_t made = case_creator_stack(c);
	if (made)
		e = frames_read(&f->creator, f->symbols, c->about.image, made);
	if (!e && c->maker.stack)
		drop_ramp(&f->creator, &f->waiter);
	return e ? e : frames_read(&f->opener, f->symbols, c->about.image, c->opener.stack);
}

static void append(struct finding *f, const struct verdict_case *c)
{
	size_t at = c->leads ? 0 : f->n;
	f->cases[f->n++] = f->cases[at];
	f->cases[at] = c;
}

static int add_case(struct report *r, const struct verdict_case *c)
{
	const struct image *m = c->about.image;
	struct symbols **symbols = &r->symbols[m - r->world->images];
	struct frames waiter = {0}, closer = {0};
	int e = frames_read(&waiter, *symbols, m, c->stack);
	if (!e)
		e = frames_read(&closer, *symbols, m, c->actor.stack);
	uint64_t print = fnv(0xcbf29ce484222325ULL, c->pass->rule);
	print = fnv_frames(fnv_frames(print, &waiter), &closer);
	struct finding *f = e ? NULL : find_group(r, c, print);
	if (!e && !f)
		e = new_group(r, c, print, &waiter, &closer, &f);
	if (!e)
		e = GROW(f->cases, f->n, f->capacity);
	if (!e)
		append(f, c);
	frames_deinit(&waiter);
	frames_deinit(&closer);
	return e;
}

// The worst first, then the largest, then by rule: the same in every run.
static int by_weight(const void *a, const void *b)
{
	const struct finding *x = a, *y = b;
	if (x->verdict != y->verdict)
		return x->verdict > y->verdict ? -1 : 1;
	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	int rule = strcmp(x->pass->rule, y->pass->rule);
	return rule ? rule : (x->fingerprint > y->fingerprint) - (x->fingerprint < y->fingerprint);
}

static bool selected(const char *rules, const char *rule)
{
	size_t n = strlen(rule);
	for (const char *p = rules; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, rule, n) && (!p[n] || p[n] == ','))
			return true;
	return !rules;
}

bool report_selects_rule(const struct report_settings *settings, enum ctp_rule rule)
{
	return selected(settings->rules, rules_id[rule]);
}

bool report_selects(const struct report_settings *settings, const struct pass *pass)
{
	return selected(settings->rules, pass->rule);
}

int report_symbols(struct report *r, const char *symfs)
{
	const struct world *w = r->world;
	r->symbols = calloc(w->nimages ? w->nimages : 1, sizeof(*r->symbols));
	int e = r->symbols ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < w->nimages; i++)
		if (w->images[i].has_tables)
			e = frames_symbols(&r->symbols[i], w, &w->images[i], symfs);
	return e ? e : stackless_places(r);
}

int report_make(struct report *r, const struct world *w, const struct report_settings *settings)
{
	*r = (struct report){.world = w, .group_by = settings->group_by};
	bool parked = report_selects_rule(settings, RULE_PARKED);
	int e = report_symbols(r, settings->symfs);
	for (size_t i = 0; !e && i < npasses; i++)
		if (selected(settings->rules, passes[i]->rule))
			e = passes[i]->run(passes[i], w, &r->results);
	if (!e) {
		stackless_settle(r);
		e = stackless_join(r);
	}
	if (!e)
		one_case_each(&r->results);
	if (!e)
		e = one_fault_each(&r->results);
	if (!e)
		e = finished_parked_remove(r);
	if (!e)
		e = finished_kept_find(r, parked);
	if (!e)
		e = healthy_count(r);
	for (size_t i = 0; !e && i < r->results.ncases; i++) {
		const struct verdict_case *c = &r->results.cases[i];
		if (c->proof.verdict >= settings->minimum || c->proof.verdict == VERDICT_INCONCLUSIVE)
			e = add_case(r, c);
	}
	if (r->nfindings)
		qsort(r->findings, r->nfindings, sizeof(*r->findings), by_weight);
	return e ? e : accounting_count(r);
}

void report_deinit(struct report *r)
{
	for (size_t i = 0; i < r->nfindings; i++) {
		struct finding *f = &r->findings[i];
		frames_deinit(&f->waiter);
		frames_deinit(&f->closer);
		frames_deinit(&f->creator);
		frames_deinit(&f->opener);
		free(f->cases);
	}
	free(r->findings);
	for (size_t i = 0; i < r->nunused; i++)
		free(r->unused[i]);
	free(r->unused);
	finished_kept_deinit(r);
	accounting_deinit(r);
	free(r->shared);
	for (size_t i = 0; r->symbols && i < r->world->nimages; i++)
		symbols_free(r->symbols[i]);
	free(r->symbols);
	results_deinit(&r->results);
	*r = (struct report){0};
}

const char *report_where(const struct report *r, const struct image *m, char *buf, size_t bytes)
{
	*buf = 0;
	if (r->world->processes > 1 && m->pid)
		snprintf(buf, bytes, " in process %" PRIu64, m->pid);
	return buf;
}

// Between what it runs and its first function: is this one of the library's?
static bool on_the_way(const struct frames *like, const struct symbols_frame *own,
		       const struct symbols_frame *f)
{
	size_t at = like->n;
	while (at > 0 && like->items[at - 1] != own) {
		at--;
		if (like->items[at]->symbol && f->symbol && !strcmp(like->items[at]->symbol, f->symbol))
			return true;
	}
	return false;
}

// Is `seen`, which it seems to be, its library's? Then others with the same first function show it, who were
// seen elsewhere than at their end: the stack of one of them, and whom that runs. NULL: it is not, as far as
// can be seen.
static const struct symbols_frame *other_of(struct symbols *s, const struct image *m,
					    const struct ctp_state *of, const struct symbols_frame *entry,
					    const struct symbols_frame *seen, struct frames *like)
{
	enum { ENTITIES_MOST = 64 };
	uint32_t last = of->stack;
	for (size_t i = 0, n = 0; i < m->stations.n && n < ENTITIES_MOST; i++) {
		const struct ctp_state *e = image_state(m, i);
		if (e->entry != of->entry || e->life == CTP_FINISHED || !e->stack || e->stack == last)
			continue;
		n++;
		last = e->stack;
		const struct symbols_frame *own =
			frames_read(like, s, m, e->stack) ? NULL : frames_task(like, entry);
		if (own && on_the_way(like, own, seen))
			return own;
		frames_deinit(like);
	}
	return NULL;
}

// By where it was seen elsewhere than at its last leave, which of one that has ended is in its
// library: closing, opening, in an incident.
static const struct symbols_frame *own_elsewhere(struct symbols *s, const struct image *m,
						 const struct ctp_state *e, const struct symbols_frame *entry,
						 const struct symbols_frame *seen)
{
	const struct symbols_frame *own = NULL, *other = NULL;
	struct frames like = {0};
	size_t n = m->cands.n + m->incidents.n + m->fds.n;
	if (!frames_is_library(entry) && !(other = other_of(s, m, e, entry, seen, &like)))
		return NULL;
	for (size_t i = 0; i < n && !own; i++) {
		const struct ctp_cand *c = i < m->cands.n ? image_cand(m, i) : NULL;
		size_t k = i - m->cands.n;
		const struct ctp_incident *in = !c && k < m->incidents.n ? image_incident(m, k) : NULL;
		const struct ctp_fd *f = !c && !in ? table_row(&m->fds, k - m->incidents.n) : NULL;
		uint32_t stack = c                  ? (c->closer == e->id ? c->closer_stack : 0) :
				 in                 ? (in->who == e->id ? in->stack : 0) :
				 f->opener == e->id ? f->opener_stack :
				 f->closer == e->id ? f->closer_stack :
						      0;
		struct frames at = {0};
		if (stack && !frames_read(&at, s, m, stack))
			own = other ? frames_beyond(&at, entry, &like, other) : frames_task(&at, entry);
		frames_deinit(&at);
	}
	frames_deinit(&like);
	return own;
}

// Where its first function is a library's trampoline, the outermost function on its stack that is the
// program's own; else NULL. `far`: also where that takes a search for the one.
static const struct symbols_frame *own_of(struct symbols *s, const struct image *m, const struct ctp_state *e,
					  const struct symbols_frame *entry, bool far)
{
	const struct symbols_frame *own = NULL, *elsewhere = NULL;
	struct frames f = {0};
	bool library = entry && frames_is_library(entry), read = entry && !frames_read(&f, s, m, e->stack);
	if (read && (library || e->life != CTP_FINISHED))
		own = frames_task(&f, entry);
	if (read && far && !(library && own))
		elsewhere = own_elsewhere(s, m, e, entry, own ? own : entry);
	frames_deinit(&f);
	return elsewhere ? elsewhere : own;
}

static const char *name_of(struct symbols *s, const struct image *m, const struct ctp_state *e, char *buf,
			   size_t bytes)
{
	const struct symbols_frame *entry = frames_entry(s, e->entry);
	return frames_entry_name(entry, own_of(s, m, e, entry, true), buf, bytes);
}

const struct symbols_frame *report_entry(const struct report *r, const struct verdict_case *c)
{
	const struct ctp_state *e = c->about.state;
	struct symbols *s = r->symbols[c->about.image - r->world->images];
	const struct symbols_frame *entry = frames_entry(s, e ? e->entry : 0);
	const struct symbols_frame *own = entry ? own_of(s, c->about.image, e, entry, true) : NULL;
	return own && frames_is_named(own) ? own : entry;
}

const char *report_who(const struct report *r, const struct image *m, uint64_t id, char *buf, size_t bytes)
{
	const struct ctp_state *e = image_entity(m, id);
	struct symbols *s = r->symbols[m - r->world->images];
	char name[160], given[CTP_NAME_TEXT], quoted[CTP_NAME_TEXT + 8] = "";
	if (image_name(m, id, given))
		snprintf(quoted, sizeof(quoted), " \"%s\"", given);
	for (size_t i = 0; id && i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->native == id) {
			snprintf(buf, bytes, "the native stack of thread %u%s", t->tid, quoted);
			return buf;
		}
	}
	if (!id)
		snprintf(buf, bytes, "a native stack");
	else if (e && e->entity == CTP_NATIVE)
		snprintf(buf, bytes, "native stack %" PRIu64, id);
	else if (e && e->entry)
		snprintf(buf, bytes, "coroutine %" PRIu64 " %s%s", id, name_of(s, m, e, name, sizeof(name)),
			 quoted);
	else
		snprintf(buf, bytes, "coroutine %" PRIu64 "%s", id, quoted);
	return buf;
}

const char *report_number(const struct verdict_case *c, char *buf, size_t bytes)
{
	bool frame = c->stackless && !c->about.state;
	snprintf(buf, bytes, frame ? "0x%" PRIx64 : "%" PRIu64, c->id);
	return buf;
}

const char *report_subject(const struct report *r, const struct finding *f, char *buf, size_t bytes)
{
	const struct verdict_case *c = f->cases[0];
	const char *function = f->waiter.n ? f->waiter.items[0]->symbol : NULL;
	char number[32], name[CTP_NAME_TEXT];
	if (!c->stackless || c->about.state)
		return report_who(r, c->about.image, c->id, buf, bytes);
	size_t n = (size_t)snprintf(buf, bytes, "coroutine %s", report_number(c, number, sizeof(number)));
	if (image_name(c->about.image, c->id, name) && n < bytes)
		n += (size_t)snprintf(buf + n, bytes - n, " \"%s\"", name);
	if (function && n < bytes)
		snprintf(buf + n, bytes - n, " %.*s", (int)strcspn(function, "("), function);
	return buf;
}

const char *report_name(const struct report *r, const struct image *m, const struct ctp_state *e, char *buf,
			size_t bytes)
{
	struct symbols *s = r->symbols[m - r->world->images];
	const struct symbols_frame *entry = frames_entry(s, e->entry);
	return frames_entry_name(entry, own_of(s, m, e, entry, false), buf, bytes);
}
