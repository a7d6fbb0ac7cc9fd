// SPDX-License-Identifier: MIT
//
// The report as JSON, version 1 (spec/report.schema.json). Keys may be added; none changes or
// is removed. An unknown value is null, and its key is never left out.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/crash.h"
#include "analyze/format/format.h"
#include "analyze/format/listing.h"
#include "analyze/report/accounting.h"
#include "analyze/report/describe.h"
#include "analyze/report/run_identity.h"
#include "analyze/report/stackless_sums.h"
#include "analyze/report/undecided.h"
#include "analyze/report/waiters.h"
#include "base/json.h"
#include "ctp/words.h"
#include "symbols/frames_json.h"

#define WAITERS_MOST 100
#define TOOL "ctp-analyze " CTP_TOOL_VERSION

static json_t *strings(char *const *s, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_text(s[i]));
	return a;
}

static json_t *stackless(const struct stackless_sums *s)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "total", json_count(s->total),
			 "suspended", json_count(s->suspended), "initial", json_count(s->initial), "final",
			 json_count(s->last), "running", json_count(s->running), "may_have_ended",
			 json_count(s->may_have_ended), "in_findings", json_count(s->found), "undecided",
			 json_count(s->undecided), "before_end_ns", json_count(s->before_end_ns), "destroyed",
			 json_count(s->destroyed));
}

static json_t *trace_part(const struct report *r)
{
	const struct world *w = r->world;
	const struct image_counts *c = &w->counts;
	// Tables and records tell these apart; JSON lines do not.
	bool known = w->form != WORLD_LINES;
	json_t *coroutines = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "total", json_count(w->coroutines),
				       "created", known ? json_count(c->created) : json_null(), "suspended",
				       json_count(c->suspended), "running", json_count(c->running),
				       "finished", json_count(c->finished), "destroyed",
				       known ? json_count(c->destroyed) : json_null());
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path", json_text(w->path),
			      "events", json_count(w->events), "lost", json_count(w->lost), "duration_ns",
			      json_count(w->duration_ns), "coroutines", coroutines, "threads",
			      json_count(w->threads), "switches", json_count(c->switches), "healthy_waiters",
			      json_count(r->healthy), "coverage", strings(w->coverage, w->ncoverage));
	const struct stackless_sums s = stackless_sums(r);
	if (s.looked)
		json_object_set_new(o, "stackless", stackless(&s));
	return o;
}

// Events of the program's own, each with how many of it the trace has.
static json_t *program_events(const struct world *w)
{
	json_t *all = json_array();
	for (size_t i = 0; i < w->program_events.n; i++) {
		const struct program_class *k = &w->program_events.items[i];
		json_t *fields = json_array();
		for (unsigned f = 0; f < k->nfields; f++)
			json_array_append_new(
				fields, json_pack("{s:o, s:o}", "name", json_text(k->fields[f].name), "type",
						  json_text(k->fields[f].type)));
		json_array_append_new(
			all, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "provider", json_text(k->provider),
				       "name", json_text(k->name), "count", json_count(k->count), "file",
				       json_text(k->file), "line", json_count(k->line), "fields", fields));
	}
	return all;
}

static json_t *run_part(const struct world *w)
{
	char uuid[RUN_IDENTITY_UUID], started[RUN_IDENTITY_TIME];
	const struct manifest *m = &w->manifest;
	uint64_t id = run_identity_pid(w);
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "uuid", json_text(run_identity_uuid(w, uuid)),
			 "argv", m->nargv ? strings(m->argv, m->nargv) : json_null(), "pid",
			 id ? json_count(id) : json_null(), "host", json_text(m->host), "started",
			 json_text(run_identity_started(w, started)), "ctp",
			 json_text(run_identity_version(w)));
}

