// SPDX-License-Identifier: MIT
//
// The findings of an HTML report: the parts of the text report as data, for the page to draw.
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyze/format/html.h"
#include "analyze/report/describe.h"
#include "base/json.h"
#include "base/text.h"
#include "ctp/words.h"

static json_t *who_json(const struct html *h, const struct verdict_case *c, uint64_t id)
{
	char who[256];
	return json_text(report_who(h->report, c->about.image, id, who, sizeof(who)));
}

// A thread's own stack that never switched has no id, and what nobody of the program did has none either.
#define UNNAMED (-1)

static bool by_unnamed(const struct verdict_case *c, const struct case_event *e)
{
	const struct world *w = c->about.world;
	const struct ctp_state *s = c->about.state;
	return (c->actor.did && !c->actor.id && e->ns == world_ns(w, c->actor.ticks)) ||
	       (c->opener.did && !c->opener.id && e->ns == world_ns(w, c->opener.ticks)) ||
	       (s && !s->creator && e->ns == world_ns(w, s->created)) ||
	       (c->maker.ticks && !c->maker.id && e->ns == world_ns(w, c->maker.ticks));
}

static json_t *events(const struct html *h, const struct verdict_case *c)
{
	uint64_t start = h->report->world->start_ns;
	json_t *a = json_array();
	for (unsigned i = 0; i < c->nevents; i++) {
		const struct case_event *e = &c->events[i];
		bool unnamed = !e->id && by_unnamed(c, e);
		json_array_append_new(a, json_pack("{s:o, s:o, s:o, s:o}", "t",
						   json_count(e->ns > start ? e->ns - start : 0), "id",
						   unnamed ? json_integer(UNNAMED) : json_count(e->id), "who",
						   e->id || unnamed ? who_json(h, c, e->id) : json_null(),
						   "what", json_text(e->what)));
	}
	return a;
}

static json_t *party(struct html *h, const struct verdict_case *c, const struct case_party *p)
{
	const struct ctp_state *s = c->about.state;
	json_t *o = json_pack("{s:o, s:o, s:o, s:o, s:o}", "did", json_text(p->did), "id",
			      p->id ? json_count(p->id) : json_integer(UNNAMED), "who", who_json(h, c, p->id),
			      "call", json_text(p->call), "stack", html_stack(h, c->about.image, p->stack));
	if (p->ticks)
		json_object_set_new(o, "t", json_count(html_ns(h, p->ticks)));
	if (p->ticks && s && c->pass->waits && p == &c->actor) {
		uint64_t at = world_ns(h->report->world, p->ticks),
			 since = world_ns(h->report->world, s->since);
		char after[32], text[48];
		text_duration(after, sizeof(after), at > since ? at - since : since - at);
		snprintf(text, sizeof(text), "%s %s", after, at >= since ? "after" : "before");
		json_object_set_new(o, "after", json_text(text));
	}
	return o;
}

static json_t *evidence(const struct verdict_case *c)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		if (!o->text && o->holds == HOLDS_OPEN)
			continue; // none of this rule's
		json_t *holds = o->holds == HOLDS_OPEN ? json_null() : json_boolean(o->holds == HOLDS_TRUE);
		json_array_append_new(
			a, json_pack("{s:s, s:s, s:o, s:o}", "id", proof_word(i), "word",
				     describe_proof(c, i), "holds", holds, "text", json_text(o->text)));
	}
	return a;
}

static json_t *open_ways(const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	const struct witness *w = f->verdict != VERDICT_PROVEN ? c->about.witness : NULL;
	json_t *a = json_array();
	for (size_t i = 0; w && i < w->nopen; i++)
		json_array_append_new(a, json_text(w->open[i]));
	if (c->proof.also_open)
		json_array_append_new(a, json_text(c->proof.also_open));
	return a;
}

static json_t *ids(struct html *h, const struct finding *f, size_t index)
{
	json_t *a = json_array();
	for (size_t i = 0; i < f->n; i++) {
		const struct verdict_case *c = f->cases[i];
		uint64_t key = html_key(c->about.image, c->id);
		json_array_append_new(a, json_count(c->id));
		if (idmap_get(&h->finding_of, key) == IDMAP_NONE &&
		    idmap_set(&h->finding_of, key, (uint32_t)index))
			h->error = -ENOMEM;
	}
	return a;
}

