// SPDX-License-Identifier: MIT
//
// One walk over all transitions. A task has one coroutine that works for it: the one that began it, or the
// last that entered it. Whatever that coroutine does is what the task does; each change of either settles the
// time since the last one. A thread that has never switched runs all the time, as far as is known.
#include "analyze/history/tasks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/transitions.h"

const char *const tasks_parts[TASKS_PARTS] = {"running", "ready", "waiting", "blocked", "unknown"};

static void add_place(struct tasks_places *p, const struct tracks_site *site, uint64_t ns)
{
	unsigned i = 0;
	while (i < p->n && p->items[i].site != site)
		i++;
	if (i == p->n && i < TASKS_SITES)
		p->items[p->n++] = (struct tasks_place){.site = i + 1 < TASKS_SITES ? site : NULL};
	i = i < TASKS_SITES ? i : TASKS_SITES - 1;
	p->items[i].ns += ns;
}

static void settle(struct task *k, uint64_t ns)
{
	uint64_t passed = ns > k->since_ns ? ns - k->since_ns : 0;
	k->split.parts[k->state] += passed;
	if (k->state == TASKS_WAITING && passed)
		add_place(&k->split.waits, k->site, passed);
	k->since_ns = ns > k->since_ns ? ns : k->since_ns;
}

// A call of the thread has returned, in which it was for the last `blocked` ns.
static void settle_blocked(struct task *k, uint64_t ns, uint64_t blocked, const struct tracks_site *site)
{
	uint64_t passed = ns > k->since_ns ? ns - k->since_ns : 0;
	if (k->state != TASKS_RUNNING || !passed)
		return;
	blocked = blocked < passed ? blocked : passed;
	settle(k, ns);
	k->split.parts[TASKS_RUNNING] -= blocked;
	k->split.parts[TASKS_BLOCKED] += blocked;
	add_place(&k->split.blocks, site, blocked);
}

// ------------------------------------------------------------------ workers

// Two threads that have never switched are two.
static uint64_t key_of(uint64_t coroutine, uint64_t tid)
{
	return coroutine ? coroutine : tid | 1ULL << 62;
}

static struct task **worker(struct tasks *t, uint64_t key)
{
	uint32_t row = idmap_get(&t->by_coroutine, key);
	if (row != IDMAP_NONE)
		return &t->workers[row];
	if (GROW(t->workers, t->nworkers, t->workers_capacity) ||
	    idmap_set(&t->by_coroutine, key, (uint32_t)t->nworkers))
		return NULL;
	t->workers[t->nworkers] = NULL;
	return &t->workers[t->nworkers++];
}

static void leave(struct tasks *t, struct task *k)
{
	struct task **at = worker(t, key_of(k->coroutine, k->tid));
	for (; at && *at; at = &(*at)->next)
		if (*at == k) {
			*at = k->next;
			return;
		}
}

static int enter(struct tasks *t, struct task *k, uint64_t coroutine, uint64_t tid)
{
	struct task **first = worker(t, key_of(coroutine, tid));
	if (!first)
		return -ENOMEM;
	k->coroutine = coroutine;
	k->tid = tid;
	k->state = TASKS_RUNNING;
	k->next = *first;
	*first = k;
	return 0;
}

// All tasks of a coroutine: what it does from now on.
static void becomes(struct tasks *t, const struct ctp_merge_entity *e, enum tasks_part state,
		    const struct tracks_site *site, uint64_t ns)
{
	uint32_t row = e ? idmap_get(&t->by_coroutine, e->id) : IDMAP_NONE;
	for (struct task *k = row == IDMAP_NONE ? NULL : t->workers[row]; k; k = k->next) {
		settle(k, ns);
		k->state = state;
		k->site = site;
	}
}

// A thread of that key (key_of) was in a call for so many ticks.
static int blocked(struct tasks *t, const struct transition *m, uint64_t key, uint64_t ticks, uint32_t stack)
{
	uint32_t row = idmap_get(&t->by_coroutine, key);
	struct task *k = row == IDMAP_NONE ? NULL : t->workers[row];
	const struct tracks_site *site = NULL;
	uint64_t end = m->merged->event.time, begin = ticks < end ? end - ticks : 0,
		 ns = m->ns - world_ns(t->report->world, begin);
	if (k && stack && !(site = tracks_names_site(&t->names, t->report, m->image, stack, 0)))
		return -ENOMEM;
	for (; k; k = k->next)
		settle_blocked(k, m->ns, ns, site);
	return 0;
}

