// SPDX-License-Identifier: MIT
//
// The report as JSON, version 1 (spec/report.schema.json). Keys may be added;
// none changes or goes. What is unknown is null, never left out.
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/describe.h"
#include "analyze/format.h"

#define TOOL "ctp-analyze " CTP_TOOL_VERSION

static json_t *number(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

// Strings of the target (paths, names) may be no UTF-8: such bytes become '?'.
static json_t *string(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	if (j)
		return j;
	char *copy = strdup(s);
	for (char *p = copy; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j ? j : json_null();
}

static json_t *frame(const struct symbols_frame *f)
{
	char pc[24], offset[24];
	if (!f)
		return json_null();
	snprintf(pc, sizeof(pc), "0x%" PRIx64, f->pc);
	snprintf(offset, sizeof(offset), "0x%" PRIx64, f->offset);
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:b}", "pc", pc, "module", string(f->module),
			 "symbol", string(f->symbol), "file", string(f->file), "line",
			 f->line ? json_integer(f->line) : json_null(), "offset", offset,
			 "inlined", f->inlined);
}

static json_t *stack(const struct frames *f)
{
	if (!f->captured)
		return json_null();
	json_t *a = json_array();
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(a, frame(f->items[i]));
	return a;
}

static json_t *strings(char *const *s, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, string(s[i]));
	return a;
}

static json_t *trace_part(const struct world *w)
{
	const struct image_counts *c = &w->counts;
	// Tables and records tell these apart; JSON lines do not.
	bool known = w->form == WORLD_DIRECTORY;
	json_t *coroutines = json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "total", number(w->coroutines),
				       "created", known ? number(c->created) : json_null(),
				       "suspended", number(c->suspended), "running", number(c->running),
				       "finished", known ? number(c->finished) : json_null(),
				       "destroyed", known ? number(c->destroyed) : json_null());
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path", string(w->path),
			 "events", number(w->events), "lost", number(w->lost), "duration_ns",
			 number(w->duration_ns), "coroutines", coroutines, "threads", number(w->threads),
			 "switches", number(c->switches), "healthy_waiters", number(c->healthy),
			 "coverage", strings(w->coverage, w->ncoverage));
}

static json_t *coroutines(const struct report *r, const struct finding *f)
{
	json_t *a = json_array();
	for (size_t i = 0; i < f->n; i++) {
		const struct verdict_case *c = f->cases[i];
		json_array_append_new(a, json_pack(
			"{s:o, s:o, s:o, s:o}", "id", number(c->about.state->id), "entry",
			frame(report_entry(r, c)), "suspended_ns", number(describe_suspended_ns(c)),
			"switches", number(c->about.state->changes)));
	}
	return a;
}

static json_t *fd(const struct verdict_case *c)
{
	char name[128];
	bool named = describe_name(c, name, sizeof(name));
	return json_pack("{s:i, s:o, s:s, s:o}", "number", c->about.cand->fd, "generation",
			 number(c->about.cand->gen), "kind", describe_kind(c), "name",
			 string(named ? name : NULL));
}

static json_t *timeline(const struct verdict_case *c)
{
	struct timeline_entry all[TIMELINE_MAX];
	unsigned n = describe_timeline(c, all);
	json_t *a = json_array();
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(a, json_pack(
			"{s:o, s:o, s:o}", "t_ns", number(all[i].t_ns), "coroutine",
			all[i].coroutine ? number(all[i].coroutine) : json_null(), "what",
			string(all[i].what)));
	return a;
}

static json_t *evidence(const struct verdict_case *c)
{
	json_t *a = json_array();
	for (unsigned i = 0; i < PROOFS; i++) {
		const struct obligation *o = &c->proof.items[i];
		json_t *holds = o->holds == HOLDS_OPEN ? json_null() : json_boolean(o->holds == HOLDS_TRUE);
		json_array_append_new(a, json_pack("{s:s, s:o, s:o}", "id", proof_names[i], "holds",
						   holds, "text", string(o->text)));
	}
	return a;
}

static json_t *open_ways(const struct verdict_case *c)
{
	const struct witness *w = c->about.witness;
	json_t *a = w ? strings(w->open, w->nopen) : json_array();
	if (c->proof.also_open)
		json_array_append_new(a, string(c->proof.also_open));
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
			      "count", number(f->n), "message", string(message));
	json_object_set_new(o, "coroutines", coroutines(r, f));
	json_object_set_new(o, "fd", fd(c));
	json_object_set_new(o, "waiter_stack", stack(&f->waiter));
	json_object_set_new(o, "closer_stack", stack(&f->closer));
	json_object_set_new(o, "creator_stack", stack(&f->creator));
	json_object_set_new(o, "opener_stack", stack(&f->opener));
	json_object_set_new(o, "closer", number(c->about.cand->closer));
	json_object_set_new(o, "timeline", timeline(c));
	json_object_set_new(o, "evidence", evidence(c));
	json_object_set_new(o, "closure", string(c->proof.closure));
	json_object_set_new(o, "open", open_ways(c));
	json_object_set_new(o, "refuted_if", string(refuted));
	json_object_set_new(o, "fix", string(f->pass->fix));
	json_object_set_new(o, "known", json_boolean(f->known));
	return o;
}

int format_json(FILE *to, const struct report *r, const struct format_settings *settings)
{
	json_t *findings = json_array(), *facts = json_array();
	for (size_t i = 0; i < r->nfindings; i++)
		json_array_append_new(findings, finding(r, &r->findings[i]));
	for (size_t i = 0; i < r->found.nfacts; i++) {
		const struct fact *f = &r->found.facts[i];
		json_array_append_new(facts, json_pack("{s:s, s:o, s:o}", "rule", f->rule, "count",
						       number(f->count), "message", string(f->message)));
	}
	json_t *root = json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "version", 1, "tool", TOOL, "trace",
				 trace_part(r->world), "findings", findings, "facts", facts,
				 "suppressed", number(r->suppressed));
	int e = root ? 0 : -ENOMEM;
	if (!e && (json_dumpf(root, to, JSON_INDENT(2)) || putc('\n', to) == EOF))
		e = -EIO;
	json_decref(root);
	return e;
}
