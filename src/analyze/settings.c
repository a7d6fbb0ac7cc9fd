// SPDX-License-Identifier: MIT
//
// The command line: one row per option gives the parser, the help and the manual page's
// entry (man/ctp-analyze.1 is what --man prints; a test compares them).
#include "analyze/settings.h"

#include <errno.h>
#include <string.h>

#include "analyze/history/profile.h"
#include "analyze/report/group_by.h"
#include "base/complete.h"
#include "base/help.h"

#define LOST_WAKEUP "CTP001,CTP002,CTP003,CTP004,CTP005,CTP006,CTP007,CTP008,CTP009"
#define SETS(member) OPTION_MEMBER(struct settings, member)
#define SETTER(name) static int name(void *to, const char *v)

SETTER(set_lost_wakeup)
{
	((struct settings *)to)->report.rules = LOST_WAKEUP;
	((struct settings *)to)->lost_wakeup = true;
	return 0;
}
SETTER(set_all)
{
	((struct settings *)to)->report.rules = NULL;
	((struct settings *)to)->lost_wakeup = false;
	return 0;
}

// The rule that n bytes name, in capitals or not; else NULL, and settings keep what was asked for.
static const struct pass *find_rule(struct settings *s, const char *name, size_t n)
{
	snprintf(s->no_rule, sizeof(s->no_rule), "%.*s", (int)(n < 99 ? n : 99), name);
	const struct pass *p = pass_find(s->no_rule);
	if (p)
		*s->no_rule = '\0';
	return p;
}

SETTER(set_rule)
{
	struct settings *s = to;
	for (const char *p = v; *p; p += strcspn(p, ","), p += *p == ',') {
		const struct pass *pass = find_rule(s, p, strcspn(p, ","));
		size_t have = strlen(s->rules);
		if (!pass || have + strlen(pass->rule) + 2 > sizeof(s->rules))
			return -EINVAL;
		snprintf(s->rules + have, sizeof(s->rules) - have, "%s%s", have ? "," : "", pass->rule);
	}
	if (!*v)
		return -EINVAL;
	s->report.rules = s->rules;
	s->lost_wakeup = false;
	return 0;
}

SETTER(set_explain)
{
	struct settings *s = to;
	s->action = ACTION_EXPLAIN;
	s->explain = find_rule(s, v, strlen(v));
	return s->explain ? 0 : -EINVAL;
}

SETTER(set_format)
{
	struct settings *s = to;
	s->format = format_find(v);
	return s->format ? 0 : -EINVAL;
}

SETTER(set_tasks)
{
	((struct settings *)to)->format = format_find("tasks");
	return 0;
}

SETTER(set_weight)
{
	bool event = !strncmp(v, "event:", 6);
	unsigned weight = event ? PROFILE_COUNT : profile_weight_find(v);
	if (weight >= PROFILE_WEIGHTS || (event && (v[6] == ':' || !strchr(v + 6, ':'))))
		return -EINVAL;
	((struct settings *)to)->weight = weight;
	((struct settings *)to)->event = event ? v + 6 : NULL;
	((struct settings *)to)->weight_given = true;
	return 0;
}

SETTER(set_minimum)
{
	for (int i = VERDICT_INCONCLUSIVE; i <= VERDICT_PROVEN; i++)
		if (!strcmp(v, verdict_words[i])) {
			((struct settings *)to)->report.minimum = i;
			return 0;
		}
	return -EINVAL;
}

// KEY=VALUE, both UTF-8.
SETTER(add_label)
{
	struct export_settings *s = &((struct settings *)to)->export;
	if (!export_label_is(v) || s->nlabels == EXPORT_LABELS)
		return -EINVAL;
	s->labels[s->nlabels++] = v;
	return 0;
}

