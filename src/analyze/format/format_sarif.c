// SPDX-License-Identifier: MIT
//
// The report as SARIF 2.1.0 (OASIS, March 2020), for code scanning services and editors. A
// rule is a reportingDescriptor, a finding is a result, and its verdict is the level: proven
// is error, likely warning, suspect note. A finding that could not be decided has the kind
// "open", whose level must be none (3.27.9). Each coroutine or native stack that took part has
// one threadFlow, in the order of time. The fingerprint is "ctp/v1". Files below the current
// directory are relative to SRCROOT, so that a service finds them in its checkout.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/format/format.h"
#include "analyze/report/accounting.h"
#include "analyze/report/describe.h"
#include "base/json.h"
#include "base/uri.h"

// The manual page, as every installation has it: there is no site whose address would stay.
#define HELP "man:ctp-analyze.1"
#define SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

static const char *const levels[] = {"none", "none", "note", "warning", "error"};

static json_t *message(const char *text)
{
	return json_pack("{s:o}", "text", json_text(text));
}

// Where the source of a frame lies; NULL where that is not known.
static json_t *physical(const struct symbols_frame *f, struct symbols *s)
{
	char uri[4096];
	if (!f->file)
		return NULL;
	const char *path = frames_path(f);
	bool relative = *path != '/' && access(path, R_OK) == 0;
	if (!uri_of_path(relative ? path : f->file, uri, sizeof(uri)))
		return NULL;
	json_t *at = json_pack("{s:s}", "uri", uri);
	if (relative)
		json_object_set_new(at, "uriBaseId", json_string("SRCROOT"));
	json_t *place = json_pack("{s:o}", "artifactLocation", at);
	char *source = symbols_source_line(s, f);
	if (f->line > 0) {
		json_t *region = json_pack("{s:i}", "startLine", f->line);
		if (source && *source)
			json_object_set_new(region, "snippet", message(source));
		json_object_set_new(place, "region", region);
	}
	free(source);
	return place;
}

static json_t *location(const struct symbols_frame *f, struct symbols *s, const char *text)
{
	char name[512];
	json_t *o = json_object(), *place = f ? physical(f, s) : NULL;
	if (place)
		json_object_set_new(o, "physicalLocation", place);
	if (f)
		json_object_set_new(
			o, "logicalLocations",
			json_pack("[{s:o, s:s}]", "fullyQualifiedName",
				  json_text(frames_whole_name(f, name, sizeof(name))), "kind", "function"));
	if (text)
		json_object_set_new(o, "message", message(text));
	return o;
}

static json_t *stack(const struct frames *f, struct symbols *s, const char *text)
{
	json_t *frames = json_array();
	for (size_t i = 0; i < f->n; i++) {
		json_t *frame = json_pack("{s:o}", "location", location(f->items[i], s, NULL));
		if (f->items[i]->module)
			json_object_set_new(frame, "module", json_text(f->items[i]->module));
		json_array_append_new(frames, frame);
	}
	return json_pack("{s:o, s:o}", "message", message(text), "frames", frames);
}

static json_t *stacks(const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	const struct {
		const struct frames *f;
		const char *what;
	} all[] = {{&f->waiter, c->label},
		   {&f->closer, c->actor.did ? c->actor.did : "by"},
		   {&f->opener, "opened"},
		   {&f->creator, "created"}};
	json_t *a = json_array();
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].f->n)
			json_array_append_new(a, stack(all[i].f, f->symbols, all[i].what));
	return a;
}

// Where an event of the timeline took place, as far as its stack is kept.
static const struct symbols_frame *place_of(const struct finding *f, const struct case_event *e)
{
	const struct verdict_case *c = f->cases[0];
	uint64_t opened = c->opener.ticks ? world_ns(c->about.world, c->opener.ticks) : 0;
	uint64_t acted = c->actor.ticks ? world_ns(c->about.world, c->actor.ticks) : 0;
	const struct frames *at = e->ns == opened && e->id == c->opener.id ? &f->opener :
				  e->ns == acted && e->id == c->actor.id   ? &f->closer :
				  e->id == c->id                           ? &f->waiter :
									     NULL;
	return at ? frames_first_own(at) : NULL;
}