static bool has_tasks(const struct tasks *t, const struct ctp_merge_entity *e)
{
	uint32_t row = e ? idmap_get(&t->by_coroutine, e->id) : IDMAP_NONE;
	return row != IDMAP_NONE && t->workers[row];
}

// -------------------------------------------------------------------- tasks

// The row of the type, -ENOMEM.
static int type_of(struct tasks *t, const struct program_value *v)
{
	for (size_t i = 0; i < t->ntypes; i++)
		if (strlen(t->types[i].name) == v->bytes && !memcmp(t->types[i].name, v->text, v->bytes))
			return (int)i;
	if (GROW(t->types, t->ntypes, t->capacity))
		return -ENOMEM;
	t->types[t->ntypes] = (struct tasks_type){.name = strndup(v->text, v->bytes)};
	return t->types[t->ntypes].name ? (int)t->ntypes++ : -ENOMEM;
}

static struct task *open_task(const struct tasks *t, uint64_t id)
{
	uint32_t row = idmap_get(&t->by_id, id);
	return row == IDMAP_NONE || row >= t->nopen || !t->open[row] || t->open[row]->id != id ? NULL :
												 t->open[row];
}

static int begin(struct tasks *t, const struct transition *m, const struct program_value *v)
{
	if (open_task(t, v[0].word)) {
		t->unmatched++;
		return 0;
	}
	struct task *k = calloc(1, sizeof(*k));
	int type = k ? type_of(t, &v[1]) : -ENOMEM;
	if (type < 0 || GROW(t->open, t->nopen, t->open_capacity) ||
	    idmap_set(&t->by_id, v[0].word, (uint32_t)t->nopen)) {
		free(k);
		return -ENOMEM;
	}
	k->row = (uint32_t)t->nopen;
	t->open[t->nopen++] = k;
	k->id = v[0].word;
	k->type = (unsigned)type;
	k->begin_ns = k->since_ns = m->ns;
	t->types[type].begun++;
	return enter(t, k, m->event->coroutine, m->tid);
}

static void add_split(struct tasks_split *to, const struct tasks_split *more)
{
	for (unsigned i = 0; i < TASKS_PARTS; i++)
		to->parts[i] += more->parts[i];
	for (unsigned i = 0; i < more->waits.n; i++)
		add_place(&to->waits, more->waits.items[i].site, more->waits.items[i].ns);
	for (unsigned i = 0; i < more->blocks.n; i++)
		add_place(&to->blocks, more->blocks.items[i].site, more->blocks.items[i].ns);
}

// Takes it: kept if it is one of the slowest.
static void rank(struct tasks_type *y, struct task *k)
{
	unsigned at = y->nslowest;
	while (at && y->slowest[at - 1]->ns < k->ns)
		at--;
	if (at == TASKS_SLOWEST) {
		free(k);
		return;
	}
	if (y->nslowest == TASKS_SLOWEST)
		free(y->slowest[--y->nslowest]);
	memmove(&y->slowest[at + 1], &y->slowest[at], (y->nslowest - at) * sizeof(*y->slowest));
	y->slowest[at] = k;
	y->nslowest++;
}

static int end(struct tasks *t, struct task *k, uint64_t ns, bool ended)
{
	struct tasks_type *y = &t->types[k->type];
	settle(k, ns);
	leave(t, k);
	t->open[k->row] = NULL;
	k->ns = k->since_ns - k->begin_ns;
	k->ended = ended;
	if (ended) {
		if (GROW(y->took, y->n, y->capacity)) {
			free(k);
			return -ENOMEM;
		}
		y->took[y->n++] = k->ns;
		add_split(&y->split, &k->split);
	}
	rank(y, k);
	return 0;
}

static int event(struct tasks *t, const struct transition *m)
{
	const struct program_class *c = m->event->class;
	struct program_value v[CTP_EVENT_ROW_FIELDS];
	if (strcmp(c->provider, "ctp") != 0 || !c->nfields)
		return 0;
	program_event_values(m->event, v);
	if (!strcmp(c->name, "task_begin") && c->nfields == 2 && c->fields[1].kind == CTP_FIELD_TEXT)
		return begin(t, m, v);
	if (!strcmp(c->name, "blocked") && c->nfields == 3)
		return blocked(t, m, key_of(m->event->coroutine, m->tid), v[0].word, (uint32_t)v[2].word);
	bool enters = !strcmp(c->name, "task_enter"), ends = !strcmp(c->name, "task_end");
	struct task *k = enters || ends ? open_task(t, v[0].word) : NULL;
	t->unmatched += ends && !k;
	if (!k)
		return 0;
	if (ends)
		return end(t, k, m->ns, true);
	settle(k, m->ns);
	leave(t, k);
	return enter(t, k, m->event->coroutine, m->tid);
}