static const struct option_row rows[] = {
	{"lost-wakeup", 0, NULL,
	 "only CTP001 to CTP009, who waits for what no longer comes; a last line says how many findings of other rules there are",
	 OPTION_CALL, .set = set_lost_wakeup},
	{"all", 0, NULL, "all rules (the default)", OPTION_CALL, .set = set_all},
	{"rule", 0, "RULE,...", "only these rules, and those of further --rule; --list-rules names them",
	 OPTION_CALL, .set = set_rule},
	{"explain", 0, "RULE", "say what a rule looks for and what its verdicts mean", OPTION_CALL,
	 .set = set_explain},
	{"list-rules", 0, NULL, "list the rules", OPTION_SET, SETS(action), .constant = ACTION_LIST},
	{"format", 0, "text|json|sarif|markdown|html|jsonl|folded|speedscope|pprof|perfetto|chrome",
	 "how to write the report (default {}); html: one page that opens without a network, with -o; "
	 "jsonl: the state changes, no report; folded, speedscope, pprof: profiles for flamegraph.pl and "
	 "inferno, speedscope, and go tool pprof; perfetto, chrome: what happened, as a timeline with the "
	 "findings in it, for ui.perfetto.dev, and for chrome://tracing and speedscope",
	 OPTION_CALL, .set = set_format, .initial = "text"},
	{"weight", 0, "suspended|running|latency|count|event:PROVIDER:NAME",
	 "what a profile is made of: the time that "
	 "coroutines were suspended (default), or ran; the time from the first event for one until it went "
	 "on; switches; or events of the program's own, by where who signals them was resumed. Times are nanoseconds; speedscope and pprof get all four, this one first",
	 OPTION_CALL, .set = set_weight},
	{"all-time", 0, NULL,
	 "in a profile, also the time in which loops slept, and waits that had not ended; both are left out else, with a word",
	 OPTION_FLAG, SETS(all_time)},
	{"tasks", 0, NULL,
	 "the tasks that the program tells of (ctp_task_begin, ctp/event.h): how long they took, by type; how that "
	 "splits into running, ready, and waiting by place; and the slowest",
	 OPTION_CALL, .set = set_tasks},
	{"full", 0, NULL, "tell every finding in full, also where there are more than twenty", OPTION_FLAG,
	 SETS(full)},
	{"group-by", 0, "site|creator|name|entry",
	 "how the coroutines of a finding, those that wait "
	 "longest, and those of a core file are put together: by the place (default), by who created them, "
	 "by the name that the program gave them, or by the function in which they began. In profiles, "
	 "name: each name has its own stacks, and is their root",
	 OPTION_CHOICE, SETS(report.group_by)},
	{"output", 'o', "FILE", "write to FILE instead of stdout", OPTION_TEXT, SETS(output)},
	{"min-verdict", 0, "proven|likely|suspect|inconclusive",
	 "the least verdict that is reported and "
	 "counts for the exit status (default {}); inconclusive ones are always shown",
	 OPTION_CALL, .set = set_minimum, .initial = "suspect"},
	{"baseline", 0, "OLD.json",
	 "findings in an older JSON report are marked known and do not count "
	 "for the exit status",
	 OPTION_TEXT, SETS(report.baseline)},
	{"diff", 0, "OLD",
	 "compare TRACE with an older one: new and vanished findings, who waits where, "
	 "slices, waits and latencies by place, where they differ by more than chance and by half or more; "
	 "text or json. Exit 1: a finding that OLD has not",
	 OPTION_TEXT, SETS(older)},
	{"suppress", 0, "FILE",
	 "leave out what FILE lists, one a line: RULE FUNCTION, or a fingerprint; "
	 "what was left out is counted, lines that match nothing are named",
	 OPTION_TEXT, SETS(report.suppress)},
	{"color", 0, "auto|always|never", "colors in the text (NO_COLOR is honoured)", OPTION_CHOICE,
	 SETS(color)},
	{"symfs", 0, "DIR", "look for the program's files below DIR", OPTION_TEXT, SETS(report.symfs)},
	{"exit-zero", 0, NULL, "exit 0 instead of 1 and 3", OPTION_FLAG, SETS(exit_zero)},
	{"repair", 0, NULL, "shorten streams that were cut off to their last whole packet", OPTION_FLAG,
	 SETS(repair)},
	{"expand", 0, "DIR",
	 "write a copy of the trace to DIR as plain CTF, for other readers of a "
	 "compressed one, and no report",
	 OPTION_TEXT, SETS(expand)},
	{"completion", 0, COMPLETE_SHELLS, "print a completion script for that shell", OPTION_TEXT,
	 SETS(completion)},
	{"export", 0, "TARGET",
	 "write the trace and its findings into the tables of a database, and no report: csv:DIR (csv:- with --table), "
	 "sqlite:FILE, postgresql://USER@HOST/DB, mysql://USER@HOST/DB, clickhouse://USER@HOST/DB. What "
	 "is there of this trace is not written twice. A password comes from --password-file or where each "
	 "database looks for it (PGPASSWORD, .pgpass, .my.cnf, CLICKHOUSE_PASSWORD). Exit 0: it is there as a whole; 2: nothing of it counts",
	 OPTION_TEXT, SETS(export.target.where)},
	{"tables", 0, "LIST",
	 "of --export: only these tables, as findings,coroutines, and traces (spec/sql.md lists them)",
	 OPTION_TEXT, SETS(export.tables)},
	{"table", 0, "NAME", "of --export=csv:-: the table that is written to stdout", OPTION_TEXT,
	 SETS(export.target.table)},
	{"label", 0, "KEY=VALUE",
	 "of --export: a label of the trace, beside those that it has; up to 32 of them", OPTION_CALL,
	 .set = add_label},
	{"fleet", 0, "clickhouse://USER@HOST/DB",
	 "ask the database of many hosts' traces one of the shipped QUERYs, in TRACE's place: lost_sites, new_since_deploy, "
	 "regressions, coroutine_leaks, coverage (docs/fleet.md); text or --format=json",
	 OPTION_TEXT, SETS(fleet)},
	{"password-file", 0, "FILE",
	 "of --export and --fleet: the first line of FILE is the database's password", OPTION_TEXT,
	 SETS(export.target.password_file)},
	{"compress", 0, NULL, "of --export=csv: write NAME.csv.zst (zstd)", OPTION_FLAG,
	 SETS(export.target.compress)},
	{"man", 0, NULL, "print the manual page as roff: | man -l - shows it", OPTION_SET, SETS(action),
	 .constant = ACTION_MAN},
	{"version", 0, NULL, "print the version", OPTION_SET, SETS(action), .constant = ACTION_VERSION},
	{"help", 'h', NULL, "print this", OPTION_SET, SETS(action), .constant = ACTION_HELP},
};

