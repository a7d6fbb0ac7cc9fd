// SPDX-License-Identifier: MIT
//
// Counts are those of the engine's last inspection. Clang numbers suspensions from the first that there is,
// which is that before the start for most coroutines, and the first co_await for one that starts at once: the
// line tells.
#include "analyze/report/stackless_sums.h"

#include <string.h>

#include "analyze/case/stackless_case.h"
#include "base/idmap.h"

extern const struct pass pass_never_started;

// How long before the end of its process the image was looked at last; 0: at the end.
static uint64_t before_end(const struct world *w, const struct image *m, uint64_t ns)
{
	uint64_t end = m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns;
	bool before = !m->stackless.final && ns && ns < end;
	return before ? end - ns : 0;
}

struct stackless_sums stackless_sums(const struct report *r)
{
	struct stackless_sums s = {0};
	for (size_t i = 0; i < r->world->nimages; i++) {
		const struct stackless_looks *l = &r->world->images[i].stackless;
		s.unseen += l->looked ? 0 : l->unseen;
		if (!stackless_counts(&r->world->images[i]))
			continue;
		s.looked = true;
		s.total += l->total;
		s.suspended += l->suspended;
		s.initial += l->initial;
		s.last += l->last;
		s.running += l->running;
		s.may_have_ended += l->may_have_ended;
		s.undecided += l->undecided;
		for (size_t k = 0; k < l->ndestroyed; k++)
			s.destroyed += l->destroyed[k].count;
		s.why = l->undecided ? l->why : s.why;
		uint64_t before = before_end(r->world, &r->world->images[i], l->ns);
		s.before_end_ns = before > s.before_end_ns ? before : s.before_end_ns;
		before =
			before_end(r->world, &r->world->images[i], l->again_ns > l->ns ? l->again_ns : l->ns);
		s.waits_before_ns = before > s.waits_before_ns ? before : s.waits_before_ns;
		s.looks++;
	}
	for (size_t i = 0; i < r->nfindings; i++)
		if (!strcmp(r->findings[i].pass->rule, rules_id[RULE_UNRESUMABLE]) ||
		    !strcmp(r->findings[i].pass->rule, rules_id[RULE_NEVER_STARTED]))
			s.found += r->findings[i].n;
	return s;
}

static const struct stackless_seen *seen(const struct image *m, uint64_t id)
{
	for (size_t i = 0; i < m->stackless.n; i++)
		if (m->stackless.v[i].id == id)
			return &m->stackless.v[i];
	return NULL;
}

// `single`: its function suspends at one place alone. If there is a co_await in it, then that is the place.
static bool at_own_line(const struct report *r, const struct verdict_case *c, bool single)
{
	struct symbols *symbols = r->symbols[c->about.image - r->world->images];
	struct symbols_place p;
	unsigned n;
	const uint64_t *pcs = image_stack(c->about.image, c->stack, &n, NULL);
	if (!n || !symbols || symbols_find(symbols, pcs[0], true, &p) || !p.n)
		return false;
	int line = symbols_declared(symbols, pcs[0] - 1);
	return line && line == p.frames[p.n - 1].line && !(single && symbols_awaits(symbols, pcs[0] - 1));
}

// May the line be another one than that of its co_await?
static bool is_near(const struct report *r, const struct verdict_case *c)
{
	const struct symbols *symbols = r->symbols[c->about.image - r->world->images];
	unsigned n;
	const uint64_t *pcs = image_stack(c->about.image, c->stack, &n, NULL);
	return n && symbols && symbols_near(symbols, pcs[0]);
}

// Coroutines that the program tells of are found as frames, too: what is said of the frame is said of the
// coroutine. By where their frames begin; and those that await another one.
static int announced(struct idmap *by_frame, struct idmap *awaiting, const struct image *m)
{
	int e = 0;
	for (size_t i = 0; !e && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if (s->source != CTP_SOURCE_PROGRAM || !s->lo || s->life < CTP_CREATED ||
		    s->life > CTP_RUNNING)
			continue;
		e = idmap_set(by_frame, s->lo, (uint32_t)i);
		if (!e && s->link)
			e = idmap_set(awaiting, s->link, (uint32_t)i);
	}
	return e;
}

