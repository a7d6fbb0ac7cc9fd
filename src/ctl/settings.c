// SPDX-License-Identifier: MIT
//
// The command line of ctp-ctl: a row per option and a row per verb give parsing, help, completion and the man
// page (man/ctp-ctl.1 is what --man prints; a test compares).
#include "ctl/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/complete.h"
#include "base/help.h"

#define SETS(member) OPTION_MEMBER(struct settings, member)

static const struct verb verbs[] = {
	{"status", NULL, false, false,
	 "show what is recorded: coroutines, switches, losses, since when, stopped or not, where to, how much, which events"},
	{"stop", NULL, false, false,
	 "stop recording until start: reports name the gap in the history; the tables are kept, so verdicts lose "
	 "nothing"},
	{"start", NULL, false, false, "record again, after stop or ctp-run --paused"},
	{"events", "LIST", true, false,
	 "choose which events of the program's own (ctp/event.h) are recorded from here on: 'http:*,!http:debug'"},
	{"snapshot", "DIR", false, true,
	 "write the trace as it is now to DIR (default: beside the trace, named PATH.1, PATH.2 ...), and continue"},
	{"detach", NULL, false, true, "end ctp-run -p: write its trace, and leave the process running"},
};

static const struct option_row rows[] = {
	{"json", 0, NULL, "the answer as JSON", OPTION_FLAG, SETS(json)},
	{"completion", 0, COMPLETE_SHELLS, "print a completion script for that shell", OPTION_TEXT,
	 SETS(completion)},
	{"man", 0, NULL, "print the manual page as roff: | man -l - shows it", OPTION_SET, SETS(action),
	 .constant = ACTION_MAN},
	{"version", 0, NULL, "print the version", OPTION_SET, SETS(action), .constant = ACTION_VERSION},
	{"help", 'h', NULL, "print this", OPTION_SET, SETS(action), .constant = ACTION_HELP},
};

static int wrong(struct settings *s, const char *why)
{
	s->wrong = why;
	return -EINVAL;
}

static int set_pid(struct settings *s, const char *word)
{
	char *end;
	errno = 0;
	long long v = strtoll(word, &end, 10);
	if (errno || *end || end == word || v <= 0 || v > INT_MAX)
		return wrong(s, "is no PID; ctp-ps alone lists the traced processes");
	s->pid = (pid_t)v;
	return 0;
}

static int set_verb(struct settings *s, const char *word)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].name, word)) {
			s->verb = &verbs[i];
			return 0;
		}
	return wrong(s, "is none of status, stop, start, events LIST, snapshot [DIR] and detach");
}

static int set_operand(void *to, const char *word)
{
	struct settings *s = to;
	if (!s->pid)
		return set_pid(s, word);
	if (!s->verb)
		return set_verb(s, word);
	if (s->arg || !s->verb->takes)
		return wrong(s, "is one word too many");
	if (!*word)
		return wrong(s, "is empty");
	s->arg = word;
	return 0;
}

static const struct options_table table = {rows, sizeof(rows) / sizeof(*rows), .operand = set_operand};

struct options_result settings_read(struct settings *s, int argc, char **argv)
{
	*s = (struct settings){.action = ACTION_ASK};
	return options_read(&table, s, argc, argv);
}

const char *settings_missing(const struct settings *s)
{
	return !s->pid  ? "which process? ctp-ps alone lists the traced ones" :
	       !s->verb ? "which verb? status, stop, start, events LIST, snapshot [DIR] or "
			  "detach" :
	       s->verb->needs && !s->arg ?
			  "events needs a list, such as 'http:*,!http:debug'; '*' is all of them" :
			  NULL;
}

// "snapshot [DIR]"
static void name_of(const struct verb *v, char *out, size_t bytes)
{
	snprintf(out, bytes, v->takes ? v->needs ? "%s %s" : "%s [%s]" : "%s", v->name, v->takes);
}

void settings_help(FILE *to)
{
	char name[40];
	fputs("usage: ctp-ctl [OPTIONS] PID VERB\n", to);
	help_text(to, "PID: ", "a program under ctp-run, or the ctp-run itself; ctp-ps alone lists them");
	fputs("\nverbs:\n", to);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		name_of(&verbs[i], name, sizeof(name));
		help_row(to, name, verbs[i].help);
	}
	fputc('\n', to);
	options_help(&table, to);
	fputc('\n', to);
	help_text(
		to, "exit status: ",
		"0 done, 1 refused in the present state of the program or its ctp-run, 2 usage, or no such process");
}