// The thread's own stack has an id from here on.
static int named(struct tasks *t, const struct transition *m)
{
	uint32_t row = idmap_get(&t->by_coroutine, key_of(0, m->tid));
	int r = 0;
	while (!r && row != IDMAP_NONE && t->workers[row]) {
		struct task *k = t->workers[row];
		settle(k, m->ns);
		leave(t, k);
		r = enter(t, k, m->a, m->tid);
	}
	return r;
}

static int take(void *arg, const struct transition *m)
{
	struct tasks *t = arg;
	const struct tracks_site *site = NULL;
	switch (m->kind) {
	case CTP_EV_USER:
		return event(t, m);
	case CTP_EV_SWITCH:
		if (has_tasks(t, m->from)) {
			site = tracks_names_site(&t->names, t->report, m->image, m->stack, m->pc);
			if (!site)
				return -ENOMEM;
			becomes(t, m->from, m->from_gap ? TASKS_UNKNOWN : TASKS_RUNNING, NULL, m->ns);
			bool gone = m->how == CTP_HOW_GONE || m->how == CTP_HOW_RETURN;
			becomes(t, m->from, gone ? TASKS_UNKNOWN : TASKS_WAITING, site, m->ns);
		}
		if (has_tasks(t, m->to))
			becomes(t, m->to, TASKS_RUNNING, NULL, m->ns);
		return 0;
	case CTP_EV_READY:
		if (m->from && m->from->suspended)
			becomes(t, m->from, TASKS_READY, NULL, m->ns);
		return 0;
	case CTP_EV_SLEPT:
		return blocked(t, m, key_of(m->a, m->tid), m->value, 0);
	case CTP_EV_THREAD:
		return named(t, m);
	case CTP_EV_FINISH:
	case CTP_EV_DESTROY:
		becomes(t, m->from, TASKS_UNKNOWN, NULL, m->ns);
		return 0;
	default:
		return 0;
	}
}

static int by_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static int by_most(const void *a, const void *b)
{
	const struct tasks_place *x = a, *y = b;
	return (x->ns < y->ns) - (x->ns > y->ns);
}

static void sort_split(struct tasks_split *s)
{
	qsort(s->waits.items, s->waits.n, sizeof(*s->waits.items), by_most);
	qsort(s->blocks.items, s->blocks.n, sizeof(*s->blocks.items), by_most);
}

static void sort_type(struct tasks_type *y)
{
	if (y->n)
		qsort(y->took, y->n, sizeof(*y->took), by_ns);
	sort_split(&y->split);
	for (unsigned i = 0; i < y->nslowest; i++)
		sort_split(&y->slowest[i]->split);
}

uint64_t tasks_rank(const struct tasks_type *y, unsigned percent)
{
	return y->took[(y->n * percent + 99) / 100 - 1];
}

static int make(struct tasks *t, const struct report *r)
{
	t->report = r;
	int e = transitions_walk(r->world, take, t);
	for (size_t i = 0; !e && i < t->nopen; i++)
		if (t->open[i])
			e = end(t, t->open[i], r->world->snapshot_ns, false);
	for (size_t i = 0; i < t->ntypes; i++)
		sort_type(&t->types[i]);
	return e;
}

int tasks_make(struct tasks *t, const struct report *r, const char *symfs)
{
	*t = (struct tasks){0};
	struct report own = *r;
	int e = own.symbols ? 0 : report_symbols(&own, symfs);
	if (e)
		return e;
	e = make(t, &own);
	for (size_t i = 0; !r->symbols && i < r->world->nimages; i++)
		symbols_free(own.symbols[i]);
	if (!r->symbols)
		free(own.symbols);
	return e;
}

void tasks_deinit(struct tasks *t)
{
	for (size_t i = 0; i < t->ntypes; i++) {
		for (unsigned k = 0; k < t->types[i].nslowest; k++)
			free(t->types[i].slowest[k]);
		free(t->types[i].took);
		free(t->types[i].name);
	}
	for (size_t i = 0; i < t->nopen; i++)
		free(t->open[i]);
	free(t->types);
	free(t->open);
	free(t->workers);
	idmap_deinit(&t->by_id);
	idmap_deinit(&t->by_coroutine);
	tracks_names_deinit(&t->names);
	*t = (struct tasks){0};
}
