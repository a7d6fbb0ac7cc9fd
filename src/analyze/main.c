// SPDX-License-Identifier: MIT
//
// ctp-analyze: reads a trace, runs the passes, writes the report. The only
// file of this program that prints messages and exits. stdout carries the
// report and nothing else.
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff/diff.h"
#include "analyze/export/fleet.h"
#include "analyze/facts/facts.h"
#include "analyze/progress.h"
#include "analyze/settings.h"
#include "analyze/untraced.h"
#include "base/file.h"
#include "base/outfile.h"
#include "base/text.h"
#include "trace/expand.h"
#include "trace/stream/stream.h"
#include "trace/streams.h"

#define WAIT_MS 2000

enum { EXIT_FINDING = 1, EXIT_USAGE = 2, EXIT_UNDECIDED = 3 };

static struct settings settings;
static struct progress progress;

// What is for people's eyes passes a gate: names, paths and source lines are the program's.
static int write_cleaned(FILE *to, int (*write)(FILE *to, void *arg, bool color), void *arg, bool color)
{
	char *text = NULL;
	size_t bytes;
	FILE *kept = open_memstream(&text, &bytes);
	int e = kept ? write(kept, arg, color) : -errno;
	if (kept && fclose(kept) && !e)
		e = -ENOMEM;
	if (!e)
		text_show(to, text, color);
	free(text);
	return e;
}

static int say_unwritten(int e)
{
	progress_end(&progress);
	fprintf(stderr, "ctp-analyze: cannot write %s: %s\n",
		settings.output ? settings.output : "the report", outfile_why(e));
	return EXIT_USAGE;
}

// Writes out what is left of the report, unless e says that it failed before.
static int finish(FILE *to, int e)
{
	if ((ferror(to) || fflush(to)) && !e)
		e = errno ? -errno : -EIO;
	if (to != stdout && fclose(to) && !e)
		e = -errno;
	return e;
}

struct formatted {
	const struct report *report;
	const struct format_settings *how;
};

static int report_to(FILE *to, void *arg, bool color)
{
	const struct formatted *f = arg;
	return settings.format->write(to, f->report, f->how);
}

static int write_report(const struct report *r)
{
	char note[FORMAT_NOTE] = "";
	struct format_settings how = {color_wanted(settings.color, settings.output ? -1 : 1),
				      settings.report.symfs,
				      settings.full,
				      settings.weight,
				      settings.all_time,
				      settings.event,
				      note};
	struct formatted f = {r, &how};
	const char *why = settings.format->refuses ? settings.format->refuses(r->world, &how) : NULL;
	if (why) {
		progress_end(&progress);
		fprintf(stderr, "ctp-analyze: %s: %s\n", r->world->path, why);
		return EXIT_USAGE;
	}
	FILE *to = stdout;
	int e = settings.output ? outfile_stream(&to, settings.output) : 0;
	if (!settings.output && isatty(1)) // what is written there shows how far it has got
		progress_end(&progress);
	if (e)
		return say_unwritten(e);
	e = settings.format->is & FORMAT_PEOPLE ? write_cleaned(to, report_to, &f, how.color) :
						  settings.format->write(to, r, &how);
	e = finish(to, e);
	progress_end(&progress);
	if (!e && *note)
		fprintf(stderr, "ctp-analyze: %s\n", note);
	return e ? say_unwritten(e) : 0;
}

// Of a file whose name is the trace's: it may hold anything.
static void __attribute__((format(printf, 2, 3))) say_of(const char *path, const char *format, ...)
{
	char name[4096], text[400];
	va_list ap;
	snprintf(name, sizeof(name), "%s", path);
	text_clean(name);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	fprintf(stderr, "ctp-analyze: %s %s\n", name, text);
}

// Says on stderr what is damaged or was cut off, and cuts it there if asked to.
static void cut_streams(const struct world *w)
{
	for (size_t i = 0; i < w->nstreams; i++) {
		const struct world_stream *s = &w->streams[i];
		char damage[300];
		if (streams_damage(s, damage, sizeof(damage)))
			say_of(s->path, "%s", damage);
		if (file_refused(s->error))
			say_of(s->path, "is not read: %s", file_why(s->error));
		if (s->whole_bytes == s->file_bytes)
			continue;
		int e = settings.repair ? world_stream_repair(w, s) : 0;
		say_of(s->path,
		       "was cut off: read up to its last whole packet (%" PRIu64 " of %" PRIu64 " bytes)%s%s",
		       s->whole_bytes, s->file_bytes,
		       !settings.repair ? "; --repair shortens it there" :
		       e                ? "; it could not be shortened: " :
					  "; shortened",
		       e ? file_why(e) : "");
	}
}

static bool undecided(const struct world *w)
{
	if (w->form == WORLD_LINES)
		return w->counts.suspended > 0;
	if (!w->has_last_tables)
		return w->counts.switches > 0;
	return w->v1_suspended > 0;
}