static json_t *accounting(const struct report *r)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "suspended",
			 json_count(r->world->counts.suspended), "in_findings",
			 json_count(r->accounting[ACCOUNT_FOUND]), "healthy",
			 json_count(r->accounting[ACCOUNT_HEALTHY]), "parked",
			 json_count(r->accounting[ACCOUNT_PARKED]), "pooled",
			 json_count(r->accounting[ACCOUNT_POOLED]), "undecided",
			 json_count(r->accounting[ACCOUNT_UNDECIDED]));
}

static json_t *pid(const struct verdict_case *c)
{
	return c->about.image->pid ? json_count(c->about.image->pid) : json_null();
}

static json_t *fds(const struct verdict_case *c)
{
	struct describe_fd all[DESCRIBE_FDS];
	unsigned n = describe_fds(c, all);
	json_t *a = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json_pack("{s:i, s:o, s:b}", "number", all[i].fd, "generation",
						   json_count(all[i].gen), "closed", all[i].closed));
	return a;
}

static json_t *coroutines(const struct report *r, const struct finding *f)
{
	json_t *a = json_array();
	const struct symbols_frame *entry = NULL;
	for (size_t i = 0; i < f->n; i++) {
		const struct verdict_case *c = f->cases[i];
		char name[CTP_NAME_TEXT];
		const struct ctp_state *now = c->about.state, *last = i ? f->cases[i - 1]->about.state : NULL;
		if (!now || !last || c->about.image != f->cases[i - 1]->about.image ||
		    now->entry != last->entry || now->stack != last->stack)
			entry = report_entry(r, c);
		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "id", json_count(c->id),
				     "name", json_text(image_name(c->about.image, c->id, name)), "entry",
				     frames_json_one(entry), "suspended_ns", json_count(case_suspended_ns(c)),
				     "switches", json_count(c->about.state ? c->about.state->changes : 0),
				     "pid", pid(c), "fds", fds(c), "creator",
				     case_creator(c) ? json_count(case_creator(c)) : json_null()));
		if (case_late_ns(c))
			json_object_set_new(json_array_get(a, i), "suspended_late_ns",
					    json_count(case_late_ns(c)));
	}
	return a;
}

static json_t *fd(const struct verdict_case *c)
{
	if (c->fd < 0)
		return json_null();
	return json_pack("{s:i, s:o, s:s, s:o}", "number", c->fd, "generation", json_count(c->gen), "kind",
			 words_kind(c->fd_kind), "name", json_text(c->fd_name));
}

static json_t *timeline(const struct verdict_case *c)
{
	uint64_t start = c->about.world->start_ns;
	json_t *a = json_array();
	for (unsigned i = 0; i < c->nevents; i++) {
		const struct case_event *e = &c->events[i];
		char wall[RUN_IDENTITY_TIME];
		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:o}", "t_ns",
				     json_count(e->ns > start ? e->ns - start : 0), "coroutine",
				     e->id ? json_count(e->id) : json_null(), "what", json_text(e->what),
				     "wall", json_text(run_identity_wall(c->about.world, e->ns, wall))));
	}
	return a;
}

static json_t *evidence(const struct verdict_case *c)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		if (!o->text && o->holds == HOLDS_OPEN)
			continue; // none of this rule's
		json_t *holds = o->holds == HOLDS_OPEN ? json_null() : json_boolean(o->holds == HOLDS_TRUE);
		json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "id", proof_word(i), "holds", holds,
						   "text", json_text(o->text)));
	}
	return a;
}

static json_t *open_ways(const struct verdict_case *c)
{
	const struct witness *w = c->about.witness;
	json_t *a = w ? strings(w->open, w->nopen) : json_array();
	if (c->proof.also_open)
		json_array_append_new(a, json_text(c->proof.also_open));
	return a;
}

