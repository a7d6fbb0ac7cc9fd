// SPDX-License-Identifier: MIT
//
// settings.h - what the command line asks for, and the table that parses it.
#pragma once

#include "analyze/export/export.h"
#include "analyze/format/format.h"
#include "analyze/report/finding.h"
#include "base/color.h"
#include "base/options.h"

enum settings_action { ACTION_ANALYZE, ACTION_HELP, ACTION_MAN, ACTION_VERSION, ACTION_LIST, ACTION_EXPLAIN };

struct settings {
	enum settings_action action;
	const struct pass *explain;
	const char *trace; // NULL = ctp.data
	const char *older; // --diff: what it is compared with, or NULL
	const struct format *format;
	const char *output; // NULL = stdout
	enum color color;
	const char *completion; // print a script for that shell, and nothing else
	bool exit_zero, repair, full;
	bool lost_wakeup;  // --lost-wakeup, and no other rules
	unsigned weight;   // enum profile_weight
	const char *event; // --weight=event:PROVIDER:NAME: the two; NULL
	bool weight_given, all_time, tasks;
	const char *expand;            // write the trace there as plain CTF, and nothing else
	struct export_settings export; // into tables, and no report
	const char *fleet;             // where to ask; `trace` is the query then
	struct report_settings report;
	char rules[512];   // what all of --rule name
	char no_rule[100]; // what --rule or --explain names, and there is none
};

struct options_result settings_read(struct settings *s, int argc, char **argv);
// True: two options do not go together, and a line that says why (settings_uses.c).
bool settings_wrong(const struct settings *s, char *out, size_t bytes);
// An option about findings, of which the format has none; or NULL.
const char *settings_idle(const struct settings *s);
void settings_help(FILE *to);
int settings_completion(FILE *to, const char *shell); // 0, or -EINVAL
void settings_man(FILE *to);
