// SPDX-License-Identifier: MIT
//
// A sample of the suspended coroutines is searched for as suspects are, in a search of its own: what suspects
// are told must not depend on it. Only a search of a program at rest counts, in which each of them was
// suspended all along.
#include "engine/witness/control_group.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "base/json.h"
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/memory/objects.h"
#include "engine/memory/reach.h"
#include "engine/suspects/poller.h"
#include "engine/suspects/stuck_wait.h"

#define MS 1000000ULL
enum {
	SAMPLE = 256,
	NOTED_MOST = 4096,
	LOOKS = 3,
	MANY = 16384, // stations: others are left to be asked when a finding rests on a search
	TRIES = 4,
	CHECK_MS = 20,
	REST_MS = 30,
	TRY_MOST_MS = 10000,
	FIRST_PAUSE_MS = 1000,
	LATER_PAUSE_MS = 10000
};

void control_group_deinit(struct control_group *g)
{
	free(g->v);
	*g = (struct control_group){0};
}

// ---------------------------------------------------------------------- when

bool control_group_due(struct control_group *g, const struct ctp_region *r, uint64_t now_ns)
{
	bool enough = g->looks >= LOOKS || ctp_load32(&r->header->allocated_count) > MANY;
	if ((enough && !g->owed) || g->coroutine || now_ns < g->next_ns)
		return false;
	uint64_t moves = ctp_region_moves(r);
	if (moves != g->moves) {
		g->moves = moves;
		g->rest_ns = now_ns;
	}
	return moves != g->looked && now_ns - g->rest_ns >= REST_MS * MS;
}

void control_group_made(struct control_group *g, bool made, uint64_t now_ns)
{
	uint64_t again = 2 * g->wait_ns < TRY_MOST_MS * MS ? 2 * g->wait_ns : TRY_MOST_MS * MS;
	g->wait_ns = made || !g->wait_ns ? REST_MS * MS : again;
	g->looks += made;
	g->next_ns = now_ns + (!made         ? g->wait_ns :
			       g->looks == 1 ? FIRST_PAUSE_MS * MS :
					       LATER_PAUSE_MS * MS);
}

// -------------------------------------------------------------------- before

static void note(struct control_group *g, const struct ctp_state *c)
{
	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].id == c->id) {
			g->v[i].changes = c->changes;
			return;
		}
	if (g->n < NOTED_MOST && !GROW(g->v, g->n, g->room))
		g->v[g->n++] = (struct control_one){c->id, c->changes, c->station};
}

void control_group_note(struct control_group *g, const struct suspect *s)
{
	note(g, &s->s);
}

static void __attribute__((format(printf, 3, 4)))
show(struct control_group *g, uint64_t id, const char *format, ...)
{
	char how[INSPECT_TEXT / 3];
	va_list ap;
	if (g->coroutine)
		return;
	va_start(ap, format);
	vsnprintf(how, sizeof(how), format, ap);
	va_end(ap);
	g->coroutine = id;
	snprintf(
		g->text, sizeof(g->text),
		"the search finds nothing that leads to coroutine %llu either, %s: the program keeps coroutines in "
		"a form that is not searched for",
		(unsigned long long)id, how);
}

void control_group_check(struct control_group *g, const struct ctp_region *r, bool now)
{
	uint64_t now_ns = proc_now_ns();
	size_t kept = 0;
	if (!g->n || g->coroutine || (!now && now_ns < g->check_ns))
		return;
	g->check_ns = now_ns + CHECK_MS * MS;
	for (size_t i = 0; i < g->n; i++) {
		struct control_one one = g->v[i];
		struct ctp_state c;
		bool there = ctp_there(r, &r->states[one.station]) &&
			     ctp_state_read(&r->states[one.station], &c) && c.id == one.id;
		if (there && c.changes == one.changes && c.life == CTP_SUSPENDED)
			g->v[kept++] = one;
		else if (there && c.changes > one.changes &&
			 (c.life == CTP_SUSPENDED || c.life == CTP_RUNNING || c.life == CTP_FINISHED))
			show(g, one.id, "which was resumed later");
	}
	g->n = kept;
}

void control_group_inherit(struct control_group *g, uint64_t coroutine)
{
	if (coroutine)
		show(g, coroutine, "as was seen in the process that forked this one");
}

// ----------------------------------------------------------------------- now

// Does one sleep in poll or select for it?
static bool is_in_set(const struct inspection *l, int fd)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (inspect_in_set(&l->tasks.v[i]) && polled_has(&l->polled[i], fd))
			return true;
	return false;
}

