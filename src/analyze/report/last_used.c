// SPDX-License-Identifier: MIT
//
// A descriptor was used by a coroutine if that read or wrote it last, or if its events resumed the coroutine:
// a handler on the native stack may have read for it (Asio). What was used is told, and no more: whether the
// coroutine waits for it is not known, so this is a fact. The entry of a closed descriptor keeps who used it,
// until its number is handed out again.
#include "analyze/report/last_used.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/report/group_by.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/words.h"

#define LONG_NS 1000000000ULL
#define DESTROYED_LONG_NS 10000000000ULL
enum { GROUPS_SHOWN = 5 };

struct group { // of one image, suspended at the same place, all alive or all destroyed
	const struct image *image;
	uint32_t stack;
	bool destroyed;
	size_t n, used, silent;
	uint64_t longest_ns;
	int32_t lo, hi;          // the descriptors
	const struct ctp_fd *fd; // of the lowest
};

struct last_used {
	struct report *report;
	struct group *v;
	size_t n, room;
	struct idmap by_key;  // of the image under way
	struct idmap used_by; // entity -> row of the table of descriptors
};

static bool can_answer(const struct ctp_fd *f)
{
	return f->gen && !(f->flags & CTP_FD_LISTENS) &&
	       (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UDP || f->kind == CTP_FD_UNIX ||
		f->kind == CTP_FD_PIPE);
}

static uint64_t touched(const struct ctp_fd *f)
{
	uint64_t t = f->event_time > f->reg_time ? f->event_time : f->reg_time;
	return t > f->opened ? t : f->opened;
}

static int note_user(struct last_used *u, const struct image *m, uint64_t who, size_t row)
{
	uint64_t id = who & CTP_FD_UNNAMED ? 0 : who & CTP_ID_MASK;
	uint32_t was = id ? idmap_get(&u->used_by, id) : IDMAP_NONE;
	const struct ctp_fd *f = table_row(&m->fds, row);
	if (!id || (was != IDMAP_NONE && touched(table_row(&m->fds, was)) >= touched(f)))
		return 0;
	return idmap_set(&u->used_by, id, (uint32_t)row);
}

static int find_users(struct last_used *u, const struct image *m)
{
	int e = 0;
	for (size_t i = 0; !e && i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (!can_answer(f))
			continue;
		e = note_user(u, m, f->last_in, i);
		if (!e)
			e = note_user(u, m, f->last_out, i);
		if (!e)
			e = note_user(u, m, f->learned, i);
	}
	return e;
}

// For how long it is suspended without a known wait, or was when it was destroyed; 0: it is nothing of the
// kind.
static uint64_t span_of(const struct report *r, const struct image *m, size_t row, uint64_t *since)
{
	const struct ctp_state *s = image_state(m, row);
	const unsigned char *accounts = r->accounts[m - r->world->images];
	uint64_t shot = m->snapshot_ns ? m->snapshot_ns : r->world->snapshot_ns, end = 0;
	*since = 0;
	if (s->entity != CTP_COROUTINE || !s->runs)
		return 0;
	if (s->life == CTP_SUSPENDED && accounts[row] == ACCOUNT_PARKED) {
		*since = s->since;
		end = shot;
	} else if (s->life == CTP_DESTROYED && s->tried) {
		*since = s->tried;
		end = world_ns(r->world, s->since);
	}
	uint64_t begun = *since ? world_ns(r->world, *since) : 0;
	uint64_t least = s->life == CTP_DESTROYED ? DESTROYED_LONG_NS : LONG_NS;
	return begun && end > begun && end - begun >= least ? end - begun : 0;
}

static struct group *group_of(struct last_used *u, const struct image *m, const struct ctp_state *s)
{
	bool destroyed = s->life == CTP_DESTROYED;
	uint64_t key = group_by_key(u->report, m, s, s->stack) << 1 | destroyed;
	uint32_t at = idmap_get(&u->by_key, key);
	if (at != IDMAP_NONE)
		return &u->v[at];
	if (GROW(u->v, u->n, u->room) || idmap_set(&u->by_key, key, (uint32_t)u->n))
		return NULL;
	u->v[u->n] =
		(struct group){.image = m, .stack = s->stack, .destroyed = destroyed, .lo = -1, .hi = -1};
	return &u->v[u->n++];
}

