// SPDX-License-Identifier: MIT
//
// A descriptor was used by a coroutine if that read or wrote it last, or if its events resumed the coroutine:
// a handler on the native stack may have read for it (Asio). What was used is told, and no more: whether the
// coroutine waits for it is not known, so this is a fact. The entry of a closed descriptor keeps who used it,
// until its number is handed out again. That a peer is silent is said only where the kernel has nothing for
// the coroutine to read, and it stands where it waited for that peer before, or the peer never said anything:
// one that was answered may wait for something else. A pipe of the program's own has no peer, and whom its
// events resumed did not use it: mostly it wakes the loop.
#include "analyze/facts/last_used.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/report/accounting.h"
#include "analyze/report/group_by.h"
#include "analyze/facts/longest_wait.h"
#include "analyze/facts/place.h"
#include "base/grow.h"
#include "base/idmap.h"
#include "base/text.h"
#include "ctp/wait_inference.h"
#include "ctp/words.h"

#define LONG_NS 1000000000ULL
#define ENDED_LONG_NS 10000000000ULL
enum { GROUPS_SHOWN = 5 };
#define EVENTS_MAX 20000000ULL // in a history that is walked for this alone

enum how { ALIVE, DESTROYED, RESUMED, HOWS }; // RESUMED: and destroyed, at some later time

struct group { // of one image, suspended at the same place
	const struct image *image;
	uint32_t stack;
	enum how how;
	bool healthy;
	size_t n, used, silent, unread, ended; // used: of these there are, by what is there to be read
	int64_t bytes;                         // unread, in each; -1: not the same
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
	struct idmap open;    // file -> row of a descriptor that is open
	struct longest_wait *ended;
	size_t nended, ended_room;
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

// Its other end is in this program.
static bool is_own(const struct last_used *u, const struct ctp_fd *f)
{
	return f->peer_desc && idmap_get(&u->open, f->peer_desc) != IDMAP_NONE;
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
		if (f->life == CTP_FD_OPEN && f->desc && f->peer_desc)
			e = idmap_set(&u->open, f->desc, (uint32_t)i);
	}
	for (size_t i = 0; !e && i < m->fds.n; i++) {
		const struct ctp_fd *f = table_row(&m->fds, i);
		if (!can_answer(f))
			continue;
		e = note_user(u, m, f->last_in, i);
		if (!e)
			e = note_user(u, m, f->last_out, i);
		if (!e && !is_own(u, f))
			e = note_user(u, m, f->learned, i);
	}
	return e;
}

// How a coroutine was suspended, and since when (ticks).
struct wait {
	enum how how;
	bool healthy;
	uint32_t stack;
	uint64_t since, span_ns;
};

static uint64_t span(const struct report *r, uint64_t since, uint64_t end_ns)
{
	uint64_t begun = since ? world_ns(r->world, since) : 0;
	return begun && end_ns > begun ? end_ns - begun : 0;
}

// Without a wait of its own, or until it was destroyed. False: it is nothing of the kind.
static bool wait_of(const struct report *r, const struct image *m, size_t row, struct wait *w)
{
	const struct ctp_state *s = image_state(m, row);
	const unsigned char *accounts = r->accounts[m - r->world->images];
	uint64_t shot = m->snapshot_ns ? m->snapshot_ns : r->world->snapshot_ns;
	bool healthy = accounts[row] == ACCOUNT_HEALTHY && !image_nwaits(s);
	*w = (struct wait){.healthy = healthy, .stack = s->stack};
	if (s->entity != CTP_COROUTINE || !s->runs)
		return false;
	if (s->life == CTP_SUSPENDED && (healthy || accounts[row] == ACCOUNT_PARKED)) {
		w->since = s->since;
		w->span_ns = span(r, s->since, shot);
		return w->span_ns >= LONG_NS;
	}
	w->how = DESTROYED;
	w->since = s->tried;
	w->span_ns = s->life == CTP_DESTROYED ? span(r, s->tried, world_ns(r->world, s->since)) : 0;
	return w->span_ns >= ENDED_LONG_NS;
}

