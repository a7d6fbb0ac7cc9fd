// SPDX-License-Identifier: MIT
//
// The table of formats. A new one needs a row here, a body, and what CONTRIBUTING.md lists. A reason
// to refuse a trace that several formats share is here, too.
#include "analyze/format/format.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/history/profile.h"

static const char *profile_refuses(const struct world *w, const struct format_settings *settings)
{
	if (w->form == WORLD_LINES && !strcmp(w->path, "-"))
		return "a profile reads the lines twice, which a pipe cannot give; write them to a file first";
	static char none[300];
	if (settings->event && !program_classes_find(&w->program_events, settings->event)) {
		int n = snprintf(none, sizeof(none), "no event %.100s is in it; ", settings->event);
		for (size_t i = 0; i < w->program_events.n && n < (int)sizeof(none); i++)
			n += snprintf(none + n, sizeof(none) - (size_t)n, "%s%s:%s", i ? ", " : "it has ",
				      w->program_events.items[i].provider, w->program_events.items[i].name);
		if (!w->program_events.n)
			snprintf(none + n, sizeof(none) - (size_t)n, "there are none of the program's own");
		return none;
	}
	if (w->form == WORLD_CORE && settings->weight != PROFILE_SUSPENDED)
		return "a core file holds no history; --weight=suspended tells who waits, and for how long";
	return NULL;
}

static const char *timeline_refuses(const struct world *w, const struct format_settings *settings)
{
	struct stat st;
	if (w->form == WORLD_CORE)
		return "a core file has no history: make the timeline from the trace directory";
	if (strcmp(w->path, "-") && !stat(w->path, &st) && !S_ISFIFO(st.st_mode))
		return NULL;
	return "a timeline reads the lines twice, which a pipe cannot give; save them to a file first";
}

static const char *tasks_refuses(const struct world *w, const struct format_settings *settings)
{
	return w->form == WORLD_DIRECTORY ?
		       NULL :
		       "tasks are made of events, which only a trace directory holds: record with -o DIR";
}

const struct format formats[] = {
	{"text", FORMAT_REPORT | FORMAT_PEOPLE | FORMAT_GROUPS | FORMAT_FULL, format_text},
	{"json", FORMAT_REPORT | FORMAT_GROUPS | FORMAT_FULL, format_json},
	{"sarif", FORMAT_REPORT | FORMAT_FULL, format_sarif},
	{"markdown", FORMAT_REPORT | FORMAT_PEOPLE, format_markdown},
	{"html", FORMAT_REPORT | FORMAT_DOCUMENT | FORMAT_FULL, format_html},
	{"jsonl", 0, format_jsonl, format_jsonl_refuses},
	{"folded", FORMAT_PROFILE, format_folded, profile_refuses},
	{"speedscope", FORMAT_PROFILE, format_speedscope, profile_refuses},
	{"pprof", FORMAT_PROFILE | FORMAT_DOCUMENT, format_pprof, profile_refuses},
	{"perfetto", FORMAT_REPORT | FORMAT_DOCUMENT, format_perfetto, timeline_refuses},
	{"chrome", FORMAT_REPORT | FORMAT_DOCUMENT, format_chrome, timeline_refuses},
	{"tasks", FORMAT_PEOPLE, format_tasks, tasks_refuses},
	{"tasks-json", 0, format_tasks_json, tasks_refuses},
	{NULL, 0, NULL},
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
