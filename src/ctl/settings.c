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
	 "what is recorded: coroutines, switches, what was lost, since when, stopped or not, where to, how much, which events"},
	{"stop", NULL, false, false,
	 "record no more, until start: the history has a gap, which reports name; tables are kept, so that verdicts stay "
	 "as sound as they are"},
	{"start", NULL, false, false, "record again, after stop or ctp-run --paused"},
	{"events", "LIST", true, false,
	 "choose which events of the program's own (ctp/event.h) are recorded from here on: 'http:*,!http:debug'"},
	{"snapshot", "DIR", false, true,
	 "write the trace as it stands now to DIR (default: beside the trace, with .1, .2 ... behind its name), and go on"},
	{"detach", NULL, false, true,
	 "end ctp-run -p: write its trace, and let the process run on as it was before"},
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
	       !s->verb ? "what shall be done? status, stop, start, events LIST, snapshot [DIR] or "
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
		"0 done, 1 refused, as the program or its ctp-run is in no state for that, 2 usage, or no such process");
}

int settings_completion(FILE *to, const char *shell)
{
	return complete_write(to,
			      &(struct complete_of){"ctp-ctl", &table, COMPLETE_VERBS,
						    "status stop start events snapshot detach"},
			      shell);
}

static const struct options_example examples[] = {
	{"Say what is recorded of the server, and how large its trace is:", "ctp-ctl 4711 status"},
	{"Record one minute of a day, of a server that was started by ctp-run --paused:",
	 "ctp-ctl 4711 start; sleep 60; ctp-ctl 4711 stop"},
	{"Look into a trace while it is still written:",
	 "ctp-ctl 4711 snapshot /tmp/now && ctp-analyze /tmp/now"},
	{"Let a server go to which ctp-run -p has attached:", "ctp-ctl 4711 detach"},
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
	      "Asks the\n.BR ctp\\-run (1)\nof a process. \\fIPID\\fR is the program's, or that of its ctp\\-run: also one that\n"
	      "libctp.so has started (LD_PRELOAD), and one that has attached (\\-\\-pid). It answers within an eighth of a\n"
	      "second; the program notices nothing.\n"
	      ".SH VERBS\n",
	      to);
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		name_of(&verbs[i], name, sizeof(name));
		fprintf(to, ".TP\n\\fB%s\\fR\n%s\n", name, verbs[i].help);
	}
	fputs(".PP\n"
	      "\\fBstop\\fR stops the history: records of switches and of events, and samples of slices. What is true now goes on\n"
	      "to be kept by the program's threads, at the cost of before: which coroutines there are, in which state, which\n"
	      "descriptors are open, who closed one. So counts stay exact, a lost wakeup of that time is found, and profiles and\n"
	      "timelines have a gap. Reports say how often and how long it was. It is refused with \\-\\-flight, which writes\n"
	      "nothing meanwhile.\n"
	      ".PP\n"
	      "\\fBevents\\fR takes a list as ctp\\-run \\-\\-events does, @\\fIFILE\\fR as well, in place of the one before; \\(aq*\\(aq is all.\n"
	      "The program changes its events where a wait in epoll_wait, poll or select has lasted or timed out, after sleep or\n"
	      "usleep of 10 ms or more, and after accept. That is waited for, three seconds at most; then the answer is \"as soon as the program\n"
	      "makes a call that waits\", with status 0 as well. A list that is not understood changes nothing: status 2.\n"
	      ".PP\n"
	      "\\fBsnapshot\\fR makes a whole trace of its own, with the tables of now: its verdicts are as those of the end would be\n"
	      "if the program ended now, but that no thread is held for them. It is a copy of what has been written.\n"
	      ".SH OPTIONS\n",
	      to);
	options_man(&table, to);
	fputs(".SH OUTPUT\n"
	      "\\fBstatus\\fR prints lines that begin with \\fBpid\\fR, \\fBrecording\\fR, \\fBseen\\fR, \\fBtrace\\fR and \\fBevents\\fR;\n"
	      "\\fBsnapshot\\fR and \\fBdetach\\fR the trace's name; the others what is so now. \\-\\-json prints an object with\n"
	      "\\fBstate\\fR (\\fBok\\fR, \\fBrefused\\fR or \\fBusage\\fR), \\fBtext\\fR, and for status \\fBstatus\\fR;\n"
	      "\\fBpending\\fR is true where the program has not come by yet.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\ndone\n"
	      ".TP\n1\nrefused, as the program or its ctp\\-run is in no state for that: one line says why\n"
	      ".TP\n2\nusage, a list that is not understood, no such process, or none that is traced\n",
	      to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(".SH BUGS\nA record that is made at the very moment of stop or start may be recorded or not.\n"
	      "What version\\-1 probes write is recorded in any case.\n"
	      ".SH PERMISSIONS\n"
	      "The user of ctp\\-run, or root. ctp\\-run checks who asks.\n"
	      ".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-ps (1),\n.BR ctp\\-analyze (1)\n",
	      to);
}
