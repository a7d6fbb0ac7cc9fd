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
	 "only CTP001 to CTP009, waits that nothing ends; a last line counts the findings of other rules",
	 OPTION_CALL, .set = set_lost_wakeup},
	{"all", 0, NULL, "all rules (the default)", OPTION_CALL, .set = set_all},
	{"rule", 0, "RULE,...", "only these rules, and those of further --rule; --list-rules names them",
	 OPTION_CALL, .set = set_rule},
	{"explain", 0, "RULE", "explain what a rule looks for and what its verdicts mean", OPTION_CALL,
	 .set = set_explain},
	{"list-rules", 0, NULL, "list the rules", OPTION_SET, SETS(action), .constant = ACTION_LIST},
	{"format", 0, "text|json|sarif|markdown|html|jsonl|folded|speedscope|pprof|perfetto|chrome",
	 "how to write the report (default {}); html: one page that needs no network; "
	 "jsonl: state changes, no report; folded, speedscope, pprof: profiles for flamegraph.pl and "
	 "inferno, speedscope, and go tool pprof; perfetto, chrome: a timeline with the "
	 "findings in it, for ui.perfetto.dev, and for chrome://tracing and speedscope",
	 OPTION_CALL, .set = set_format, .initial = "text"},
	{"weight", 0, "suspended|running|latency|count|event:PROVIDER:NAME",
	 "what a profile measures: the time that "
	 "coroutines were suspended (default) or running; latency, from the first event for a coroutine until it is "
	 "resumed; the number of switches; or events of the program's own, by where the coroutine that signals them was resumed. Times are nanoseconds; speedscope and pprof get all four, this one first",
	 OPTION_CALL, .set = set_weight},
	{"all-time", 0, NULL,
	 "in a profile, include the time in which loops slept, and waits that had not ended (default: leave both out, and say so)",
	 OPTION_FLAG, SETS(all_time)},
	{"tasks", 0, NULL,
	 "report the program's tasks (ctp_task_begin, ctp/event.h): how long they took, by type; how much of that "
	 "was running, ready, waiting, by place, or blocked in a call; and the slowest; text or --format=json",
	 OPTION_FLAG, SETS(tasks)},
	{"full", 0, NULL, "show every finding in full, even if there are more than twenty", OPTION_FLAG,
	 SETS(full)},
	{"group-by", 0, "site|creator|name|entry",
	 "how to group the coroutines of a finding, those that wait "
	 "longest, and those of a core file: by place (default), by creator, "
	 "by the name that the program gave them, or by their entry function. In profiles, "
	 "name makes the name the root of each stack",
	 OPTION_CHOICE, SETS(report.group_by)},
	{"output", 'o', "FILE", "write to FILE instead of stdout", OPTION_TEXT, SETS(output)},
	{"min-verdict", 0, "proven|likely|suspect|inconclusive",
	 "the weakest verdict that is reported and "
	 "counts for the exit status (default {}); inconclusive findings are always shown",
	 OPTION_CALL, .set = set_minimum, .initial = "suspect"},
	{"baseline", 0, "OLD.json",
	 "findings in an older JSON report are marked known and do not count "
	 "for the exit status",
	 OPTION_TEXT, SETS(report.baseline)},
	{"diff", 0, "OLD",
	 "compare TRACE with an older one: new and vanished findings, where coroutines wait, and "
	 "slices, waits and latencies by place that differ by more than chance and by at least half; "
	 "text or json. Exit 1: a finding that OLD does not have",
	 OPTION_TEXT, SETS(older)},
	{"suppress", 0, "FILE",
	 "leave out the findings that FILE lists, one a line: RULE FUNCTION, or a fingerprint; "
	 "the report counts them, and names lines that match nothing",
	 OPTION_TEXT, SETS(report.suppress)},
	{"color", 0, "auto|always|never", "colors in the text (NO_COLOR is honoured)", OPTION_CHOICE,
	 SETS(color)},
	{"symfs", 0, "DIR", "look for the program's files below DIR", OPTION_TEXT, SETS(report.symfs)},
	{"exit-zero", 0, NULL, "exit 0 instead of 1 and 3", OPTION_FLAG, SETS(exit_zero)},
	{"repair", 0, NULL, "shorten streams that were cut off to their last whole packet", OPTION_FLAG,
	 SETS(repair)},
	{"expand", 0, "DIR",
	 "write a copy of the trace to DIR as plain CTF, which other readers need of a "
	 "compressed trace; no report",
	 OPTION_TEXT, SETS(expand)},
	{"completion", 0, COMPLETE_SHELLS, "print a completion script for that shell", OPTION_TEXT,
	 SETS(completion)},
	{"export", 0, "TARGET",
	 "write the trace and its findings to the tables of a database; no report: csv:DIR (csv:- with --table), "
	 "sqlite:FILE, postgresql://USER@HOST/DB, mysql://USER@HOST/DB, clickhouse://USER@HOST/DB. A "
	 "trace is never written twice. The password comes from --password-file, or from where each "
	 "database's client looks for it (PGPASSWORD, .pgpass, .my.cnf, CLICKHOUSE_PASSWORD). Exit 0: the whole trace is there; 2: none of it counts",
	 OPTION_TEXT, SETS(export.target.where)},
	{"tables", 0, "LIST",
	 "with --export: only these tables, such as findings,coroutines; traces is always written (spec/sql.md lists them)",
	 OPTION_TEXT, SETS(export.tables)},
	{"table", 0, "NAME", "with --export=csv:-: the table that is written to stdout", OPTION_TEXT,
	 SETS(export.target.table)},
	{"label", 0, "KEY=VALUE", "with --export: another label of the trace; up to 32", OPTION_CALL,
	 .set = add_label},
	{"fleet", 0, "clickhouse://USER@HOST/DB",
	 "run one of the shipped QUERYs on a database with traces of many hosts; QUERY stands in place of TRACE: lost_sites, new_since_deploy, "
	 "regressions, coroutine_leaks, coverage (docs/fleet.md); text or --format=json",
	 OPTION_TEXT, SETS(fleet)},
	{"password-file", 0, "FILE",
	 "with --export and --fleet: the first line of FILE is the database's password", OPTION_TEXT,
	 SETS(export.target.password_file)},
	{"compress", 0, NULL, "with --export=csv: write NAME.csv.zst (zstd)", OPTION_FLAG,
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
	if (!r.error && s->tasks && !strcmp(s->format->name, "text"))
		s->format = format_find("tasks");
	else if (!r.error && s->tasks && !strcmp(s->format->name, "json"))
		s->format = format_find("tasks-json");
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
	{"Fail only for PROVEN findings that an earlier report does not have:",
	 "ctp-analyze --min-verdict=proven --baseline=old.json"},
	{"Show what is new since the run before:", "ctp-analyze --diff ctp.data.old ctp.data"},
	{"Show where coroutines waited, as a flame graph:",
	 "ctp-analyze --format=folded | flamegraph.pl --countname=ns > waits.svg"},
	{"List the coroutines of a core file of a traced process:", "ctp-analyze core.4711"},
};

