// SPDX-License-Identifier: MIT
//
// The report as one HTML file that opens anywhere. Style, scripts and data are inside, and
// its policy (CSP, with the hashes of those scripts) lets it load and run nothing else. Names
// out of the target are data: the block of JSON has no literal `<`, so no name can end the
// block, and the scripts show names as text.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/crash.h"
#include "analyze/format/format.h"
#include "analyze/format/html.h"
#include "analyze/report/accounting.h"
#include "analyze/report/run_identity.h"
#include "analyze/report/stackless_sums.h"
#include "base/json.h"

static json_t *strings(char *const *s, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_text(s[i]));
	return a;
}

static json_t *mismatches(const struct report *r)
{
	const char *module;
	json_t *a = json_array();
	for (size_t i = 0; i < r->world->nimages; i++)
		for (size_t k = 0; r->symbols[i] && (module = symbols_mismatch(r->symbols[i], k)); k++)
			json_array_append_new(a, json_text(module));
	return a;
}

json_t *html_trace(const struct html *h)
{
	static const char *const forms[] = {"directory", "lines", "core"};
	const struct report *r = h->report;
	const struct world *w = r->world;
	const struct image_counts *c = &w->counts;
	char accounts[256];
	json_t *o = json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "path",
			      json_text(w->path), "form", forms[w->form], "command",
			      json_text(w->manifest.command), "durationNs", json_count(w->duration_ns),
			      "events", json_count(w->events), "lost", json_count(w->lost), "switches",
			      json_count(c->switches), "threads", json_count(w->threads), "total",
			      json_count(w->coroutines), "processes", json_count(w->processes));
	json_object_set_new(o, "stackless", json_count(stackless_sums(r).total));
	json_t *pids = json_array();
	for (size_t i = 0; i < w->nimages; i++)
		json_array_append_new(pids, json_count(w->images[i].pid));
	json_object_set_new(o, "pids", pids);
	json_object_set_new(o, "wallUs", json_count(run_identity_wall_ns(w, w->start_ns) / 1000));
	json_object_set_new(o, "offset", json_integer(run_identity_offset(w)));
	json_object_set_new(
		o, "counts",
		json_pack("{s:o, s:o, s:o, s:o, s:o}", "created", json_count(c->created), "suspended",
			  json_count(c->suspended), "running", json_count(c->running), "finished",
			  json_count(c->finished), "destroyed", json_count(c->destroyed)));
	json_object_set_new(o, "snapshotNs",
			    json_count(w->snapshot_ns > w->start_ns ? w->snapshot_ns - w->start_ns : 0));
	json_object_set_new(o, "reason", json_text(w->manifest.snapshot_reason));
	json_object_set_new(o, "healthy", json_count(r->healthy));
	json_object_set_new(o, "parked", json_count(r->parked));
	json_object_set_new(o, "accounting", json_text(accounting_text(r, accounts, sizeof(accounts))));
	json_object_set_new(o, "suppressed", json_count(r->suppressed));
	json_object_set_new(o, "compared", json_boolean(r->compared));
	json_object_set_new(o, "known", json_count(r->known));
	json_object_set_new(o, "coverage", strings(w->coverage, w->ncoverage));
	json_object_set_new(o, "mismatches", mismatches(r));
	json_object_set_new(o, "unused", strings(r->unused, r->nunused));
	return o;
}

static json_t *data(struct html *h, const char *symfs)
{
	json_t *o = json_pack("{s:s, s:o}", "tool", "ctp-analyze " CTP_TOOL_VERSION, "trace", html_trace(h));
	json_object_set_new(o, "findings", html_findings(h));
	json_object_set_new(o, "facts", html_facts(h));
	json_object_set_new(o, "rules", html_rules(h));
	json_object_set_new(o, "crashes", crash_json(h->report));
	json_object_set_new(o, "coroutines", html_coroutines(h));
	json_object_set_new(o, "timeline", html_timeline(h));
	json_object_set_new(o, "profile", html_profile(h, symfs));
	json_object_set(o, "frames", h->frames);
	json_object_set(o, "stacks", h->stacks);
	return o;
}

// JSON in a script element: `<` stands in strings only, and may be written in another way there.
static int put(const char *buffer, size_t size, void *arg)
{
	FILE *to = arg;
	while (size) {
		const char *at = memchr(buffer, '<', size);
		size_t plain = at ? (size_t)(at - buffer) : size;
		if (fwrite(buffer, 1, plain, to) != plain || (at && fputs("\\u003c", to) == EOF))
			return -1;
		plain += at != NULL;
		buffer += plain;
		size -= plain;
	}
	return 0;
}

static void put_escaped(FILE *to, const char *s)
{
	for (; *s; s++)
		if (*s == '<' || *s == '>' || *s == '&')
			fprintf(to, "&#%d;", *s);
		else
			fputc((unsigned char)*s < ' ' ? ' ' : *s, to);
}

// Also for who reads the file without its scripts.
static int put_run(FILE *to, const struct world *w)
{
	char text[4096];
	for (unsigned i = 0; i < RUN_IDENTITY_LINES; i++) {
		const char *label = run_identity_line(w, i, text, sizeof(text));
		if (!label)
			continue;
		fprintf(to, "%-8s ", label);
		put_escaped(to, text);
		fputc('\n', to);
	}
	return ferror(to) ? EOF : 0;
}

int format_html(FILE *to, const struct report *r, const struct format_settings *settings)
{
	struct html h = {.report = r, .frames = json_array(), .stacks = json_array()};
	json_array_append_new(h.stacks, json_array());
	json_t *root = data(&h, settings->symfs);
	int e = root ? h.error : -ENOMEM;
	if (!e &&
	    (fputs(html_before, to) == EOF || put_run(to, r->world) || fputs(html_between, to) == EOF ||
	     json_dump_callback(root, put, to, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(4)) ||
	     fputs(html_after, to) == EOF))
		e = format_not_written();
	json_decref(root);
	json_decref(h.frames);
	json_decref(h.stacks);
	idmap_deinit(&h.by_frame);
	idmap_deinit(&h.by_stack);
	idmap_deinit(&h.finding_of);
	return e;
}