static int exit_status(const struct report *r)
{
	bool finding = false, open = undecided(r->world);
	for (size_t i = 0; i < r->nfindings; i++) {
		const struct finding *f = &r->findings[i];
		if (f->known)
			continue;
		if (f->verdict >= settings.report.minimum)
			finding = true;
		else
			open = true;
	}
	if (settings.exit_zero)
		return 0;
	return finding ? EXIT_FINDING : open ? EXIT_UNDECIDED : 0;
}

static int export_tables(const struct report *r)
{
	char why[TARGET_WHY], shown[1024];
	const char *where = target_shown(settings.export.target.where, shown, sizeof(shown));
	if (r->world->form == WORLD_LINES && export_needs_history(&settings.export) &&
	    !strcmp(r->world->path, "-")) {
		fputs("ctp-analyze: --export reads the lines twice, which a pipe cannot give; save them to a file first\n",
		      stderr);
		return EXIT_USAGE;
	}
	progress_what(&progress, "exporting");
	int e = export_report(r, &settings.export, why);
	progress_end(&progress);
	if (e < 0)
		fprintf(stderr, "ctp-analyze: cannot export to %s: %s\n", where, why);
	else if (e == EXPORT_THERE_ALREADY)
		fprintf(stderr, "ctp-analyze: %s has this trace already: nothing was written\n", where);
	return e < 0 ? EXIT_USAGE : 0;
}

static int analyze(const struct world *w)
{
	struct report r = {.world = w, .group_by = settings.report.group_by};
	const char *at = "";
	int e = settings.format->is & FORMAT_REPORT ? report_make(&r, w, &settings.report) : 0;
	if (!e && settings.format->is & FORMAT_REPORT)
		e = facts_make(&r, &settings.report);
	int status = EXIT_USAGE;
	progress_clear(&progress);
	bool others = settings.lost_wakeup && !settings.export.target.where &&
		      settings.format->is & FORMAT_REPORT;
	if (e) {
		fprintf(stderr, "ctp-analyze: %s: %s\n", w->path, strerror(-e));
	} else if ((e = report_filter(&r, &settings.report, &at)) ||
		   (others && (e = report_count_others(&r, &settings.report, &at)))) {
		fprintf(stderr, "ctp-analyze: %s: %s\n", at,
			e == -EPROTO ? "not a JSON report of ctp-analyze" : file_why(e));
	} else if (settings.export.target.where) {
		status = export_tables(&r);
	} else {
		status = write_report(&r);
		if (!status && (settings.format->is & FORMAT_REPORT))
			status = exit_status(&r);
	}
	report_deinit(&r);
	return status;
}

static int analyze_trace(void)
{
	const char *path = settings.trace ? settings.trace : "ctp.data";
	struct world_error error;
	struct world w;
	struct world_watch watch = {progress_report, &progress};
	progress_begin(&progress);
	int e = world_open(&w, path, WAIT_MS, &watch, &error);
	progress_clear(&progress);
	if (e) {
		if (e == -ENODATA && !strcmp(settings.format->name, "text") && !settings.output)
			untraced_report(path);
		fprintf(stderr, "ctp-analyze: %s: %s\n", path, error.text);
		return EXIT_USAGE;
	}
	cut_streams(&w);
	if (w.form == WORLD_LINES && w.cut_off)
		fprintf(stderr, "ctp-analyze: %s: the last line was cut off: dropped\n", path);
	int status = analyze(&w);
	world_close(&w);
	return status;
}

static int diff_to(FILE *to, void *arg, bool color)
{
	return diff_text(to, arg, color);
}

// Both at once, and what came of it. The worlds are the caller's.
static int compare(const struct world *old, const struct world *now)
{
	struct diff d;
	bool json = !strcmp(settings.format->name, "json");
	int at, e = diff_make(&d, old, now, &settings.report, &at);
	progress_end(&progress);
	if (e) {
		fprintf(stderr, "ctp-analyze: %s: %s\n", at == DIFF_OLD ? old->path : now->path,
			e == -ESPIPE ?
				"lines that come by a pipe cannot be compared; write them to a file first" :
				strerror(-e));
		return EXIT_USAGE;
	}
	FILE *to = stdout;
	e = settings.output ? outfile_stream(&to, settings.output) : 0;
	if (!e)
		e = finish(to, json ? diff_json(to, &d) :
				      write_cleaned(to, diff_to, &d,
						    color_wanted(settings.color, settings.output ? -1 : 1)));
	int status = e ? say_unwritten(e) : exit_status(&d.sides[DIFF_NEW].report);
	diff_deinit(&d);
	return status;
}

static int open_trace(struct world *w, const char *path, struct world_watch *watch)
{
	struct world_error error;
	progress_begin(&progress);
	int e = world_open(w, path, WAIT_MS, watch, &error);
	progress_clear(&progress);
	if (e)
		fprintf(stderr, "ctp-analyze: %s: %s\n", path, error.text);
	return e;
}