static int set_trace(void *to, const char *word)
{
	struct settings *s = to;
	if (s->trace || !*word)
		return -EINVAL;
	s->trace = word;
	return 0;
}

static const struct options_table table = {rows, sizeof(rows) / sizeof(*rows), .operand = set_trace};

struct options_result settings_read(struct settings *s, int argc, char **argv)
{
	*s = (struct settings){0};
	struct options_result r = options_read(&table, s, argc, argv);
	if (!r.error && s->trace && (s->action == ACTION_LIST || s->action == ACTION_EXPLAIN))
		r = (struct options_result){OPTIONS_UNKNOWN, s->trace};
	return r;
}

void settings_help(FILE *to)
{
	fputs("usage: ctp-analyze [RULES] [OPTIONS] [TRACE]\n"
	      "       ctp-analyze [RULES] [OPTIONS] --diff OLD NEW\n",
	      to);
	help_text(
		to, "TRACE: ",
		"a trace directory, a .jsonl file, a core file, or - for JSON lines on stdin (default ctp.data)");
	fputc('\n', to);
	options_help(&table, to);
	fputc('\n', to);
	char names[800];
	help_text(to, "--export takes: ", target_names(names, sizeof(names)));
	help_text(to, "exit status: ",
		  "1 a finding, 3 something could not be decided, 0 neither, 2 usage or unreadable input");
}

int settings_completion(FILE *to, const char *shell)
{
	return complete_write(to, &(struct complete_of){"ctp-analyze", &table, COMPLETE_FILES}, shell);
}

static const struct options_example examples[] = {
	{"Report on ctp.data, then as one page for a browser:",
	 "ctp-analyze\nctp-analyze --format=html -o report.html"},
	{"Fail only for what is certain, and not for what an earlier report has:",
	 "ctp-analyze --min-verdict=proven --baseline=old.json"},
	{"Show what is new since the run before:", "ctp-analyze --diff ctp.data.old ctp.data"},
	{"Show where coroutines waited, as a flame graph:",
	 "ctp-analyze --format=folded | flamegraph.pl --countname=ns > waits.svg"},
	{"List the coroutines of a core file of a traced process:", "ctp-analyze core.4711"},
};