static json_t *finding(const struct report *r, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	char print[17], message[768], refuted[256];
	snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
	describe_message(r, f, message, sizeof(message));
	describe_refuted(c, refuted, sizeof(refuted));
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "rule", f->pass->rule, "title",
			      f->pass->title, "verdict", verdict_words[f->verdict], "fingerprint", print,
			      "count", json_count(f->n), "message", json_text(message));
	json_object_set_new(o, "pid", pid(c));
	json_object_set_new(o, "coroutines", coroutines(r, f));
	json_object_set_new(o, "fd", fd(c));
	json_object_set_new(o, "waiter_stack", frames_json(&f->waiter));
	json_object_set_new(o, "closer_stack", frames_json(&f->closer));
	json_object_set_new(o, "creator_stack", frames_json(&f->creator));
	json_object_set_new(o, "opener_stack", frames_json(&f->opener));
	json_object_set_new(o, "closer", c->actor.did ? json_count(c->actor.id) : json_null());
	json_object_set_new(o, "timeline", timeline(c));
	json_object_set_new(o, "evidence", evidence(c));
	json_object_set_new(o, "closure", json_text(c->proof.closure));
	json_object_set_new(o, "open", open_ways(c));
	json_object_set_new(o, "refuted_if", json_text(refuted));
	json_object_set_new(o, "fix", json_text(c->fix ? c->fix : f->pass->fix));
	json_object_set_new(o, "known", json_boolean(f->known));
	return o;
}

// Who waits and is in no finding, by stack, the longest wait first.
static json_t *waiters(const struct report *r)
{
	struct waiters all;
	json_t *a = json_array();
	if (waiters_collect(&all, r))
		return a;
	for (size_t i = 0; i < all.n && i < WAITERS_MOST; i++) {
		const struct waiters_group *g = &all.items[i];
		struct frames f = {0};
		char why[300];
		frames_read(&f, r->symbols[g->image - r->world->images], g->image,
			    image_told_stack(g->image, g->oldest));
		json_array_append_new(
			a, json_pack("{s:o, s:o, s:o, s:b, s:s, s:s?, s:o}", "count", json_count(g->n),
				     "longest", json_count(g->oldest->id), "suspended_ns",
				     json_count(waiters_age_ns(r, g)), "live", g->kind == ACCOUNT_HEALTHY,
				     "kind", accounting_words[g->kind], "why",
				     g->kind == ACCOUNT_UNDECIDED ?
					     undecided_why(r, g->image, g->oldest, why, sizeof(why)) :
					     NULL,
				     "stack", frames_json(&f)));
		frames_deinit(&f);
	}
	waiters_deinit(&all);
	return a;
}

int format_json(FILE *to, const struct report *r, const struct format_settings *settings)
{
	json_t *findings = json_array(), *facts = json_array();
	for (size_t i = 0; i < r->nfindings; i++)
		json_array_append_new(findings, finding(r, &r->findings[i]));
	for (size_t i = 0; i < r->results.nfacts; i++) {
		const struct fact *f = &r->results.facts[i];
		json_array_append_new(
			facts, json_pack("{s:s, s:o, s:o}", "rule", f->rule, "count", json_count(f->count),
					 "message", json_text(f->message)));
	}
	json_t *longest = waiters(r);
	json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "tool", TOOL,
				 "trace", trace_part(r), "findings", findings, "facts", facts, "suppressed",
				 json_count(r->suppressed), "unused_suppressions",
				 strings(r->unused, r->nunused), "waiters", longest);
	if (r->others)
		json_object_set_new(root, "other_findings", json_count(r->others));
	json_object_set_new(root, "run", run_part(r->world));
	json_object_set_new(root, "accounting", accounting(r));
	json_object_set_new(root, "crashes", crash_json(r));
	if (r->world->program_events.n)
		json_object_set_new(root, "program_events", program_events(r->world));
	if (r->world->form == WORLD_CORE)
		json_object_set_new(root, "groups", listing_json(r));
	int e = root ? 0 : -ENOMEM;
	if (!e && (json_dumpf(root, to, JSON_INDENT(2)) || putc('\n', to) == EOF))
		e = format_not_written();
	json_decref(root);
	return e;
}