static int compare_traces(void)
{
	struct world_watch watch = {progress_report, &progress};
	struct world old, now;
	if (strcmp(settings.format->name, "text") && strcmp(settings.format->name, "json")) {
		fprintf(stderr, "ctp-analyze: --diff writes text or json, not %s\n", settings.format->name);
		return EXIT_USAGE;
	}
	if (open_trace(&old, settings.older, &watch))
		return EXIT_USAGE;
	int status = EXIT_USAGE;
	if (!open_trace(&now, settings.trace ? settings.trace : "ctp.data", &watch)) {
		status = compare(&old, &now);
		world_close(&now);
	}
	world_close(&old);
	return status;
}

static int ask_fleet(void)
{
	char why[TARGET_WHY], shown[1024];
	struct target_settings where = settings.export.target;
	where.where = settings.fleet;
	FILE *to = stdout;
	int e = settings.output ? outfile_stream(&to, settings.output) : 0;
	if (e)
		return say_unwritten(e);
	e = fleet_ask(to, &where, fleet_find(settings.trace), !strcmp(settings.format->name, "json"), why);
	if (e)
		fprintf(stderr, "ctp-analyze: cannot ask %s: %s\n",
			target_shown(settings.fleet, shown, sizeof(shown)), why);
	if (finish(to, 0) && !e)
		return say_unwritten(-EIO);
	return e ? EXIT_USAGE : 0;
}

static int expand(void)
{
	const char *path = settings.trace ? settings.trace : "ctp.data";
	int e = expand_trace(path, settings.expand);
	if (e == -EPROTO)
		fprintf(stderr, "ctp-analyze: %s: not a trace directory; --expand needs one\n", path);
	else if (e == -EOPNOTSUPP)
		fprintf(stderr,
			"ctp-analyze: %s: compressed in a way of another ctp; expand it with that one's ctp-analyze\n",
			path);
	else if (e == -EEXIST)
		fprintf(stderr, "ctp-analyze: %s exists; give --expand another name\n", settings.expand);
	else if (e)
		fprintf(stderr, "ctp-analyze: cannot write %s to %s: %s\n", path, settings.expand,
			strerror(-e));
	return e ? EXIT_USAGE : 0;
}

static int list_rules(void)
{
	for (size_t i = 0; i < npasses; i++)
		printf("%s  %s%s\n", passes[i]->rule, passes[i]->title, passes[i]->is_fact ? " (facts)" : "");
	return 0;
}

static int explain(const struct pass *p)
{
	printf("%s %s\n\n%s", p->rule, p->title, p->explain);
	return 0;
}

// Do its words go together? False: it was said why not.
static bool check_settings(void)
{
	const struct format *f = settings.format;
	char why[256];
	const char *idle = settings_idle(&settings);
	if (settings_wrong(&settings, why, sizeof(why))) {
		fprintf(stderr, "ctp-analyze: %s\n", why);
		return false;
	}
	if (f->is & FORMAT_DOCUMENT && !settings.output && isatty(1)) {
		fprintf(stderr,
			"ctp-analyze: --format=%s is not for a terminal; write it to a file: -o report.%s\n",
			f->name, f->name);
		return false;
	}
	if (idle)
		fprintf(stderr, "ctp-analyze: %s changes nothing: there are no findings in %s%s\n", idle,
			settings.expand ? "a copy of the trace" : "--format=",
			settings.expand ? "" : f->name);
	return true;
}

int main(int argc, char **argv)
{
	struct options_result r = settings_read(&settings, argc, argv);
	if (r.error) {
		fputs("ctp-analyze: ", stderr);
		bool rule = r.row && (!strcmp(r.row->name, "rule") || !strcmp(r.row->name, "explain"));
		if (*settings.no_rule)
			fprintf(stderr, "no such rule: %s", settings.no_rule);
		else
			options_say(&r, stderr);
		fputs(rule ? "; ctp-analyze --list-rules names the rules\n" : "; see ctp-analyze --help\n",
		      stderr);
		return EXIT_USAGE;
	}
	unsetenv("DEBUGINFOD_URLS"); // libdw would fetch debug files over the network
	if (settings.completion)
		return settings_completion(stdout, settings.completion) ? EXIT_USAGE : 0;
	switch (settings.action) {
	case ACTION_HELP:
		settings_help(stdout);
		return 0;
	case ACTION_MAN:
		settings_man(stdout);
		return 0;
	case ACTION_VERSION:
		puts("ctp-analyze " CTP_TOOL_VERSION);
		return 0;
	case ACTION_LIST:
		return list_rules();
	case ACTION_EXPLAIN:
		return explain(settings.explain);
	case ACTION_ANALYZE:
		break;
	}
	if (!check_settings())
		return EXIT_USAGE;
	return settings.fleet  ? ask_fleet() :
	       settings.expand ? expand() :
	       settings.older  ? compare_traces() :
				 analyze_trace();
}