static const char man_head[] =
	".\\\" SPDX-License-Identifier: MIT\n"
	".\\\" Printed by ctp-analyze --man: edit src/analyze/settings.c\n"
	".TH CTP\\-ANALYZE 1 \"\" \"ctp\" \"User Commands\"\n"
	".SH NAME\nctp\\-analyze \\- find coroutines that can no longer be woken\n"
	".SH SYNOPSIS\n.B ctp\\-analyze\n[\\fIRULES\\fR] [\\fIOPTIONS\\fR] [\\fITRACE\\fR]\n.br\n.B ctp\\-analyze\n"
	"[\\fIRULES\\fR] [\\fIOPTIONS\\fR] \\fB\\-\\-diff\\fR \\fIOLD\\fR \\fINEW\\fR\n"
	".SH DESCRIPTION\n"
	"Reads a trace that\n.BR ctp\\-run (1)\nwrote and reports what is wrong with the coroutines in it, with a\n"
	"verdict and the evidence for each finding.\n\\fITRACE\\fR is a trace directory, a .jsonl file, a core file, or \\- for JSON\n"
	"lines on standard input; the default is ctp.data.\n"
	"JSON lines hold no descriptors: their coroutines are only counted.\n"
	"The core file of a traced process (the kernel's, or one made by\n.BR gcore (1)),\n"
	"and a folder that\n.BR ctp\\-ps (1)\n\\-\\-save wrote of a program started by ctp-run,\n"
	"hold the tables. Of these, all coroutines are listed: first the running ones, then those\n"
	"that wait, the longest first. Then come the findings of the rules that tables alone can decide.\n"
	"What it saved of any other program has no tables: then the coroutines are listed that nothing in\n"
	"its memory leads to, as by \\fBctp\\-ps \\-\\-lost\\fR.\n"
	"If reading takes longer than a second and standard error is a terminal, a progress bar is\n"
	"shown there.\n"
	".SH OPTIONS\n";

