// SPDX-License-Identifier: MIT
//
// export.h - ctp-analyze --export: a trace into tables, for databases and for whoever reads CSV.
#pragma once

#include "analyze/export/target.h"
#include "analyze/report/finding.h"

#define EXPORT_LABELS 32u

struct export_settings {
	struct target_settings target;     // where NULL: no export is wanted
	const char *tables;                // list, or NULL = all
	const char *labels[EXPORT_LABELS]; // KEY=VALUE
	unsigned nlabels;
};

enum export_outcome { EXPORT_DONE, EXPORT_THERE_ALREADY };

// Is it KEY=VALUE, in UTF-8?
bool export_label_is(const char *label);
// True: what was asked for cannot be, and a line that says why.
bool export_wrong(const struct export_settings *s, char *out, size_t bytes);
// Whether anything of it needs the history, so that a trace that cannot be read twice is refused.
bool export_needs_history(const struct export_settings *s);
// Exports all that is wanted. An export_outcome; or -errno, and why.
int export_report(const struct report *r, const struct export_settings *s, char why[TARGET_WHY]);
