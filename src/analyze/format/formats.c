// SPDX-License-Identifier: MIT
//
// The table of formats: a row here and a body are all that a new one needs.
#include "analyze/format/format.h"

#include <string.h>

const struct format formats[] = {
	{ "text", FORMAT_REPORT | FORMAT_PEOPLE | FORMAT_GROUPS | FORMAT_FULL, format_text },
	{ "json", FORMAT_REPORT | FORMAT_GROUPS | FORMAT_FULL, format_json },
	{ "sarif", FORMAT_REPORT | FORMAT_FULL, format_sarif },
	{ "markdown", FORMAT_REPORT | FORMAT_PEOPLE, format_markdown },
	{ "html", FORMAT_REPORT | FORMAT_DOCUMENT | FORMAT_FULL, format_html },
	{ "jsonl", 0, format_jsonl, lines_refuses },
	{ "folded", FORMAT_PROFILE, format_folded, profile_refuses },
	{ "speedscope", FORMAT_PROFILE, format_speedscope, profile_refuses },
	{ "pprof", FORMAT_PROFILE | FORMAT_DOCUMENT, format_pprof, profile_refuses },
	{ "perfetto", FORMAT_REPORT | FORMAT_DOCUMENT, format_perfetto, tracks_refuses },
	{ "chrome", FORMAT_REPORT | FORMAT_DOCUMENT, format_chrome, tracks_refuses },
	{ NULL, 0, NULL },
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
