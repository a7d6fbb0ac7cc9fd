// SPDX-License-Identifier: MIT
//
// CTP013, coroutine leak: a place in the program that makes coroutines, at which none ever ended,
// with more and more of them suspended. The tables say how many were made and ended there, and for
// each one that lives in which turn of its creator's loop it was made. Time is counted in turns, as
// an idle loop makes none.
//
// The turns since the first one was made are cut into thirds, and in each at least EACH turns must
// have made one that is still suspended. A pool that is filled, or doubled, makes its coroutines in
// a turn or two, and so does a burst of actors. At eight turns a third and none ended, a site whose
// first coroutine merely has not ended yet would have to keep its oldest for two thirds of its life.
// Not counted are coroutines that wait on an open socket (somebody's session), that were made by such
// a one or beside it (part of that session), or that still run now and then (resumed in the last
// third); nor those whose creator, a coroutine, was since suspended at the same place: a pool, to
// which coroutines go that have done their work. finished_parked.c removes those that ended by a last
// switch away, where names are known.
#include "analyze/case/pass.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { EACH = 8, THIRDS = 3 };

struct member {
	const struct ctp_state *state;
	uint32_t site, thread;
	uint64_t turn;
};

struct leak {
	const struct world *world;
	const struct image *image;
	struct member *v;
	size_t n;
	struct begun *sessions; // sorted: by whom and when those that are sessions were made
	size_t nsessions;
};

struct begun {
	uint64_t by, made;
};

static const struct ctp_thread *thread_of(const struct image *m, uint32_t slot)
{
	for (size_t i = 0; i < m->threads.n; i++)
		if (table_index(&m->threads, i) == slot)
			return table_row(&m->threads, i);
	return NULL;
}

// Somebody outside may still have something to say to it.
static bool in_session(const struct image *m, const struct ctp_state *s)
{
	for (unsigned i = 0; s && i < image_nwaits(s); i++) {
		const struct ctp_fd *f = image_fd(m, s->waits[i].fd);
		bool socket = f && (f->kind == CTP_FD_TCP || f->kind == CTP_FD_UDP || f->kind == CTP_FD_UNIX);
		if (socket && !f->peer_desc && !(f->flags & CTP_FD_LISTENS) &&
		    image_wait_is_live(m, &s->waits[i]))
			return true;
	}
	return false;
}

static int by_begin(const void *a, const void *b)
{
	const struct begun *x = a, *y = b;
	if (x->by != y->by)
		return x->by < y->by ? -1 : 1;
	return x->made < y->made ? -1 : x->made > y->made;
}

static int find_sessions(struct leak *l)
{
	const struct image *m = l->image;
	l->sessions = calloc(m->stations.n + 1, sizeof(*l->sessions));
	for (size_t i = 0; l->sessions && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (s->entity == CTP_COROUTINE && s->life == CTP_SUSPENDED && in_session(m, s))
			l->sessions[l->nsessions++] = (struct begun){s->creator, s->made};
	}
	if (l->nsessions)
		qsort(l->sessions, l->nsessions, sizeof(*l->sessions), by_begin);
	return l->sessions ? 0 : -ENOMEM;
}

// Made in the same turn by the same one as a session that lasts: the writer beside its reader.
static bool beside_session(const struct leak *l, const struct ctp_state *s)
{
	struct begun key = {s->creator, s->made};
	return l->nsessions && bsearch(&key, l->sessions, l->nsessions, sizeof(key), by_begin);
}

static bool may_count(const struct leak *l, const struct ctp_state *s)
{
	const struct image *m = l->image;
	const struct ctp_site *site = s->creator_stack && s->creator_stack < m->sites.n ?
					      table_row(&m->sites, s->creator_stack) :
					      NULL;
	const struct ctp_state *maker = image_entity(m, s->creator);
	if (maker && maker->entity == CTP_COROUTINE && maker->life == CTP_SUSPENDED &&
	    maker->stack == s->stack)
		return false;
	return site && !site->ended && site->created >= THIRDS * EACH && s->entity == CTP_COROUTINE &&
	       s->life == CTP_SUSPENDED && s->runs && !image_ran_since(m, s) && !in_session(m, s) &&
	       !beside_session(l, s) &&
	       !(maker && maker->entity == CTP_COROUTINE && maker->life == CTP_SUSPENDED &&
		 in_session(m, maker));
}

static int by_site(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	if (x->site != y->site)
		return x->site < y->site ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->turn < y->turn ? -1 : x->turn > y->turn;
}

static int gather(struct leak *l)
{
	const struct image *m = l->image;
	l->v = calloc(m->stations.n ? m->stations.n : 1, sizeof(*l->v));
	for (size_t i = 0; l->v && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (may_count(l, s))
			l->v[l->n++] = (struct member){s, s->creator_stack, (uint32_t)(s->made >> 48),
						       s->made & ((1ULL << 48) - 1)};
	}
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_site);
	return l->v ? 0 : -ENOMEM;
}

// When the last third of the site's life began: the first time that one of its last third was made.
static uint64_t last_third(const struct member *v, size_t n, uint64_t first, uint64_t turns)
{
	uint64_t at = UINT64_MAX;
	for (size_t i = 0; i < n; i++)
		if ((v[i].turn - first) * THIRDS / turns >= THIRDS - 1 && v[i].state->created < at)
			at = v[i].state->created;
	return at;
}

