// SPDX-License-Identifier: MIT
//
// One export from beginning to end. A run is in a target once: what is there with all that is wanted is
// left as it is, and what is there with less is replaced.
#include "analyze/export/export.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "analyze/export/source.h"
#include "analyze/export/source_run.h"

#define ALL_TABLES ((1u << SCHEMA_TABLES) - 1)
#define IDS_TRIED 16

// The tables of a list, as bits; 0: *bad is none.
static uint32_t tables_of(const char *list, const char **bad, size_t *bad_n)
{
	uint32_t bits = 1u << SCHEMA_TRACES;
	for (const char *p = list; *p; p += *p == ',') {
		size_t n = strcspn(p, ",");
		const struct schema_table *t = schema_find(p, n);
		if (!t) {
			*bad = p;
			*bad_n = n;
			return 0;
		}
		bits |= 1u << t->id;
		p += n;
	}
	return bits;
}

static uint32_t wanted(const struct export_settings *s)
{
	const char *bad, *only = s->target.table;
	size_t n;
	return only ? tables_of(only, &bad, &n) : s->tables ? tables_of(s->tables, &bad, &n) : ALL_TABLES;
}

bool export_needs_history(const struct export_settings *s)
{
	return wanted(s) &
	       (1u << SCHEMA_SWITCHES | 1u << SCHEMA_WAITS | 1u << SCHEMA_SLICES | 1u << SCHEMA_EVENTS |
		1u << SCHEMA_COROUTINES | 1u << SCHEMA_SITES | 1u << SCHEMA_HISTOGRAMS);
}

static bool wrong_table(const char *option, const char *list, char *out, size_t bytes)
{
	const char *bad;
	size_t n;
	if (!list || tables_of(list, &bad, &n))
		return false;
	size_t at =
		(size_t)snprintf(out, bytes, "%s: there is no table '%.*s'; there are", option, (int)n, bad);
	for (unsigned i = 0; i < SCHEMA_TABLES && at < bytes; i++)
		at += (size_t)snprintf(out + at, bytes - at, "%s %s", i ? "," : "", schema_tables[i].name);
	return true;
}

bool export_wrong(const struct export_settings *s, char *out, size_t bytes)
{
	const char *where = s->target.where;
	char names[600];
	if (!where)
		return false;
	const struct target_kind *kind = target_find(where);
	bool is_stdout = !strcmp(where, "-") || !strcmp(where, "csv:-");
	if (!kind)
		snprintf(out, bytes, "--export=%s: it takes %s", where, target_names(names, sizeof(names)));
	else if (kind->lacks)
		snprintf(out, bytes,
			 "--export=%s: this ctp was built without it; install %s and build ctp anew",
			 kind->form, kind->lacks);
	else if (is_stdout && !s->target.table)
		snprintf(out, bytes, "--export=csv:- writes one table; say which one with --table=");
	else if (s->target.table && (!is_stdout || strchr(s->target.table, ',')))
		snprintf(
			out, bytes,
			"--table is the one table of --export=csv:-; --tables=LIST chooses among those of other targets");
	else if (s->target.compress && kind != &target_csv)
		snprintf(out, bytes, "--compress is for --export=csv:; leave it out");
	else
		return wrong_table("--table", s->target.table, out, bytes) ||
		       wrong_table("--tables", s->tables, out, bytes);
	return true;
}

// ---------------------------------------------------------------------- labels

bool export_label_is(const char *label)
{
	const char *equals = strchr(label, '=');
	json_t *text = json_string(label); // takes UTF-8 alone
	bool is = text && equals && equals != label;
	json_decref(text);
	return is;
}

// The trace's own and those of --label, as a JSON object: a new string, or NULL.
static char *labels_of(const struct world *w, const struct export_settings *s)
{
	json_t *all = w->manifest.labels ? json_loads(w->manifest.labels, 0, NULL) : NULL;
	if (!json_is_object(all)) {
		json_decref(all);
		all = json_object();
	}
	for (unsigned i = 0; i < s->nlabels; i++) {
		const char *equals = strchr(s->labels[i], '=');
		char *key = strndup(s->labels[i], (size_t)(equals - s->labels[i]));
		if (key)
			json_object_set_new(all, key, json_string(equals + 1));
		free(key);
	}
	char *text = json_dumps(all, JSON_SORT_KEYS | JSON_COMPACT);
	json_decref(all);
	return text;
}

// "findings,traces", in the schema's order; buf holds it.
static const char *tables_text(uint32_t bits, char buf[TARGET_LIST])
{
	size_t n = 0;
	*buf = 0;
	for (unsigned i = 0; i < SCHEMA_TABLES && n < TARGET_LIST; i++)
		if (bits >> i & 1)
			n += (size_t)snprintf(buf + n, TARGET_LIST - n, "%s%s", n ? "," : "",
					      schema_tables[i].name);
	return buf;
}

// ------------------------------------------------------------------------ steps

static bool covers(const struct target_found *old, uint32_t bits, const char *labels)
{
	const char *bad;
	size_t n;
	uint32_t has = old->there ? tables_of(old->tables, &bad, &n) : 0;
	return has && !(bits & ~has) && !strcmp(old->labels, labels) &&
	       !strcmp(old->analyzed_by, CTP_TOOL_VERSION);
}

// An id that no trace has there.
static int choose_id(struct source *s)
{
	uint64_t seed = source_hash(0xcbf29ce484222325ULL, s->uuid, strlen(s->uuid));
	seed = source_hash(seed, &s->world->manifest.part, sizeof(s->world->manifest.part));
	for (int i = 0; i < IDS_TRIED; i++) {
		if (s->to->ops->chance && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
			return -errno;
		s->trace = source_trace_id(s->world, seed);
		int r = s->to->ops->has_id(s->to, s->trace);
		if (r <= 0)
			return r;
		seed = source_hash(seed, &i, sizeof(i));
	}
	return target_fail(s->to, -EEXIST, "every id that was tried is another trace's");
}

static int put_all(struct source *s, const struct target_found *old)
{
	const struct target_ops *ops = s->to->ops;
	int r = ops->begin(s->to, old);
	if (!r)
		r = choose_id(s);
	if (!r)
		r = source_put(s);
	return r ? r : ops->commit(s->to);
}

static int export_to(struct target *t, struct source *s)
{
	int r = target_load(t);
	if (r)
		return r;
	struct target_found *old = calloc(1, sizeof(*old));
	r = old ? t->ops->open(t) : -ENOMEM;
	if (!r)
		r = t->ops->find(t, old);
	if (!r)
		r = covers(old, s->wanted, s->labels) ? EXPORT_THERE_ALREADY : put_all(s, old);
	t->ops->close(t);
	free(old);
	return r;
}

int export_report(const struct report *report, const struct export_settings *settings, char why[TARGET_WHY])
{
	char uuid[RUN_IDENTITY_UUID], list[TARGET_LIST];
	struct source s;
	source_uuid(report->world, uuid);
	struct target t = {.kind = target_find(settings->target.where),
			   .settings = &settings->target,
			   .uuid = uuid,
			   .part = report->world->manifest.part};
	int r = source_open(&s, report, &t);
	s.uuid = uuid;
	s.wanted = wanted(settings);
	s.tables = tables_text(s.wanted, list);
	char *labels = labels_of(report->world, settings);
	s.labels = labels;
	if (!r)
		r = labels ? export_to(&t, &s) : -ENOMEM;
	source_close(&s);
	free(labels);
	snprintf(why, TARGET_WHY, "%s", *t.why ? t.why : r < 0 ? strerror(-r) : "");
	return r;
}