// The steps of one entity, each numbered in the order of all.
static json_t *thread_flow(const struct report *r, const struct finding *f, uint64_t id)
{
	const struct verdict_case *c = f->cases[0];
	char who[256];
	json_t *steps = json_array();
	for (unsigned i = 0; i < c->nevents; i++) {
		const struct case_event *e = &c->events[i];
		if (e->id != id)
			continue;
		json_array_append_new(steps, json_pack("{s:o, s:i}", "location",
						       location(place_of(f, e), f->symbols, e->what),
						       "executionOrder", (int)i + 1));
	}
	return json_pack("{s:o, s:o, s:o}", "id",
			 json_text(report_who(r, c->about.image, id, who, sizeof(who))), "message",
			 message(id == c->id ? "the coroutine in question" : "the other party"), "locations",
			 steps);
}

static json_t *code_flow(const struct report *r, const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	json_t *flows = json_array();
	for (unsigned i = 0; i < c->nevents; i++) {
		bool before = !c->events[i].id;
		for (unsigned k = 0; k < i; k++)
			before |= c->events[k].id == c->events[i].id;
		if (!before)
			json_array_append_new(flows, thread_flow(r, f, c->events[i].id));
	}
	return flows;
}

static json_t *evidence(const struct verdict_case *c)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		json_t *holds = o->holds == HOLDS_OPEN ? json_null() : json_boolean(o->holds == HOLDS_TRUE);
		if (o->text || o->holds != HOLDS_OPEN)
			json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "id", proof_word(i), "holds",
							   holds, "text", json_text(o->text)));
		else
			json_decref(holds);
	}
	return a;
}

static json_t *properties(const struct finding *f)
{
	const struct verdict_case *c = f->cases[0];
	char refuted[256];
	json_t *ids = json_array();
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(ids, json_count(f->cases[i]->id));
	describe_refuted(c, refuted, sizeof(refuted));
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "verdict", verdict_words[f->verdict], "coroutines",
			 ids, "evidence", evidence(c), "closure", json_text(c->proof.closure), "refutedIf",
			 json_text(refuted), "fix", json_text(c->fix ? c->fix : f->pass->fix));
}

static int rule_index(const struct pass *pass)
{
	for (size_t i = 0; i < npasses; i++)
		if (passes[i] == pass)
			return (int)i;
	return -1;
}

static void set_filled(json_t *o, const char *key, json_t *array)
{
	if (json_array_size(array))
		json_object_set_new(o, key, array);
	else
		json_decref(array);
}

// Where the program is to be changed: at who closed or removed what was waited for, else where it waits.
static void add_locations(json_t *o, const struct finding *f)
{
	static const char *const by_another[] = {rules_id[RULE_LOST_WAKEUP], rules_id[RULE_REMOVED],
						 rules_id[RULE_SET_CLOSED]};
	const struct verdict_case *c = f->cases[0];
	const struct symbols_frame *waits = frames_first_own(&f->waiter), *at = waits;
	for (size_t i = 0; f->closer.n && i < sizeof(by_another) / sizeof(*by_another); i++)
		if (!strcmp(f->pass->rule, by_another[i]))
			at = frames_first_own(&f->closer);
	if (at)
		json_array_append_new(json_object_get(o, "locations"), location(at, f->symbols, NULL));
	if (at && waits && at != waits) {
		json_t *related = location(waits, f->symbols, c->label);
		json_object_set_new(related, "id", json_integer(0));
		json_object_set_new(o, "relatedLocations", json_pack("[o]", related));
	}
}

