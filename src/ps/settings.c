// SPDX-License-Identifier: MIT
//
// What the command line says: one row per option gives parsing, help and the
// man page's entry (man/ctp-ps.1 is what --man prints; a test compares).
#include "ps/settings.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/complete.h"
#include "base/grow.h"
#include "base/help.h"

#define SETS(member) OPTION_MEMBER(struct settings, member)

static const struct option_row rows[] = {
	{"all", 0, NULL, "each coroutine for itself, not grouped by stack; with --watch, from the start",
	 OPTION_FLAG, SETS(all)},
	{"stack", 0, NULL, "whole stacks (without it: the innermost functions that are the program's own)",
	 OPTION_FLAG, SETS(stack)},
	{"json", 0, NULL, "as JSON, version 2", OPTION_FLAG, SETS(json)},
	{"tree", 0, NULL, "who created whom, and who waits for whom", OPTION_FLAG, SETS(tree)},
	{"why", 0, NULL,
	 "which descriptors keep each coroutine: kind, peer, who opened it and where, when "
	 "it was last of use",
	 OPTION_FLAG, SETS(why)},
	{"lost", 0, NULL,
	 "of a program that was never traced: only coroutines that nothing leads to; exit status 1 if there are any",
	 OPTION_FLAG, SETS(lost)},
	{"stop", 0, NULL,
	 "with --lost, --save: hold all its threads meanwhile (--lost: once, in place of two looks a second apart); a "
	 "wait of theirs may end by EINTR",
	 OPTION_FLAG, SETS(stop)},
	{"save", 0, "DIR",
	 "save the process for later: a core and what only the kernel knows, in a new folder, which ctp-ps and ctp-analyze "
	 "read in place of PID",
	 OPTION_TEXT, SETS(save)},
	{"watch", 0, NULL, "a live screen, as top is one; ? there tells its keys", OPTION_FLAG, SETS(watch)},
	{"delay", 'd', "SEC", "with --watch: seconds from one look to the next (default 1; at least 0.1)",
	 OPTION_SECONDS, SETS(delay_s), .least = 0.1, .most = 3600},
	{"color", 0, "auto|always|never", "colors in the text (NO_COLOR is honoured)", OPTION_CHOICE,
	 SETS(color)},
	{"completion", 0, COMPLETE_SHELLS, "print a completion script for that shell", OPTION_TEXT,
	 SETS(completion)},
	{"man", 0, NULL, "print the manual page as roff: | man -l - shows it", OPTION_SET, SETS(action),
	 .constant = ACTION_MAN},
	{"version", 0, NULL, "print the version", OPTION_SET, SETS(action), .constant = ACTION_VERSION},
	{"help", 'h', NULL, "print this", OPTION_SET, SETS(action), .constant = ACTION_HELP},
};

// What is wrong with a word that is neither. -EINVAL.
static int no_operand(struct settings *s, const char *word, long long v)
{
	bool digits = *word && word[strspn(word, "0123456789")] == '\0';
	s->wrong = s->pid || s->core ?
			   "is no id of a coroutine; ctp-ps --all with what stands before it lists them" :
		   digits && !v ? "is no PID: they begin at 1; ctp-ps alone lists the traced processes" :
		   digits ? "is no PID: there is none so large; ctp-ps alone lists the traced processes" :
			    "is no PID, and there is no such file; ctp-ps alone lists the traced processes";
	return -EINVAL;
}

// A core file, or the folder that --save made. 0, -EINVAL, -ENOMEM.
static int set_core(struct settings *s, const char *word)
{
	static char path[4096];
	struct stat st;
	s->core = word;
	if (stat(word, &st) || !S_ISDIR(st.st_mode))
		return 0;
	if ((size_t)snprintf(path, sizeof(path), "%s/core", word) >= sizeof(path) || access(path, F_OK)) {
		s->core = NULL;
		s->wrong = "is a folder without a core; --save=DIR makes one that has it";
		return -EINVAL;
	}
	s->saved = word;
	s->core = path;
	return 0;
}

