// SPDX-License-Identifier: MIT
//
// format.h - ways to write a report. A new one needs a row in formats.c and a body.
#pragma once

#include <errno.h>
#include <stdio.h>

#include "analyze/report/finding.h"

struct format_settings {
	bool color;
	const char *symfs;
	bool full;         // tell all findings in full
	unsigned weight;   // of a profile (enum profile_weight)
	bool all_time;     // a profile has what it leaves out by default
	const char *event; // which the profile counts: PROVIDER:NAME; NULL: none
	char *note; // FORMAT_NOTE bytes for what is to be said on stderr once it is written; "" at first
};
#define FORMAT_NOTE 256

// Findings told in full; the rest are lines of a table (text: unless --full).
#define FORMAT_WHOLE 20

enum format_is {
	FORMAT_REPORT = 1,   // has findings; else it is made of the world alone
	FORMAT_DOCUMENT = 2, // for a program to show: not for a terminal
	FORMAT_PEOPLE = 4,   // names and source lines out of the target stand in it as they are
	FORMAT_GROUPS = 8,   // --group-by changes it
	FORMAT_FULL = 16,    // it can tell all findings in full, or always does
	FORMAT_PROFILE = 32,
};

struct format {
	const char *name;
	unsigned is;
	int (*write)(FILE *to, const struct report *r, const struct format_settings *settings);
	// NULL, or why this trace cannot be written so, and the way out: told instead of writing.
	const char *(*refuses)(const struct world *w, const struct format_settings *settings);
};

// After a write that failed: why.
static inline int format_not_written(void)
{
	return errno ? -errno : -EIO;
}

extern const struct format formats[];
const struct format *format_find(const char *name);

enum stack_style {
	STACK_PLAIN,  // without colors
	STACK_DIMMED, // the folders of files are dimmed
	STACK_MARKED, // and the innermost line is bold: the one to change
};
// A stack as the text report shows it.
void format_text_stack(FILE *to, struct symbols *s, const struct frames *f, enum stack_style style);
int format_text(FILE *to, const struct report *r, const struct format_settings *settings);
int format_json(FILE *to, const struct report *r, const struct format_settings *settings);
int format_sarif(FILE *to, const struct report *r, const struct format_settings *settings);
int format_markdown(FILE *to, const struct report *r, const struct format_settings *settings);
int format_html(FILE *to, const struct report *r, const struct format_settings *settings);
int format_folded(FILE *to, const struct report *r, const struct format_settings *settings);
int format_speedscope(FILE *to, const struct report *r, const struct format_settings *settings);
int format_pprof(FILE *to, const struct report *r, const struct format_settings *settings);
int format_jsonl(FILE *to, const struct report *r, const struct format_settings *settings);
const char *format_jsonl_refuses(const struct world *w, const struct format_settings *settings);
int format_perfetto(FILE *to, const struct report *r, const struct format_settings *settings);
int format_tasks(FILE *to, const struct report *r, const struct format_settings *settings);
int format_tasks_json(FILE *to, const struct report *r, const struct format_settings *settings);
int format_chrome(FILE *to, const struct report *r, const struct format_settings *settings);
