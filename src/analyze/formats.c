// SPDX-License-Identifier: MIT
//
// The table of formats: a row here and a body are all that a new one needs.
#include "analyze/format.h"

#include <string.h>

const struct format formats[] = {
	{ "text", true, false, format_text },
	{ "json", true, false, format_json },
	{ "sarif", true, false, format_sarif },
	{ "markdown", true, false, format_markdown },
	{ "html", true, true, format_html },
	{ "jsonl", false, false, format_jsonl },
	{ "folded", false, false, format_folded, profile_refuses },
	{ "speedscope", false, false, format_speedscope, profile_refuses },
	{ "pprof", false, true, format_pprof, profile_refuses },
	{ "perfetto", true, true, format_perfetto, tracks_refuses },
	{ "chrome", true, true, format_chrome, tracks_refuses },
	{ NULL, false, false, NULL },
};

const struct format *format_find(const char *name)
{
	for (const struct format *f = formats; f->name; f++)
		if (!strcmp(f->name, name))
			return f;
	return NULL;
}
