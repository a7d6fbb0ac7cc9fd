// SPDX-License-Identifier: MIT
//
// The table of formats: a row here and a body are all that a new one needs.
#include "analyze/format.h"

#include <string.h>

const struct format formats[] = {
	{ "text", true, false, true, format_text },
	{ "json", true, false, false, format_json },
	{ "sarif", true, false, false, format_sarif },
	{ "markdown", true, false, true, format_markdown },
	{ "html", true, true, false, format_html },
	{ "jsonl", false, false, false, format_jsonl },
	{ "folded", false, false, false, format_folded, profile_refuses },
	{ "speedscope", false, false, false, format_speedscope, profile_refuses },
	{ "pprof", false, true, false, format_pprof, profile_refuses },
	{ "perfetto", true, true, false, format_perfetto, tracks_refuses },
	{ "chrome", true, true, false, format_chrome, tracks_refuses },
	{ NULL, false, false, false, NULL },
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