static const char man_report[] =
	".SH VERDICTS\n"
	".TP\nPROVEN\ncannot be otherwise, given the assumptions printed with it\n"
	".TP\nLIKELY\nall but the last step: only the program's own code could still resume it\n"
	".TP\nSUSPECT\nworth a look; a healthy program can look like this\n"
	".TP\nINCONCLUSIVE\nthe tables have a gap, or the run ended too early to tell\n"
	".SH READING A REPORT\n"
	"In the lines of \\fBevidence\\fR, [x] holds, [\\-] does not hold, and [ ] could not be decided:\n"
	".TP\ncomplete\nnothing that this finding rests on was lost, and the tables know every wait\n"
	".TP\nsuspended now\nthe coroutine was suspended at the last inspection (for faults at an instant: seen as it happened)\n"
	".TP\none known wait\nit is known what the coroutine waits for, and that this is all\n"
	".TP\nkernel\nwhat the kernel says of what it waits for; a row is a registration in an epoll set, as in /proc/PID/fdinfo\n"
	".TP\nnothing in flight\nno thread still holds an event for it\n"
	".TP\nhad its chance\nevery thread that runs coroutines has slept since, so the resume is not merely late\n"
	".TP\nmemory\nno word in registers, stacks or memory references the coroutine; or the one that does\n"
	".TP\nquiet\nevery thread sleeps for ever: no timer, signal or peer can wake one; or what can.\n"
	"PROVEN needs memory or quiet\n"
	".TP\nnot part of the exit\nit held before the program began to exit\n"
	".PP\n"
	"\\fIfd 7#3\\fR is the third descriptor with the number 7. A \\fInative stack\\fR is the stack that a thread was started with.\n"
	"Source lines are shown if the program was compiled with \\-g and its files are still there.\n"
	".SH EXIT STATUS\n"
	".TP\n0\nnothing to report\n"
	".TP\n1\na finding at or above \\-\\-min\\-verdict is reported\n"
	".TP\n2\nusage, or the trace cannot be read\n"
	".TP\n3\nsomething could not be decided: an inconclusive finding, a trace without its last\n"
	"tables, JSON lines in which coroutines are still suspended\n";

static const char man_tail[] =
	".SH BUGS\nPROVEN rests on the assumption under \\fIrefuted if\\fR.\n"
	"With a shortened history (\\-\\-max\\-size, \\-\\-flight), times cover what was kept; verdicts do not depend on it.\n"
	"\\fIPREFIX\\fR/share/doc/ctp/docs/limits.md lists what ctp cannot see, and the effect on a verdict.\n"
	".SH FILES\n"
	"The formats are described in \\fIPREFIX\\fR/share/ctp: report.schema.json (json), trace.md (trace\n"
	"directories, jsonl), profile.md (folded, speedscope, pprof), diff.md (\\-\\-diff \\-\\-format=json) and\ntasks.md (\\-\\-tasks \\-\\-format=json).\n"
	".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-ps (1),\n.BR ctp\\-push (1)\n";

void settings_man(FILE *to)
{
	fputs(man_head, to);
	options_man(&table, to);
	fputs(man_report, to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(man_tail, to);
}
