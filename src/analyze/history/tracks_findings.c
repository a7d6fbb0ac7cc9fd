// SPDX-License-Identifier: MIT
//
// Puts findings on tracks: each part on the track of whom it is about, at its time. A coroutine
// that has ended by the end of the walk has no row any more, and its part gets no track.
#include "analyze/history/tracks.h"

#include <errno.h>

// Parts of a finding go to whom they are about, of those that are there at the end.
struct parts {
	struct tracks *t;
	struct idmap rows; // by id
};

static int report_part(struct parts *p, const struct tracks_finding *of, const char *role, uint64_t id,
		       uint64_t ns, uint32_t stack)
{
	struct tracks *t = p->t;
	struct tracks_finding part = *of;
	uint32_t row = idmap_get(&p->rows, id);
	part.role = role;
	part.id = id;
	part.ns = ns;
	part.site = tracks_names_site(&t->names, t->report, of->c->about.image, stack, 0);
	part.coroutine = row == IDMAP_NONE ? NULL : &t->coroutines[row];
	for (size_t i = 0; id && i < t->nthreads; i++)
		if (t->threads[i]->native == id)
			part.thread = t->threads[i];
	if (ns && part.site)
		t->sink->finding(t->arg, &part);
	return part.site ? 0 : -ENOMEM;
}

// Where its coroutine left for the last time (or what it did happened), and what the other one did.
static int report_case(struct parts *p, const struct finding *f, size_t k)
{
	const struct verdict_case *c = f->cases[k];
	const struct world *w = p->t->report->world;
	const struct ctp_state *s = c->about.state;
	struct tracks_finding of = {.finding = f, .c = c, .pid = c->about.image->pid, .first = !k};
	uint64_t since = s ? world_ns(w, s->since) : 0, first = c->nevents ? c->events[0].ns : 0;
	int r = report_part(p, &of, c->label ? c->label : "waiting", c->id,
			    first && !c->pass->waits ? first : since, c->stack);
	if (!r && c->actor.did)
		r = report_part(p, &of, c->actor.did, c->actor.id, world_ns(w, c->actor.ticks),
				c->actor.stack);
	return r;
}

int tracks_tell_findings(struct tracks *t)
{
	struct parts p = {.t = t};
	const struct report *report = t->report;
	int r = 0;
	for (size_t i = 0; report->nfindings && !r && i < t->ncoroutines; i++)
		r = t->coroutines[i].id ? idmap_set(&p.rows, t->coroutines[i].id, (uint32_t)i) : 0;
	for (size_t i = 0; i < report->nfindings; i++)
		for (size_t k = 0; !r && k < report->findings[i].n; k++)
			r = report_case(&p, &report->findings[i], k);
	idmap_deinit(&p.rows);
	return r;
}