// The process, then coroutines of it.
static int set_operand(void *to, const char *word)
{
	struct settings *s = to;
	char *end;
	errno = 0;
	bool hex = !strncmp(word, "0x", 2); // as what is found by search is called
	long long v = strtoll(word, &end, hex ? 16 : 10);
	bool number = !errno && !*end && end != word && v > 0;
	if (!s->pid && !s->core && !number && *word && !access(word, F_OK)) {
		return set_core(s, word);
	}
	if (!number || (!s->pid && !s->core && v > INT_MAX))
		return no_operand(s, word, v);
	if (s->pid || s->core) {
		int e = GROW(s->ids, s->nids, s->ids_capacity);
		if (!e)
			s->ids[s->nids++] = (uint64_t)v;
		return e;
	}
	s->pid = (pid_t)v;
	return 0;
}

static const struct options_table table = {rows, sizeof(rows) / sizeof(*rows), .operand = set_operand};

struct options_result settings_read(struct settings *s, int argc, char **argv)
{
	*s = (struct settings){.action = ACTION_LIST};
	return options_read(&table, s, argc, argv);
}

void settings_help(FILE *to)
{
	fputs("usage: ctp-ps [OPTIONS] [PID|CORE [ID...]]\n", to);
	help_text(
		to, "PID: ",
		"a program under ctp-run, or the ctp-run itself; any other process is searched; without it the "
		"traced processes are listed");
	help_text(to, "CORE: ", "a core file, in its place");
	help_text(to, "ID: ", "a coroutine; only these are shown");
	fputc('\n', to);
	options_help(&table, to);
	fputc('\n', to);
	help_text(
		to, "exit status: ",
		"0 listed, 1 no such process or coroutine there, or (without PID) nothing traced, 2 usage or unreadable; "
		"with --lost 1 there are some, 0 none, 3 not decided");
}

int settings_completion(FILE *to, const char *shell)
{
	return complete_write(to, &(struct complete_of){"ctp-ps", &table, COMPLETE_PIDS}, shell);
}

static const struct options_example examples[] = {
	{"List the traced processes, and the coroutines of one of them by stack:", "ctp-ps\nctp-ps 4711"},
	{"List the coroutines of a server that nobody started under ctp-run, with what speaks for each:",
	 "ctp-ps --all --why 4711"},
	{"Show which descriptors keep coroutines 41 and 42, and who opened them:", "ctp-ps --why 4711 41 42"},
	{"Watch the only traced process, twice a second:", "ctp-ps --watch -d 0.5"},
	{"Count coroutines by state, in a script:",
	 "ctp-ps --all --json 4711 | jq '[.coroutines[].state] | group_by(.) | map({(.[0]): length}) | add'"},
};