void settings_man(FILE *to)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Printed by ctp-analyze --man: edit src/analyze/settings.c\n"
	      ".TH CTP\\-ANALYZE 1 \"\" \"ctp\" \"User Commands\"\n"
	      ".SH NAME\nctp\\-analyze \\- find coroutines that can no longer be woken\n"
	      ".SH SYNOPSIS\n.B ctp\\-analyze\n[\\fIRULES\\fR] [\\fIOPTIONS\\fR] [\\fITRACE\\fR]\n.br\n.B ctp\\-analyze\n"
	      "[\\fIRULES\\fR] [\\fIOPTIONS\\fR] \\fB\\-\\-diff\\fR \\fIOLD\\fR \\fINEW\\fR\n"
	      ".SH DESCRIPTION\n"
	      "Reads a trace that\n.BR ctp\\-run (1)\nwrote and reports what is wrong with the coroutines in it, with a\n"
	      "verdict and the evidence for each finding.\n\\fITRACE\\fR is a trace directory, a .jsonl file, a core file, or \\- for JSON\n"
	      "lines on standard input; the default is ctp.data.\n"
	      "From JSON lines coroutines are only counted: they hold no descriptors.\n"
	      "A core file of a traced process (the kernel's, or one made by\n.BR gcore (1))\n"
	      "and what\n.BR ctp\\-ps (1)\n\\-\\-save wrote of one that ctp-run had started\n"
	      "hold the tables: all coroutines are listed, those that ran first, then those\n"
	      "that wait, the longest first, and then what the tables support of the rules.\n"
	      "When reading takes longer than a second and standard error is a terminal, a bar\n"
	      "there shows how far it has got; it is erased at the end.\n"
	      ".SH OPTIONS\n",
	      to);
	options_man(&table, to);
	fputs(".SH VERDICTS\n"
	      ".TP\nPROVEN\ncannot be otherwise, given the assumptions printed with it\n"
	      ".TP\nLIKELY\nall but the last step is shown: only the program's own code could still undo it\n"
	      ".TP\nSUSPECT\nworth a look; a healthy program can look like this\n"
	      ".TP\nINCONCLUSIVE\nthe tables have a gap, or the run ended too early to tell\n"
	      ".SH READING A REPORT\n"
	      "In the line \\fBevidence\\fR [x] is what holds, [\\-] what does not, [ ] what could not be decided:\n"
	      ".TP\ncomplete\nnothing was lost that this finding rests on, and no wait went past the tables\n"
	      ".TP\nsuspended now\nit was so at the last look (of what happened at an instant: seen as it happened)\n"
	      ".TP\none known wait\nit is known what it waits for, and that it is the one thing\n"
	      ".TP\nkernel\nwhat the kernel says of that; a row is a registration in an epoll set, as /proc/PID/fdinfo shows it\n"
	      ".TP\nnothing in flight\nno thread can still have an event of it in its hands\n"
	      ".TP\nhad its chance\nevery thread that runs coroutines has slept since, so nothing is merely late\n"
	      ".TP\nmemory\nno word in registers, stacks or memory leads to the coroutine; or which one does\n"
	      ".TP\nquiet\nevery thread sleeps for good: no timer, signal or peer can wake one; or what can.\n"
	      "PROVEN needs one of these two\n"
	      ".TP\nnot just the end\nit was so before the program began to end\n"
	      ".PP\n"
	      "\\fIfd 7#3\\fR is the third thing that was called 7. A \\fInative stack\\fR is a thread's own.\n"
	      "Lines of source are shown where the program was compiled with \\-g and its files are still here.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\nnothing to report\n"
	      ".TP\n1\na finding at or above \\-\\-min\\-verdict is reported\n"
	      ".TP\n2\nusage, or the trace cannot be read\n"
	      ".TP\n3\nsomething could not be decided: an inconclusive finding, a trace without its last\n"
	      "tables, JSON lines in which coroutines are still suspended\n",
	      to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(".SH BUGS\nA finding is PROVEN under the assumption that stands in it under \\fIrefuted if\\fR.\n"
	      "Times of a history that was shortened (\\-\\-max\\-size, \\-\\-flight) cover what was kept; verdicts do not depend on it.\n"
	      "\\fIPREFIX\\fR/share/doc/ctp/docs/limits.md lists what ctp cannot see, and what that does to a verdict.\n"
	      ".SH FILES\n"
	      "What the formats hold is described in \\fIPREFIX\\fR/share/ctp: report.schema.json (json), trace.md (trace\n"
	      "directories, jsonl), profile.md (folded, speedscope, pprof) and diff.md (\\-\\-diff \\-\\-format=json).\n"
	      ".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-ps (1)\n",
	      to);
}