static bool is_armed(const struct inspection *l, const struct suspect *s)
{
	int fd = s->c.fd;
	if (s->c.fd_kind == CTP_FD_TIMERFD && stuck_wait_disarmed(l->pid, fd))
		return false;
	if (is_in_set(l, fd))
		return true;
	for (size_t i = 0; i < l->registrations.n; i++) {
		const struct registration *reg = &l->registrations.v[i];
		if (reg->tfd == fd && (reg->events & stuck_wait_needed(s)) && poller(l, reg->epfd) &&
		    stuck_wait_registered(reg, l->pid, fd))
			return true;
	}
	return false;
}

// Its event can come, has not come yet, and a thread waits for it.
static bool is_healthy(const struct inspection *l, struct suspect *s)
{
	for (uint32_t i = 0; i < s->s.nwaits && i < CTP_WAITS; i++) {
		const struct ctp_wait *w = &s->s.waits[i];
		struct ctp_fd f;
		if (w->fd < 0 || !inspect_fd(l->r, (uint64_t)w->fd, &f) || f.gen != w->gen ||
		    f.life != CTP_FD_OPEN)
			continue;
		s->wait = (int)i;
		s->c = (struct ctp_cand){.fd = w->fd, .gen = w->gen, .fd_kind = f.kind, .was = f};
		if (is_armed(l, s) && !stuck_wait_ready(l->pid, w->fd, stuck_wait_directions(s)))
			return true;
	}
	return false;
}

// -------------------------------------------------------------------- a look

static bool is_suspended(const struct ctp_region *r, uint64_t station, const struct idmap *suspects,
			 struct ctp_state *c)
{
	const struct ctp_state *s = &r->states[station];
	return ctp_load32(&s->owner) == CTP_OWNER_GUEST && s->life == CTP_SUSPENDED &&
	       s->entity == CTP_COROUTINE && ctp_state_read_settled(r, s, c) && c->life == CTP_SUSPENDED &&
	       c->entity == CTP_COROUTINE && c->runs && idmap_get(suspects, c->id) == IDMAP_NONE;
}

static uint64_t count(const struct ctp_region *r)
{
	uint64_t n = 0;
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
		n += r->states[i].life == CTP_SUSPENDED && r->states[i].entity == CTP_COROUTINE;
	return n;
}

static void make(struct suspect *x, uint64_t station, const struct ctp_state *c)
{
	// What is asked of one that is lost is not asked here.
	static const enum proof given[] = {PROOF_P0, PROOF_P2, PROOF_P3, PROOF_P4};
	x->cand = STUCK_WAIT_NO_CAND;
	x->s = *c;
	x->s.station = (uint32_t)station;
	x->c.fd = -1;
	x->wait = -1;
	for (size_t i = 0; i < sizeof(given) / sizeof(*given); i++)
		x->a[given[i]].holds = HOLDS_TRUE;
}

static int by_id(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	return x->s.id < y->s.id ? -1 : x->s.id > y->s.id;
}

// Some of those that are suspended, from all over the table. False: there was no memory to choose them.
static bool sample(const struct ctp_region *r, const struct suspects *suspects, struct suspect *v,
		   size_t *chosen)
{
	struct idmap known = {0};
	bool all = true;
	for (size_t i = 0; all && i < suspects->n; i++)
		all = !idmap_set(&known, suspects->v[i]->s.id, 0);
	uint64_t step = count(r) / SAMPLE + 1, at = 0;
	size_t n = 0;
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); all && i < w.n && n < SAMPLE; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state c;
		if (is_suspended(r, i, &known, &c) && at++ % step == 0)
			make(&v[n++], i, &c);
	}
	idmap_deinit(&known);
	qsort(v, n, sizeof(*v), by_id); // as the search wants them
	*chosen = n;
	return all;
}

static void judge(struct control_group *g, struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		if (s->gone || s->a[PROOF_P6A].holds != HOLDS_TRUE)
			continue;
		note(g, &s->s); // it may have been resumed since the search
		if (!g->coroutine && is_healthy(l, s) && suspect_holds(l->r, s))
			show(g, s->s.id, "whose wait for fd %d#%u is healthy", s->c.fd, s->c.gen);
	}
}

// Can its registers be known without a stop?
static bool all_hooked(const struct inspection *l)
{
	for (size_t i = 0; i < l->tasks.n; i++)
		if (!l->tasks.v[i].hooked && !proc_task_dead(&l->tasks.v[i]))
			return false;
	return true;
}

// Nobody runs between the beginning of a look and the end of a search that has an answer, but for those who
// are held for it: they may run until they are.
static void note_gone(struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->who[i]->gone |= !suspect_holds(l->r, l->who[i]);
}