void settings_man(FILE *to)
{
	fputs(".\\\" SPDX-License-Identifier: MIT\n"
	      ".\\\" Printed by ctp-ps --man: edit src/ps/settings.c\n"
	      ".TH CTP\\-PS 1 \"\" \"ctp\" \"User Commands\"\n"
	      ".SH NAME\nctp\\-ps \\- show the coroutines of a running program\n"
	      ".SH SYNOPSIS\n.B ctp\\-ps\n[\\fIOPTIONS\\fR] [\\fIPID\\fR|\\fICORE\\fR [\\fIID\\fR...]]\n"
	      ".SH DESCRIPTION\n"
	      "Lists the coroutines of a program that runs under\n.BR ctp\\-run (1),\nor of any other process:\n"
	      "those that are suspended, grouped by identical stack, the longest wait first; then those that are\n"
	      "ready, pooled, or were created and never ran; then those that run, each with its thread.\n"
	      "The last lines say where the other threads are, and count.\n"
	      "\\fIPID\\fR is the program's or that of its ctp\\-run. Without it the traced processes of this user\n"
	      "are listed (for root: of all users).\n"
	      "\\fIID\\fR is a coroutine: with any, only these are shown.\n"
	      "\\fICORE\\fR is a core file of such a program, in place of \\fIPID\\fR: it has the tables as they were; stacks are\n"
	      "those that were recorded, and descriptors have no names.\n"
	      ".PP\n"
	      "The program is not stopped, not even for a moment: what is shown of one coroutine was true at one\n"
	      "moment, but two coroutines may be shown as of two moments.\n"
	      "It may be stopped already, and its ctp\\-run may be gone.\n"
	      ".SH SEARCH\n"
	      "A process or core that was never traced has no tables. Its coroutines are found in its memory and machine\n"
	      "code: ucontext_t, jmp_buf, and what a switch function in assembly code saves, which is learned from its\n"
	      "code (Boost.Context, PHP, Ruby and others, also stripped or linked statically). Nothing is stopped and\n"
	      "nothing written. Each line says \\fBfound by search\\fR; \\fB\\-\\-why\\fR gives the evidence, and the epoll\n"
	      "registrations that lead to a coroutine. Since when it waits, who made it and what has ended cannot be known.\n"
	      "\\fIID\\fRs are addresses then (0x...), valid for one listing. What is switched all the while is counted as\n"
	      "unsettled. A search ends after 30 seconds, and says so.\n"
	      ".PP\n"
	      "\\fB\\-\\-lost\\fR names those that nothing leads to: no word in static storage, in live stacks, in blocks of malloc\n"
	      "that are reached, in registers, or among what the kernel holds. It looks twice, a second apart, and names what\n"
	      "both looks leave unreached in the same place. For registers it stops, for an instant, threads that run or sleep\n"
	      "in a call that the kernel goes on with afterwards; threads in epoll_wait are not stopped. Where such a thread may\n"
	      "keep a pointer in a register, nothing is decided, unless \\fB\\-\\-stop\\fR holds all threads once. That a coroutine is\n"
	      "unreached is no proof that it is lost: it may have been discarded on purpose, or a pointer to it be disguised.\n"
	      ".PP\n"
	      "\\fB\\-\\-save\\fR makes a folder with a core and copies of /proc: fdinfo, fd, net. A core alone has no epoll\n"
	      "registrations, so that \\fB\\-\\-lost\\fR cannot be decided.\n"
	      ".SH OPTIONS\n",
	      to);
	options_man(&table, to);
	fputs(".SH OUTPUT\n"
	      "A coroutine's line says, in brackets, how it is, and for how long:\n"
	      ".TP\n\\fBfd 7#3 EPOLLIN\\fR, or \\fBsuspended\\fR\nit waits for that descriptor, or for nothing that is known\n"
	      ".TP\n\\fBready\\fR\nan event of what it waits for was taken since, and its turn has not come\n"
	      ".TP\n\\fBpooled\\fR\nits function has ended, and its library keeps it for the next one: it waits for nothing, and "
	      "stands\nbetween two of the functions that are run there\n"
	      ".TP\n\\fBcreated\\fR\nit never ran\n"
	      ".TP\n\\fBrunning on thread\\fR\nwith the call that this thread is in, and the stack that led there. A thread that "
	      "computes says\nneither without being stopped\n"
	      ".TP\n\\fBfinished\\fR\n(\\-\\-all) it has ended, and its stack is nobody else's yet\n"
	      ".PP\n"
	      "\\fIfd 7#3\\fR is the third thing that was called 7. What a coroutine waits for is what it registered or\n"
	      "could not read before it was suspended; \\fIclosed\\fR says that this descriptor has been closed since.\n"
	      ".PP\n"
	      "\\fB\\-\\-tree\\fR puts those that are alike together (\\fIconn_reader x 1000\\fR), each below who created it;\n"
	      "threads are the roots. Below it stands who waits for whom: by the other end of a pipe, a socketpair or a\n"
	      "connection within the program, or by a lock; and whether that goes round in a circle.\n"
	      ".PP\n"
	      "Stacks are walked as they lie in memory. Where that is not possible (the coroutine went on, it\n"
	      "shares its stack with others, the process's memory may not be read) they are those that\n"
	      "were recorded when it was suspended; with \\-\\-all and without \\-\\-stack they always are.\n"
	      "The JSON is described in \\fIPREFIX\\fR/share/ctp/ps.md.\n"
	      ".SH WATCH\n"
	      "\\fB\\-\\-watch\\fR shows the coroutines of \\fIPID\\fR, or of the only traced process, or of the one that is picked\n"
	      "from a list, until \\fBq\\fR. \\fB?\\fR tells the keys, which are those of\n.BR top (1)\nand\n.BR htop (1).\n"
	      "It needs a terminal that can move its cursor. NO_COLOR is honoured.\n"
	      "When the program has ended, the last picture stays.\n"
	      "It begins with groups: coroutines of the same function in the same state with the same stack, those with\n"
	      "findings first. \\fBEnter\\fR opens a group, \\fBg\\fR lists one by one, as \\fB\\-\\-all\\fR does from the start.\n"
	      ".PP\n"
	      "What the columns mean, and how exact they are; \\- is what is not known:\n"
	      ".TP\nID\nnever given twice; with groups N, how many there are\n"
	      ".TP\nENTRY\nwhat the program calls it, if it says so (ctp/task.h), and its function\n"
	      ".TP\nSTATE\nas above (who is pooled is looked at at each fifth look); \\fIclosed\\fR: all that it waits for was closed under it; an exclamation mark: ctp\\-run has found\n"
	      "something out about it that still stands, which \\fBEnter\\fR shows\n"
	      ".TP\nWHERE\nthe innermost line of the program's own code on the saved stack\n"
	      ".TP\nWAITS FOR\ndescriptors and EPOLL events\n"
	      ".TP\nSINCE\nhow long it has been as it is; exact\n"
	      ".TP\nSW/S\nhow often it was entered, a second, from one look to the next; exact, whatever was missed in between\n"
	      ".TP\nCPU%\nof one CPU, from one look to the next. An estimate: each thread is sampled, up to 50 times a second, and what the\n"
	      "kernel says that it used since the sample before goes to the coroutine that it runs at that moment\n"
	      ".TP\nSLICE\nthe longest that it was seen to run without a switch, since the screen began; it may have been longer\n"
	      ".TP\nSTACK\nhow deep its stack was ever in use: up to the lowest word that is not zero. At most: memory that somebody used\n"
	      "before, or that was filled in advance, looks used. Read for the lines on the screen alone, and so not sorted by\n"
	      ".PP\n"
	      "The last events of a coroutine are those that the rings of its threads still hold; how many are missing is said.\n"
	      "Findings are what ctp\\-run writes into its trace while the program runs. \\fIcertain so far\\fR: all of it holds that a\n"
	      "look can show (P0, P2, P3, P4, and P6a or P6b), and the coroutine has not gone on since. The verdict is\n"
	      ".BR ctp\\-analyze (1)'s,\nwhich knows the whole run.\n"
	      ".PP\n"
	      "A look takes a tenth of a CPU at most: where there are very many coroutines, looks become rarer than\n"
	      "\\fB\\-\\-delay\\fR, and the screen says so.\n"
	      ".SH EXIT STATUS\n"
	      ".TP\n0\nlisted, even if there was no coroutine\n"
	      ".TP\n1\nno such process or coroutine, or it ended meanwhile; without \\fIPID\\fR: no process is traced\n"
	      ".TP\n2\nusage, or the process may not be looked at, or cannot be read\n"
	      ".PP\nWith \\-\\-lost: 1 there are some, 0 there are none, 3 that could not be decided, 2 as above.\n",
	      to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(".SH BUGS\nStacks are walked in memory that the program may be changing: of a coroutine that goes on meanwhile the recorded\n"
	      "stack is shown. Where stacks have no unwind tables they end early.\n"
	      "CPU% and SLICE of \\-\\-watch are estimates, as said above.\n"
	      ".SH PERMISSIONS\n"
	      "Those of a debugger: the same user, or root. Where the kernel lets only a parent read a process\n"
	      "(kernel.yama.ptrace_scope), the tables are read through ctp\\-run, and stacks are as recorded.\n"
	      ".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-analyze (1)\n",
	      to);
}