static int count(struct last_used *u, const struct image *m, size_t row)
{
	const struct ctp_state *s = image_state(m, row);
	uint64_t since, span = span_of(u->report, m, row, &since);
	struct group *g = span ? group_of(u, m, s) : NULL;
	if (!g)
		return span ? -ENOMEM : 0;
	g->n++;
	g->longest_ns = span > g->longest_ns ? span : g->longest_ns;
	uint32_t used = idmap_get(&u->used_by, s->id);
	if (used == IDMAP_NONE)
		return 0;
	const struct ctp_fd *f = table_row(&m->fds, used);
	int32_t fd = (int32_t)table_index(&m->fds, used);
	g->used++;
	g->silent += f->event_time < since;
	if (g->lo < 0 || fd < g->lo) {
		g->lo = fd;
		g->fd = f;
	}
	g->hi = fd > g->hi ? fd : g->hi;
	return 0;
}

static void place_of(struct last_used *u, const struct group *g, char *buf, size_t bytes)
{
	struct frames f = {0};
	char name[160];
	*buf = 0;
	if (!u->report->symbols ||
	    frames_read(&f, u->report->symbols[g->image - u->report->world->images], g->image, g->stack))
		return;
	const struct symbols_frame *at = frames_first_own(&f);
	at = at || !f.n ? at : f.items[0];
	if (at)
		snprintf(buf, bytes, " in %s", frames_name(at, name, sizeof(name)));
	frames_deinit(&f);
}

static void used_text(const struct group *g, char *buf, size_t bytes)
{
	const char *name =
		g->fd && g->used == 1 ? descriptors_name(&g->image->descriptors, g->lo, g->fd->gen) : NULL;
	char more[24] = "";
	*buf = 0;
	if (!g->fd)
		return;
	if (g->hi > g->lo)
		snprintf(more, sizeof(more), " ... %d", g->hi);
	snprintf(buf, bytes, ", last used fd %d%s (%s%s%s)%s", g->lo, more, words_kind(g->fd->kind),
		 name ? " " : "", name ? name : "",
		 g->silent == g->used ? ", peer silent" :
		 g->silent            ? ", some peers silent" :
					"");
}

static int say(struct last_used *u, const struct group *g)
{
	char span[32], place[200], used[160];
	text_duration(span, sizeof(span), g->longest_ns);
	place_of(u, g, place, sizeof(place));
	used_text(g, used, sizeof(used));
	if (g->destroyed)
		return results_fact(
			&u->report->results, "INFO", g->n,
			"%zu of the coroutines that were destroyed while suspended had been so for more than "
			"10 s, up to %s%s%s",
			g->n, span, place, used);
	if (!g->used)
		return 0; // that so many are parked is said already
	return results_fact(&u->report->results, rules_id[RULE_PARKED], g->n,
			    "%zu coroutine%s suspended for %s%s%s", g->n, g->n == 1 ? " is" : "s are", span,
			    place, used);
}

static int by_age(const void *a, const void *b)
{
	const struct group *x = a, *y = b;
	return (x->longest_ns < y->longest_ns) - (x->longest_ns > y->longest_ns);
}

int last_used_facts(struct report *r)
{
	struct last_used u = {.report = r};
	int e = 0;
	for (size_t k = 0; !e && k < r->world->nimages; k++) {
		const struct image *m = &r->world->images[k];
		if (!m->has_tables || m->replaced)
			continue;
		e = find_users(&u, m);
		for (size_t i = 0; !e && i < m->stations.n; i++)
			e = count(&u, m, i);
		idmap_deinit(&u.by_key);
		idmap_deinit(&u.used_by);
	}
	if (!e && u.n)
		qsort(u.v, u.n, sizeof(*u.v), by_age);
	for (size_t i = 0; !e && i < u.n && i < GROUPS_SHOWN; i++)
		e = say(&u, &u.v[i]);
	free(u.v);
	return e;
}