// From when on each of them waits in vain: that was done to what it waits for.
static json_t *in_vain(const struct html *h, const struct finding *f)
{
	json_t *a = json_array();
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(a, json_count(html_ns(h, f->cases[i]->actor.ticks)));
	return a;
}

static json_t *fd(const struct verdict_case *c)
{
	char name[300];
	if (c->fd < 0)
		return json_null();
	snprintf(name, sizeof(name), "%d#%u (%s%s%s)", c->fd, c->gen, words_kind(c->fd_kind),
		 c->fd_name ? " " : "", c->fd_name ? c->fd_name : "");
	return json_text(name);
}

static json_t *finding(struct html *h, const struct finding *f, size_t index)
{
	const struct report *r = h->report;
	const struct verdict_case *c = f->cases[0];
	const struct ctp_state *s = c->about.state;
	char print[17], message[768], refuted[256], where[64], who[256];
	snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
	describe_message(r, f, message, sizeof(message));
	describe_refuted(c, refuted, sizeof(refuted));
	report_where(r, c->about.image, where, sizeof(where));
	json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "rule", f->pass->rule, "title",
			      f->pass->title, "verdict", verdict_words[f->verdict], "fingerprint", print,
			      "known", json_boolean(f->known), "id", json_count(c->id), "who",
			      json_text(report_subject(r, f, who, sizeof(who))));
	json_object_set_new(o, "where", json_text(where));
	json_object_set_new(o, "image", json_count(c->about.image->index));
	json_object_set_new(o, "claim", json_text(describe_claim(c)));
	json_object_set_new(o, "message", json_text(message));
	json_object_set_new(o, "label", json_text(c->label));
	json_object_set_new(o, "doing", json_text(c->doing));
	json_object_set_new(o, "fd", fd(c));
	json_object_set_new(o, "ids", ids(h, f, index));
	json_object_set_new(o, "inVain", in_vain(h, f));
	json_object_set_new(o, "waiting",
			    json_boolean(s && s->life == CTP_SUSPENDED && (c->pass->waits || c->pass->idle)));
	json_object_set_new(o, "stack", html_stack(h, c->about.image, c->stack));
	json_object_set_new(o, "created", html_stack(h, c->about.image, case_creator_stack(c)));
	json_object_set_new(o, "actor", c->actor.did ? party(h, c, &c->actor) : json_null());
	json_object_set_new(o, "opener", c->opener.call ? party(h, c, &c->opener) : json_null());
	json_object_set_new(o, "events", events(h, c));
	json_object_set_new(o, "evidence", evidence(c));
	json_object_set_new(o, "closure", json_text(c->proof.closure));
	json_object_set_new(o, "open", open_ways(f));
	json_object_set_new(o, "refuted", json_text(refuted));
	json_object_set_new(o, "fix", json_text(c->fix ? c->fix : f->pass->fix));
	return o;
}

json_t *html_findings(struct html *h)
{
	json_t *a = json_array();
	for (size_t i = 0; i < h->report->nfindings; i++)
		json_array_append_new(a, finding(h, &h->report->findings[i], i));
	return a;
}

json_t *html_facts(const struct html *h)
{
	json_t *a = json_array();
	for (size_t i = 0; i < h->report->results.nfacts; i++) {
		const struct fact *f = &h->report->results.facts[i];
		json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "rule", f->rule, "count",
						   json_count(f->count), "message", json_text(f->message)));
	}
	return a;
}

// What --explain says of the rules that are spoken of.
json_t *html_rules(const struct html *h)
{
	json_t *o = json_object();
	for (size_t i = 0; i < npasses; i++) {
		bool told = false;
		for (size_t k = 0; k < h->report->nfindings && !told; k++)
			told = h->report->findings[k].pass == passes[i];
		for (size_t k = 0; k < h->report->results.nfacts && !told; k++)
			told = !strcmp(h->report->results.facts[k].rule, passes[i]->rule);
		if (told)
			json_object_set_new(o, passes[i]->rule,
					    json_pack("{s:s, s:o}", "title", passes[i]->title, "explain",
						      json_text(passes[i]->explain)));
	}
	return o;
}
