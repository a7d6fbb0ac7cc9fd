// SPDX-License-Identifier: MIT
//
// What the command line says: one row per option gives parsing, help and the
// man page's entry (man/ctp-ps.1 is what --man prints; a test compares).
#include "ps/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define SETTER(name) static int name(void *to, const char *v)

SETTER(set_all) { ((struct settings *)to)->all = true; return 0; }
SETTER(set_stack) { ((struct settings *)to)->stack = true; return 0; }
SETTER(set_json) { ((struct settings *)to)->json = true; return 0; }
SETTER(set_tree) { ((struct settings *)to)->later = "--tree"; return 0; }
SETTER(set_watch) { ((struct settings *)to)->later = "--watch"; return 0; }
SETTER(set_man) { ((struct settings *)to)->action = ACTION_MAN; return 0; }
SETTER(set_version) { ((struct settings *)to)->action = ACTION_VERSION; return 0; }
SETTER(set_help) { ((struct settings *)to)->action = ACTION_HELP; return 0; }

SETTER(set_color) { return color_read(v, &((struct settings *)to)->color); }

const struct option_row settings_rows[] = {
	{ "all", 0, NULL, "each coroutine for itself, not grouped by stack", set_all },
	{ "stack", 0, NULL, "whole stacks (without it: the innermost functions that are the program's own)", set_stack },
	{ "json", 0, NULL, "as JSON, version 1", set_json },
	{ "tree", 0, NULL, "who created whom (not available yet)", set_tree },
	{ "watch", 0, NULL, "again and again (not available yet)", set_watch },
	{ "color", 0, "auto|always|never", "colors in the text (NO_COLOR is honoured)", set_color },
	{ "man", 0, NULL, "print the manual page", set_man },
	{ "version", 0, NULL, "print the version", set_version },
	{ "help", 'h', NULL, "print this", set_help },
	{ NULL, 0, NULL, NULL, NULL },
};

static int set_pid(void *to, const char *word)
{
	struct settings *s = to;
	char *end;
	errno = 0;
	long v = strtol(word, &end, 10);
	if (s->pid || errno || *end || end == word || v <= 0 || v > INT_MAX)
		return -EINVAL;
	s->pid = (pid_t)v;
	return 0;
}

struct options_result settings_read(struct settings *s, int argc, char **argv)
{
	*s = (struct settings){ .action = ACTION_LIST };
	return options_read(settings_rows, s, argc, argv, set_pid);
}

void settings_help(FILE *to)
{
	fputs("usage: ctp-ps [OPTIONS] [PID]\n"
	      "PID: a program under ctp-run, or the ctp-run itself; without it the traced processes are listed\n\n", to);
	options_help(settings_rows, to);
	fputs("\nexit status: 0 listed, 1 nothing traced there, 2 usage or unreadable\n", to);
}

void settings_man(FILE *to)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Printed by ctp-ps --man: edit src/ps/settings.c\n"
	      ".TH CTP\\-PS 1 \"\" \"ctp\" \"User Commands\"\n"
	      ".SH NAME\nctp\\-ps \\- show the coroutines of a running program\n"
	      ".SH SYNOPSIS\n.B ctp\\-ps\n[\\fIOPTIONS\\fR] [\\fIPID\\fR]\n"
	      ".SH DESCRIPTION\n"
	      "Lists the coroutines of a program that runs under\n.BR ctp\\-run (1):\n"
	      "those that are suspended, grouped by identical stack, the longest wait first; then those that\n"
	      "were created and never ran; then those that run, each with its thread.\n"
	      "A running coroutine has no saved stack, so none is shown.\n"
	      "The last line counts them all, and those that have ended.\n"
	      "\\fIPID\\fR is the program's or that of its ctp\\-run. Without it the traced processes of this user\n"
	      "are listed (for root: of all users).\n"
	      ".PP\n"
	      "The program is not stopped, not even for a moment: what is shown of one coroutine was true at one\n"
	      "moment, but two coroutines may be shown as of two moments.\n"
	      "It may be stopped already, and its ctp\\-run may be gone.\n"
	      ".SH OPTIONS\n", to);
	options_man(settings_rows, to);
	fputs(".SH OUTPUT\n"
	      "\\fIfd 7#3\\fR is the third thing that was called 7. What a coroutine waits for is what it registered or\n"
	      "could not read before it was suspended; \\fIclosed\\fR says that this descriptor has been closed since.\n"
	      "Stacks are walked as they lie in memory. Where that is not possible (the coroutine went on, it\n"
	      "shares its stack with others, the process's memory may not be read) they are those that\n"
	      "were recorded when it was suspended; with \\-\\-all and without \\-\\-stack they always are.\n"
	      "The JSON is described in ps.md, which is installed with ctp.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\nlisted, even if there was no coroutine\n"
	      ".TP\n1\nno such process, it is not traced, or it ended meanwhile; without \\fIPID\\fR: no process is traced\n"
	      ".TP\n2\nusage, or the process may not be looked at, or cannot be read\n"
	      ".SH PERMISSIONS\n"
	      "Those of a debugger: the same user, or root. Where the kernel lets only a parent read a process\n"
	      "(kernel.yama.ptrace_scope), the tables are read through ctp\\-run, and stacks are as recorded.\n"
	      ".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-analyze (1)\n", to);
}