static bool of_frame(const struct verdict_case *c)
{
	return !strcmp(c->pass->rule, rules_id[RULE_UNRESUMABLE]) ||
	       !strcmp(c->pass->rule, rules_id[RULE_NEVER_STARTED]);
}

// Does it wait for another one alone, which is judged itself? By who awaits whom, as the frames say.
static bool awaits(const struct idmap *awaiting, const struct verdict_case *c)
{
	const struct ctp_state *s = c->about.state;
	return s && s->source == CTP_SOURCE_PROGRAM && !strcmp(c->pass->rule, rules_id[RULE_PARKED]) &&
	       idmap_get(awaiting, s->lo) != IDMAP_NONE;
}

static int join(struct report *r, const struct image *m)
{
	struct idmap by_frame = {0}, awaiting = {0};
	size_t kept = 0;
	int e = announced(&by_frame, &awaiting, m);
	for (size_t i = 0; !e && i < r->results.ncases; i++) {
		struct verdict_case *c = &r->results.cases[i];
		uint32_t row = c->about.image == m && of_frame(c) ? idmap_get(&by_frame, c->id) : IDMAP_NONE;
		if (row != IDMAP_NONE) {
			c->about.state = image_state(m, row);
			c->id = c->about.state->id;
		}
		if (c->about.image != m || !awaits(&awaiting, c))
			r->results.cases[kept++] = *c;
	}
	r->results.ncases = e ? r->results.ncases : kept;
	idmap_deinit(&by_frame);
	idmap_deinit(&awaiting);
	return e;
}

int stackless_join(struct report *r)
{
	int e = 0;
	for (size_t i = 0; !e && i < r->world->nimages; i++)
		e = join(r, &r->world->images[i]);
	return e;
}

// Does the promise of the one that awaits it lead to it, so that the program can resume it through that one?
// Then it is healthy: false. If nothing says where the promise ends, it may be.
static bool is_owned(const struct report *r, struct verdict_case *c, const struct stackless_seen *s)
{
	enum { PROMISE = 16 }; // behind its frame's two functions
	struct symbols *symbols = r->symbols[c->about.image - r->world->images];
	uint64_t bytes = symbols && s->promise_of ? symbols_promise(symbols, s->promise_of) : 0;
	if (!s->promise_of || s->answer != STACKLESS_OWNED)
		return true;
	if (bytes)
		return s->promise_at >= PROMISE + bytes;
	c->proof.verdict = c->proof.verdict == VERDICT_LIKELY ? VERDICT_SUSPECT : c->proof.verdict;
	c->proof.items[PROOF_P6A].text =
		"only what waits for it leads to it, perhaps by its promise: nothing says where that ends";
	return true;
}

void stackless_settle(struct report *r)
{
	size_t kept = 0;
	for (size_t i = 0; i < r->results.ncases; i++) {
		struct verdict_case *c = &r->results.cases[kept];
		*c = r->results.cases[i];
		const struct stackless_seen *s = strcmp(c->pass->rule, rules_id[RULE_UNRESUMABLE]) ?
							 NULL :
							 seen(c->about.image, c->id);
		kept += !s || is_owned(r, c, s);
		if (s && is_near(r, c)) {
			c->doing = "as a C++20 coroutine, at a co_await near this line";
			c->proof.items[PROOF_P1].text =
				"its frame says that it is suspended, at a co_await near this line";
		}
		if (!s || !s->may_be_initial || !at_own_line(r, c, s->single))
			continue;
		c->pass = &pass_never_started;
		c->message = "it was made and never resumed, and its handle is kept nowhere";
	}
	r->results.ncases = kept;
}
