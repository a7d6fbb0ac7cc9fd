// SPDX-License-Identifier: MIT
//
// Which options go together. An option that can change nothing is refused if it is about
// how the output looks. If it is about findings it is only named, as some formats have no
// findings and scripts pass the same options to all.
#include "analyze/settings.h"

#include <string.h>

#include "analyze/export/fleet.h"

static bool wrong(char *out, size_t bytes, const char *option, const char *why)
{
	snprintf(out, bytes, "%s %s", option, why);
	return true;
}

static bool wrong_format(const struct settings *s, char *out, size_t bytes)
{
	unsigned is = s->format->is;
	if (s->tasks && strncmp(s->format->name, "tasks", 5) != 0)
		return wrong(out, bytes, "--tasks", "writes text or json; leave out any other --format");
	if (s->weight_given && !(is & FORMAT_PROFILE))
		return wrong(out, bytes, "--weight",
			     "is for profiles; add --format=folded, speedscope or pprof, or leave it out");
	if (s->all_time && !(is & FORMAT_PROFILE))
		return wrong(out, bytes, "--all-time",
			     "is for profiles; add --format=folded, speedscope or pprof, or leave it out");
	if (s->full && !(is & FORMAT_FULL))
		return wrong(
			out, bytes, "--full",
			"is for reports that tell some findings in short; add --format=text, or leave it out");
	if (s->report.group_by == GROUP_BY_SITE || is & FORMAT_GROUPS)
		return false;
	if (!(is & FORMAT_PROFILE))
		return wrong(
			out, bytes, "--group-by",
			"is for --format=text and json, and for profiles; choose one of them, or leave it out");
	if (s->report.group_by != GROUP_BY_NAME)
		return wrong(out, bytes, "--group-by",
			     "in a profile can only be name, or site; choose one of them, or --format=text");
	return false;
}

static bool wrong_export(const struct settings *s, char *out, size_t bytes)
{
	const struct export_settings *e = &s->export;
	const char *idle = e->tables               ? "--tables" :
			   e->target.table         ? "--table" :
			   e->nlabels              ? "--label" :
			   e->target.password_file ? "--password-file" :
			   e->target.compress      ? "--compress" :
						     NULL;
	if (s->fleet) {
		bool report = !strcmp(s->format->name, "text") || !strcmp(s->format->name, "json");
		if (e->target.where || s->expand || s->older || !report)
			return wrong(
				out, bytes, "--fleet",
				"asks a database; leave out --export, --diff and --expand, and formats but text and json");
		return fleet_wrong(s->fleet, s->trace, out, bytes);
	}
	if (!e->target.where)
		return idle && wrong(out, bytes, idle, "is for --export=TARGET; add that, or leave it out");
	if (s->expand || s->older || s->output || s->format != formats)
		return wrong(out, bytes, "--export",
			     "writes tables and no report; leave out --format, -o, --diff and --expand");
	return export_wrong(e, out, bytes);
}

bool settings_wrong(const struct settings *s, char *out, size_t bytes)
{
	if (wrong_export(s, out, bytes))
		return true;
	if (s->expand && (s->older || s->output || s->format != formats))
		return wrong(out, bytes, "--expand",
			     "writes a trace and no report; leave out --format, -o and --diff");
	if (s->older && s->report.group_by != GROUP_BY_SITE)
		return wrong(out, bytes, "--group-by",
			     "changes nothing in what --diff says, which goes by place; leave it out");
	if (s->older && s->full)
		return wrong(out, bytes, "--full", "changes nothing in what --diff says; leave it out");
	if (wrong_format(s, out, bytes))
		return true;
	if (s->older && !s->trace)
		return wrong(
			out, bytes, "--diff",
			"compares two traces, and one is named; name both, as in --diff ctp.data.old ctp.data");
	return false;
}

const char *settings_idle(const struct settings *s)
{
	if (!s->expand && s->format->is & FORMAT_REPORT)
		return NULL;
	return s->report.rules                      ? s->rules[0] ? "--rule" : "--lost-wakeup" :
	       s->report.baseline                   ? "--baseline" :
	       s->report.suppress                   ? "--suppress" :
	       s->report.minimum != VERDICT_SUSPECT ? "--min-verdict" :
						      NULL;
}