int settings_completion(FILE *to, const char *shell)
{
	return complete_write(to,
			      &(struct complete_of){"ctp-ctl", &table, COMPLETE_VERBS,
						    "status stop start events snapshot detach"},
			      shell);
}

static const struct options_example examples[] = {
	{"Show what is recorded of the server, and how large its trace is:", "ctp-ctl 4711 status"},
	{"Record one minute of a server that was started by ctp-run --paused:",
	 "ctp-ctl 4711 start; sleep 60; ctp-ctl 4711 stop"},
	{"Look into a trace while it is still written:",
	 "ctp-ctl 4711 snapshot /tmp/now && ctp-analyze /tmp/now"},
	{"Detach from a server to which ctp-run -p has attached:", "ctp-ctl 4711 detach"},
};

void settings_man(FILE *to)
{
	char name[40];
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Printed by ctp-ctl --man: edit src/ctl/settings.c\n"
	      ".TH CTP\\-CTL 1 \"\" \"ctp\" \"User Commands\"\n"
	      ".SH NAME\nctp\\-ctl \\- control a ctp\\-run while its program runs\n"
	      ".SH SYNOPSIS\n.B ctp\\-ctl\n[\\fIOPTIONS\\fR] \\fIPID\\fR \\fIVERB\\fR\n"
	      ".SH DESCRIPTION\n"
	      "Sends a request to the\n.BR ctp\\-run (1)\nof a process. \\fIPID\\fR is the program's, or that of its ctp\\-run, however that\n"
	      "was started: by hand, by libctp.so (LD_PRELOAD), or to attach (\\-\\-pid). It answers within an eighth of a second;\n"
	      "the program does not notice.\n"
	      ".SH VERBS\n",
	      to);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		name_of(&verbs[i], name, sizeof(name));
		fprintf(to, ".TP\n\\fB%s\\fR\n%s\n", name, verbs[i].help);
	}
	fputs(".PP\n"
	      "\\fBstop\\fR stops the history: records of switches and events, and samples of slices. The program's threads continue\n"
	      "to keep the tables, at the same cost: which coroutines exist, their states, which descriptors are open, who closed\n"
	      "one. So counts stay exact and a lost wakeup is still found; profiles and timelines have a gap. Reports say how\n"
	      "many gaps there were, and how long. With \\-\\-flight, stop is refused: the history is not written meanwhile anyway.\n"
	      ".PP\n"
	      "\\fBevents\\fR replaces the list of events; it takes what ctp\\-run \\-\\-events takes, also @\\fIFILE\\fR; \\(aq*\\(aq is all.\n"
	      "The program applies the list at its next wait: when epoll_wait, poll or select has blocked or timed out, after sleep or\n"
	      "usleep of 10 ms or more, and after accept. ctp\\-ctl waits up to three seconds for that; if it has not happened by then, the\n"
	      "answer is \"as soon as the program makes a call that waits\", with status 0. An invalid list changes nothing: status 2.\n"
	      ".PP\n"
	      "\\fBsnapshot\\fR writes a complete trace with the current tables. Its verdicts are those that the program would get if it\n"
	      "ended now, except that no thread is held to search memory. The history in it is a copy of what has been written.\n"
	      ".SH OPTIONS\n",
	      to);
	options_man(&table, to);
	fputs(".SH OUTPUT\n"
	      "\\fBstatus\\fR prints lines that begin with \\fBpid\\fR, \\fBrecording\\fR, \\fBseen\\fR, \\fBtrace\\fR and \\fBevents\\fR;\n"
	      "\\fBsnapshot\\fR and \\fBdetach\\fR print the trace's name; the others print the new state. \\-\\-json prints an object with\n"
	      "\\fBstate\\fR (\\fBok\\fR, \\fBrefused\\fR or \\fBusage\\fR), \\fBtext\\fR, and for status \\fBstatus\\fR;\n"
	      "\\fBpending\\fR is true while the program has not applied the list.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\ndone\n"
	      ".TP\n1\nrefused in the present state of the program or its ctp\\-run; one line says why\n"
	      ".TP\n2\nusage, an invalid list, no such process, or one that is not traced\n",
	      to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(".SH BUGS\nA record made at the moment of stop or start may be kept or not.\n"
	      "Records of version\\-1 probes are always kept.\n"
	      ".SH PERMISSIONS\n"
	      "The user of ctp\\-run, or root. ctp\\-run checks who asks.\n"
	      ".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-ps (1),\n.BR ctp\\-analyze (1)\n",
	      to);
}