static bool idle(const struct member *m, uint64_t since)
{
	return m->state->created >= since || m->state->since < since;
}

// Members of one site and one maker's thread, in the order of turns.
static bool grows(const struct leak *l, const struct member *v, size_t n, uint64_t *since)
{
	const struct ctp_thread *t = thread_of(l->image, v->thread);
	uint64_t first = v->turn, turns = t && t->turns >= v[n - 1].turn ? t->turns - first + 1 : 0;
	unsigned in[THIRDS] = {0};
	uint64_t seen = UINT64_MAX;
	if (turns < THIRDS * EACH)
		return false;
	*since = last_third(v, n, first, turns);
	for (size_t i = 0; i < n; i++) {
		if (v[i].turn == seen || !idle(&v[i], *since))
			continue;
		seen = v[i].turn;
		in[(seen - first) * THIRDS / turns]++;
	}
	return in[0] >= EACH && in[1] >= EACH && in[2] >= EACH;
}

static int report(const struct pass *pass, const struct leak *l, const struct member *m, size_t n,
		  struct results *out)
{
	const struct ctp_site *site = table_row(&l->image->sites, m->site);
	struct verdict_case c = {
		.pass = pass,
		.id = m->state->id,
		.stack = m->state->stack,
		.label = "suspended",
		.fd = -1,
		.about = {.world = l->world, .image = l->image, .state = m->state},
		.actor = {.did = "created by",
			  .id = m->state->creator,
			  .ticks = m->state->created,
			  .stack = m->state->creator_stack},
	};
	bool complete = case_complete(l->world, l->image);
	c.refuted = "coroutines created there end, but later than this run lasted";
	c.doing = results_text(out, "since it was made, one of %zu: %u were created there, none ended", n,
			       site->created);
	c.message = results_text(out, "%u coroutines were created there, none ended, and %zu are suspended",
				 site->created, n);
	c.proof.items[PROOF_P0] = case_completeness(complete);
	c.proof.items[PROOF_P1] = (struct obligation){HOLDS_TRUE, "suspended now"};
	c.proof.items[PROOF_P5] = (struct obligation){
		HOLDS_TRUE,
		results_text(out, "they were created in each third of the loop's turns since the first")};
	c.proof.verdict = VERDICT_SUSPECT;
	case_event(&c, m->state->created, m->state->creator, "creates it");
	case_event(&c, m->state->since, m->state->id, "suspends");
	return results_add(out, &c);
}

static int judge(const struct pass *pass, const struct leak *l, struct results *out)
{
	int r = 0;
	for (size_t i = 0, end; !r && i < l->n; i = end) {
		const struct member *v = &l->v[i];
		uint64_t since;
		size_t idlers = 0;
		for (end = i; end < l->n && l->v[end].site == v->site && l->v[end].thread == v->thread; end++)
			;
		if (!grows(l, v, end - i, &since))
			continue;
		for (size_t k = i; k < end; k++)
			idlers += idle(&l->v[k], since);
		for (size_t k = i; !r && k < end; k++)
			if (idle(&l->v[k], since))
				r = report(pass, l, &l->v[k], idlers, out);
	}
	return r;
}

static int run(const struct pass *pass, const struct world *w, struct results *out)
{
	int r = 0;
	for (size_t k = 0; !r && k < w->nimages; k++) {
		struct leak l = {.world = w, .image = &w->images[k]};
		if (!l.image->has_tables || l.image->replaced || !w->has_last_tables || !l.image->sites.n)
			continue;
		r = find_sessions(&l);
		if (!r)
			r = gather(&l);
		if (!r)
			r = judge(pass, &l, out);
		free(l.v);
		free(l.sessions);
	}
	return r;
}

const struct pass pass_leak = {
	.rule = rules_id[RULE_LEAK],
	.title = "coroutine leak",
	.idle = true,
	.run = run,
	.claim = "was created at a place whose coroutines do not end",
	.fix = "give every coroutine that is created there an end: a deadline or a cancellation for what it waits for, "
	       "or an end of the queue that it reads",
	.explain =
		"Coroutines that are created at one place again and again never end.\n"
		"\n"
		"    on_request(r) {\n"
		"            co_start(audit_writer, r);       one for every request\n"
		"            ...\n"
		"    }\n"
		"    audit_writer(r) {\n"
		"            chan_recv(&r->done);             nobody ever sends\n"
		"    }\n"
		"\n"
		"One place in the program creates coroutines again and again, they suspend, and not one of them has\n"
		"ended in the whole run: stacks, descriptors and what they hold pile up until memory or mappings run\n"
		"out.\n"
		"\n"
		"The turns of the loop since the first creation are divided into three parts. It is reported if in\n"
		"each part at least eight turns created a coroutine that is still idle.\n"
		"\n"
		"Repair: give what they wait for a time limit, or end them with the object that they belong to.\n"
		"\n"
		"Not reported: a pool that is filled at the start, or whose coroutines create each other; a burst of\n"
		"actors; places some of whose coroutines end; coroutines that wait for a socket whose peer may still\n"
		"send, or that run now and then. Coroutines that switched away for the last time from where their\n"
		"library or their first function ends are counted as a fact. ctp cannot tell a last yield that looks\n"
		"like any other from a wait.\n",
};