static json_t *result(const struct report *r, const struct finding *f, bool compared)
{
	char print[17], text[1024];
	snprintf(print, sizeof(print), "%016" PRIx64, f->fingerprint);
	describe_message(r, f, text, sizeof(text));
	json_t *o = json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:{s:s}, s:i}", "ruleId", f->pass->rule,
			      "ruleIndex", rule_index(f->pass), "kind",
			      f->verdict == VERDICT_INCONCLUSIVE ? "open" : "fail", "level",
			      levels[f->verdict], "message", message(text), "locations", json_array(),
			      "partialFingerprints", "ctp/v1", print, "occurrenceCount", (int)f->n);
	add_locations(o, f);
	set_filled(o, "stacks", stacks(f));
	json_t *flows = code_flow(r, f);
	json_object_set_new(o, "codeFlows", json_array());
	if (json_array_size(flows))
		json_array_append_new(json_object_get(o, "codeFlows"),
				      json_pack("{s:o}", "threadFlows", flows));
	else
		json_decref(flows);
	if (compared)
		json_object_set_new(o, "baselineState", json_string(f->known ? "unchanged" : "new"));
	json_object_set_new(o, "properties", properties(f));
	return o;
}

static json_t *rules(void)
{
	json_t *a = json_array();
	for (size_t i = 0; i < npasses; i++) {
		const struct pass *p = passes[i];
		json_t *o = json_pack("{s:s, s:o, s:o, s:o, s:{s:s}}", "id", p->rule, "shortDescription",
				      message(p->title), "fullDescription", message(p->explain), "help",
				      message(p->fix ? p->fix : p->explain), "defaultConfiguration", "level",
				      p->is_fact ? "none" : "warning");
		json_object_set_new(o, "helpUri", json_sprintf(HELP "#%s", p->rule));
		json_array_append_new(a, o);
	}
	return a;
}

// What is merely so, and what was covered: the tool speaks of its own run.
static json_t *notifications(const struct report *r)
{
	json_t *a = json_array();
	char accounts[256];
	json_array_append_new(
		a, json_pack("{s:o, s:s}", "message", message(accounting_text(r, accounts, sizeof(accounts))),
			     "level", "note"));
	for (size_t i = 0; i < r->world->ncoverage; i++)
		json_array_append_new(a, json_pack("{s:o, s:s}", "message", message(r->world->coverage[i]),
						   "level", "note"));
	for (size_t i = 0; i < r->results.nfacts; i++)
		json_array_append_new(a, json_pack("{s:o, s:s}", "message",
						   message(r->results.facts[i].message), "level", "note"));
	return a;
}

static json_t *run(const struct report *r)
{
	char here[4096], uri[4200];
	json_t *results = json_array();
	for (size_t i = 0; i < r->nfindings; i++)
		json_array_append_new(results, result(r, &r->findings[i], r->compared));
	json_t *driver = json_pack("{s:s, s:s, s:s, s:s, s:o}", "name", "ctp-analyze", "version",
				   CTP_TOOL_VERSION, "semanticVersion", CTP_TOOL_VERSION, "informationUri",
				   HELP, "rules", rules());
	json_t *o = json_pack("{s:{s:o}, s:s, s:[{s:b, s:o}], s:o}", "tool", "driver", driver, "columnKind",
			      "unicodeCodePoints", "invocations", "executionSuccessful", 1,
			      "toolExecutionNotifications", notifications(r), "results", results);
	if (getcwd(here, sizeof(here) - 1)) {
		strcat(here, "/");
		if (uri_of_path(here, uri, sizeof(uri)))
			json_object_set_new(o, "originalUriBaseIds",
					    json_pack("{s:{s:s}}", "SRCROOT", "uri", uri));
	}
	return o;
}

int format_sarif(FILE *to, const struct report *r, const struct format_settings *settings)
{
	(void)settings;
	json_t *root = json_pack("{s:s, s:s, s:[o]}", "$schema", SCHEMA, "version", "2.1.0", "runs", run(r));
	int e = root ? 0 : -ENOMEM;
	if (!e && (json_dumpf(root, to, JSON_INDENT(2)) || putc('\n', to) == EOF))
		e = format_not_written();
	json_decref(root);
	return e;
}