static struct group *group_of(struct last_used *u, const struct image *m, const struct ctp_state *s,
			      const struct wait *w)
{
	uint64_t key = group_by_key(u->report, m, s, w->stack) * HOWS + w->how;
	uint32_t at = idmap_get(&u->by_key, key);
	if (at != IDMAP_NONE)
		return &u->v[at];
	if (GROW(u->v, u->n, u->room) || idmap_set(&u->by_key, key, (uint32_t)u->n))
		return NULL;
	u->v[u->n] = (struct group){
		.image = m, .stack = w->stack, .how = w->how, .healthy = w->healthy, .lo = -1, .hi = -1};
	return &u->v[u->n++];
}

// Is the peer what it waits for, as far as can be known? It has told it before at this place, or in its last
// try, or it never said anything.
static bool awaits_peer(const struct ctp_fd *f, int32_t fd, const struct ctp_state *s)
{
	uint64_t key = (uint64_t)(uint32_t)fd << 32 | f->gen;
	return ctp_stands_there(f, s) || !f->last_in || s->tried == key;
}

// What of F is there to be read, by the last look at the kernel.
static void count_unread(const struct last_used *u, struct group *g, int32_t fd, const struct ctp_fd *f,
			 const struct ctp_state *s, const struct wait *w)
{
	const struct descriptor *d = descriptors_find(&g->image->descriptors, fd, f->gen);
	uint64_t since = w->since ? world_ns(u->report->world, w->since) : UINT64_MAX;
	if (!d || !d->asked || w->how != ALIVE || is_own(u, f) || d->ns < since)
		return;
	if (d->unread > 0) {
		g->bytes = g->unread && g->bytes != d->unread ? -1 : d->unread;
		g->unread++;
	} else if (d->ready) {
		g->ended++;
	} else {
		g->silent += d->ns - since >= LONG_NS && f->event_time < w->since && awaits_peer(f, fd, s);
	}
}

static int count(struct last_used *u, const struct image *m, const struct ctp_state *s, const struct wait *w)
{
	struct group *g = group_of(u, m, s, w);
	if (!g)
		return -ENOMEM;
	g->n++;
	g->longest_ns = w->span_ns > g->longest_ns ? w->span_ns : g->longest_ns;
	uint32_t used = idmap_get(&u->used_by, s->id);
	if (used == IDMAP_NONE)
		return 0;
	const struct ctp_fd *f = table_row(&m->fds, used);
	int32_t fd = (int32_t)table_index(&m->fds, used);
	g->used++;
	count_unread(u, g, fd, f, s, w);
	if (g->lo < 0 || fd < g->lo) {
		g->lo = fd;
		g->fd = f;
	}
	g->hi = fd > g->hi ? fd : g->hi;
	return 0;
}

static int by_id(const void *a, const void *b)
{
	const struct longest_wait *x = a, *y = b;
	return x->id < y->id ? -1 : x->id > y->id;
}

// Those that were resumed after long, and then destroyed: only the history knows of their wait. It is walked
// if one lived for so long.
static int count_resumed(struct last_used *u, const struct image *m)
{
	if (u->nended)
		qsort(u->ended, u->nended, sizeof(*u->ended), by_id);
	int e = u->report->world->events <= EVENTS_MAX ?
			longest_wait_find(u->report->world, u->ended, u->nended) :
			0;
	for (size_t i = 0; !e && i < u->nended; i++) {
		const struct longest_wait *l = &u->ended[i];
		const struct ctp_state *s = image_entity(m, l->id);
		const struct wait w = {.how = RESUMED, .stack = l->stack, .span_ns = l->span_ns};
		if (s && l->span_ns >= ENDED_LONG_NS)
			e = count(u, m, s, &w);
	}
	return e;
}