// Could the search answer? Of one that was resumed before it began it cannot.
static bool is_told(const struct control_group *g, const struct inspection *l)
{
	size_t asked = 0, told = 0;
	for (size_t i = 0; i < l->n; i++) {
		asked += l->who[i]->gone || suspect_objects(l->who[i]);
		told += !l->who[i]->gone && suspect_objects(l->who[i]) &&
			l->who[i]->a[PROOF_P6A].holds != HOLDS_OPEN;
	}
	return g->coroutine || !asked || told;
}

// Something leads to one of them, so they are kept in a form that is searched for.
static bool is_found(const struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (!l->who[i]->gone && l->who[i]->a[PROOF_P6A].holds == HOLDS_FALSE)
			return true;
	return false;
}

// Nothing leads to any of the others, of whom none is known to be well: they may be lost, too, or all are
// kept in a form that is not searched for.
static void note_unfound(struct control_group *g, const struct inspection *l)
{
	size_t n = 0;
	for (size_t i = 0; i < l->n && !g->found; i++)
		n += !l->who[i]->gone && l->who[i]->a[PROOF_P6A].holds == HOLDS_TRUE &&
		     suspect_objects(l->who[i]);
	g->unfound = n > 0;
	if (n && !g->coroutine)
		snprintf(
			g->text, sizeof(g->text),
			"the search finds nothing that leads to %s either: all may be kept in a form that is not searched for",
			n == 1 ? "the only other suspended coroutine" : "any other suspended coroutine");
}

static bool search(struct control_group *g, struct inspection *l, bool own)
{
	bool told = false;
	if (inspect_begin(l))
		return false;
	note_gone(l);
	if (!own || all_hooked(l)) {
		objects_find(l);
		reach_judge(l);
		if (l->may_stop)
			note_gone(l);
		judge(g, l);
		told = is_told(g, l);
		g->found |= told && is_found(l);
		if (told)
			note_unfound(g, l);
	}
	inspect_deinit(l);
	return told;
}

static bool look(struct control_group *g, const struct suspects *suspects, struct inspection *l, bool own)
{
	struct suspect *v = calloc(SAMPLE, sizeof(*v));
	struct suspect **who = calloc(SAMPLE, sizeof(struct suspect *));
	uint64_t moves = ctp_region_moves(l->r);
	control_group_check(g, l->r, true);
	bool chosen = g->coroutine || (v && who && sample(l->r, suspects, v, &l->n));
	for (size_t i = 0; i < l->n; i++)
		who[i] = &v[i];
	l->who = who;
	bool told = chosen && (!l->n || search(g, l, own));
	g->looked = told ? moves : 0;
	free(who);
	free(v);
	l->who = NULL;
	l->n = 0;
	return told;
}

bool control_group_look(struct control_group *g, const struct suspects *suspects,
			const struct inspection *like, bool own)
{
	bool told = false;
	for (int i = 0; !told && i < (own ? 1 : TRIES) && !inspect_late(like); i++) {
		struct inspection l = *like;
		told = look(g, suspects, &l, own);
	}
	control_group_check(g, like->r, true);
	return told;
}

// ------------------------------------------------------------------- answers

void control_group_write(struct control_group *g, FILE *out, uint64_t ns)
{
	if (!g->coroutine || g->said || !out)
		return;
	json_t *o = json_pack("{s:i, s:I, s:s, s:I, s:s}", "v", 1, "ns", (json_int_t)ns, "what", "control",
			      "coroutine", (json_int_t)g->coroutine, "text", g->text);
	json_line(out, o);
	fflush(out);
	g->said = true;
}

// Why nothing that rests on a search is certain; NULL: no reason is known. A lead of a parked coroutine is no
// proof anyway, so it is only taken back where the form is known to be another, and weak where nothing shows
// that the search finds those that the program keeps.
static const char *doubt(const struct control_group *g, const struct suspect *s)
{
	if (g->coroutine || (g->unfound && s->rule != RULE_PARKED))
		return g->text;
	if (g->owed && !g->found && s->rule != RULE_PARKED)
		return "whether the search finds coroutines that can be resumed could not be told: they ran, or there was no time";
	return NULL;
}

void control_group_doubt(const struct control_group *g, struct inspection *l)
{
	for (size_t i = 0; i < l->n; i++) {
		struct suspect *s = l->who[i];
		const char *text = s->a[PROOF_P6A].holds == HOLDS_TRUE ? doubt(g, s) : NULL;
		if (text)
			inspect_say(&s->a[PROOF_P6A], HOLDS_OPEN, "%s", text);
		else if (s->a[PROOF_P6A].holds == HOLDS_TRUE)
			s->unchecked = s->rule == RULE_PARKED && !g->found;
	}
}
