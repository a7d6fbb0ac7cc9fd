// SPDX-License-Identifier: MIT
//
// Rows of findings and of what belongs to them, and of facts: the same as in the JSON report.
#include <inttypes.h>
#include <stdio.h>

#include "analyze/export/source.h"
#include "analyze/export/source_run.h"
#include "analyze/report/describe.h"
#include "ctp/words.h"

static void put_site_of(struct source *s, const struct frames *f)
{
	char name[2048];
	const struct symbols_frame *own = frames_first_own(f);
	row_copy(&s->row, own ? frames_name(own, name, sizeof(name)) : NULL);
	row_text(&s->row, own ? own->file : NULL);
	row_some(&s->row, own && own->line > 0 ? (uint64_t)own->line : 0);
}

static void put_fd(struct source *s, const struct verdict_case *c)
{
	bool is = c->fd >= 0;
	if (is)
		row_int(&s->row, c->fd);
	else
		row_null(&s->row);
	row_some(&s->row, is ? c->gen : 0);
	row_text(&s->row, is ? words_kind(c->fd_kind) : NULL);
	row_text(&s->row, is ? c->fd_name : NULL);
}

static int put_finding(struct source *s, size_t i)
{
	const struct finding *f = &s->report->findings[i];
	const struct verdict_case *c = f->cases[0];
	const struct image *m = c->about.image;
	char print[17], message[768], refuted[256], build[65];
	const char *host = s->world->manifest.host, *id = source_build_id(s->world, build);
	snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
	describe_message(s->report, f, message, sizeof(message));
	describe_refuted(c, refuted, sizeof(refuted));
	source_row(s, SCHEMA_FINDINGS);
	row_count(&s->row, i + 1);
	row_text(&s->row, f->pass->rule);
	row_text(&s->row, f->pass->title);
	row_text(&s->row, verdict_words[f->verdict]);
	row_text(&s->row, print);
	row_count(&s->row, f->n);
	row_text(&s->row, message);
	row_text(&s->row, host ? host : "");
	row_count(&s->row, source_started_ns(s->world));
	row_text(&s->row, id ? id : "");
	row_some(&s->row, m->pid);
	put_fd(s, c);
	put_site_of(s, &f->waiter);
	row_some(&s->row, c->actor.did ? c->actor.id : 0);
	put_site_of(s, &f->closer);
	source_stack(s, m, c->stack);
	source_stack(s, m, c->actor.stack);
	source_stack(s, m, case_creator_stack(c));
	source_stack(s, m, c->opener.stack);
	row_text(&s->row, c->proof.closure);
	row_text(&s->row, refuted);
	row_text(&s->row, c->fix ? c->fix : f->pass->fix);
	row_bool(&s->row, f->known);
	return source_done(s);
}

int source_findings(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->report->nfindings; i++)
		r = put_finding(s, i);
	return r;
}

int source_finding_coroutines(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->report->nfindings; i++) {
		const struct finding *f = &s->report->findings[i];
		for (size_t k = 0; !r && k < f->n; k++) {
			source_row(s, SCHEMA_FINDING_COROUTINES);
			row_count(&s->row, i + 1);
			row_count(&s->row, k + 1);
			row_count(&s->row, f->cases[k]->id);
			row_count(&s->row, case_suspended_ns(f->cases[k]));
			row_count(&s->row, f->cases[k]->about.state ? f->cases[k]->about.state->changes : 0);
			r = source_done(s);
		}
	}
	return r;
}

// ------------------------------------------------------------------- evidence

static int put_evidence(struct source *s, size_t finding, size_t *nth, const char *proof, int holds,
			const char *text)
{
	source_row(s, SCHEMA_EVIDENCE);
	row_count(&s->row, finding + 1);
	row_count(&s->row, ++*nth);
	row_text(&s->row, proof);
	if (holds == HOLDS_OPEN)
		row_null(&s->row);
	else
		row_bool(&s->row, holds == HOLDS_TRUE);
	row_text(&s->row, text);
	return source_done(s);
}

static int put_proofs(struct source *s, size_t finding, const struct verdict_case *c)
{
	const struct witness *w = c->about.witness;
	size_t nth = 0;
	int r = 0;
	for (unsigned i = 0; !r && i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		if (o->text || o->holds != HOLDS_OPEN) // else none of this rule's
			r = put_evidence(s, finding, &nth, proof_word(i), o->holds, o->text);
	}
	for (size_t i = 0; !r && w && i < w->nopen; i++)
		r = put_evidence(s, finding, &nth, "open", HOLDS_OPEN, w->open[i]);
	if (!r && c->proof.also_open)
		r = put_evidence(s, finding, &nth, "open", HOLDS_OPEN, c->proof.also_open);
	return r;
}

int source_evidence(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->report->nfindings; i++)
		r = put_proofs(s, i, s->report->findings[i].cases[0]);
	return r;
}

int source_timelines(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->report->nfindings; i++) {
		const struct verdict_case *c = s->report->findings[i].cases[0];
		for (unsigned k = 0; !r && k < c->nevents; k++) {
			source_row(s, SCHEMA_TIMELINES);
			row_count(&s->row, i + 1);
			row_count(&s->row, k + 1);
			row_int(&s->row, (int64_t)(c->events[k].ns - s->world->start_ns));
			row_some(&s->row, c->events[k].id);
			row_text(&s->row, c->events[k].what ? c->events[k].what : "");
			r = source_done(s);
		}
	}
	return r;
}

int source_facts(struct source *s)
{
	int r = 0;
	for (size_t i = 0; !r && i < s->report->results.nfacts; i++) {
		const struct fact *f = &s->report->results.facts[i];
		source_row(s, SCHEMA_FACTS);
		row_count(&s->row, i + 1);
		row_text(&s->row, f->rule);
		row_count(&s->row, f->count);
		row_text(&s->row, f->message);
		r = source_done(s);
	}
	return r;
}