static int count_all(struct last_used *u, const struct image *m)
{
	int e = find_users(u, m);
	u->nended = 0;
	for (size_t i = 0; !e && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		struct wait w;
		if (wait_of(u->report, m, i, &w))
			e = count(u, m, s, &w);
		else if (s->entity == CTP_COROUTINE && s->life == CTP_DESTROYED && s->runs &&
			 span(u->report, s->created, world_ns(u->report->world, s->since)) >= ENDED_LONG_NS &&
			 !(e = GROW(u->ended, u->nended, u->ended_room)))
			u->ended[u->nended++] = (struct longest_wait){.id = s->id};
	}
	return e ? e : count_resumed(u, m);
}

// Of `n` of those that used something; all of them: without the number.
static size_t add(char *buf, size_t bytes, const struct group *g, size_t n, const char *what)
{
	if (n == g->used)
		return (size_t)snprintf(buf, bytes, ", %s", what);
	return (size_t)snprintf(buf, bytes, ", %s of %zu", what, n);
}

static void unread_text(const struct group *g, char *buf, size_t bytes)
{
	char what[64];
	size_t at = 0;
	if (g->bytes < 0)
		snprintf(what, sizeof(what), "bytes unread");
	else
		snprintf(what, sizeof(what), "%" PRId64 " byte%s unread%s", g->bytes,
			 g->bytes == 1 ? "" : "s", g->unread > 1 ? " each" : "");
	if (g->unread)
		at += add(buf, bytes, g, g->unread, what);
	if (g->ended && at < bytes)
		at += add(buf + at, bytes - at, g, g->ended, "the end unread");
	if (g->silent && at < bytes)
		snprintf(buf + at, bytes - at,
			 g->silent == g->used ? ", peer silent" : ", some peers silent");
}

static void used_text(const struct group *g, char *buf, size_t bytes)
{
	const char *name =
		g->fd && g->used == 1 ? descriptors_name(&g->image->descriptors, g->lo, g->fd->gen) : NULL;
	char more[24] = "", unread[128] = "";
	*buf = 0;
	if (!g->fd)
		return;
	if (g->hi > g->lo)
		snprintf(more, sizeof(more), " ... %d", g->hi);
	unread_text(g, unread, sizeof(unread));
	snprintf(buf, bytes, ", last used fd %d%s (%s%s%s)%s", g->lo, more, words_kind(g->fd->kind),
		 name ? " " : "", name ? name : "", unread);
}

static int say(struct last_used *u, const struct group *g)
{
	char span[32], place[PLACE_BYTES], used[320];
	text_duration(span, sizeof(span), g->longest_ns);
	place_text(u->report, g->image, g->stack, PLACE_FRAMES, place, sizeof(place));
	used_text(g, used, sizeof(used));
	if (g->how != ALIVE)
		return results_fact(
			&u->report->results, "INFO", g->n,
			"%zu of the coroutines that were destroyed while suspended had been suspended for more "
			"than 10 s%s, up to %s%s%s",
			g->n, g->how == RESUMED ? " before that" : "", span, place, used);
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

int last_used_facts(struct report *r, bool parked)
{
	struct last_used u = {.report = r};
	int e = 0;
	for (size_t k = 0; !e && k < r->world->nimages; k++) {
		const struct image *m = &r->world->images[k];
		if (!m->has_tables || m->replaced)
			continue;
		e = count_all(&u, m);
		idmap_deinit(&u.by_key);
		idmap_deinit(&u.used_by);
		idmap_deinit(&u.open);
	}
	if (!e && u.n)
		qsort(u.v, u.n, sizeof(*u.v), by_age);
	for (size_t i = 0, shown = 0; !e && i < u.n && shown < GROUPS_SHOWN; i++)
		if (parked || u.v[i].how != ALIVE) {
			e = say(&u, &u.v[i]);
			shown++;
		}
	free(u.v);
	free(u.ended);
	return e;
}
