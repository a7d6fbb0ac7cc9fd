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
	{"all", 0, NULL, "list every coroutine, without grouping by stack; with --watch, begin so",
	 OPTION_FLAG, SETS(all)},
	{"stack", 0, NULL, "whole stacks (default: the innermost functions of the program's own code)",
	 OPTION_FLAG, SETS(stack)},
	{"json", 0, NULL, "as JSON, version 2", OPTION_FLAG, SETS(json)},
	{"tree", 0, NULL, "who created whom, and who waits for whom", OPTION_FLAG, SETS(tree)},
	{"why", 0, NULL,
	 "which descriptors each coroutine waits for: kind, peer, who opened it and where, its last "
	 "event",
	 OPTION_FLAG, SETS(why)},
	{"lost", 0, NULL, "list only coroutines that nothing references; exit status 1 if there are any",
	 OPTION_FLAG, SETS(lost)},
	{"stop", 0, NULL,
	 "with --lost or --save: hold all threads of the process meanwhile (--lost then searches once, not twice); a "
	 "wait of theirs may end with EINTR",
	 OPTION_FLAG, SETS(stop)},
	{"save", 0, "DIR",
	 "save the process for later, in a new folder: a core, and what only the kernel knows; ctp-ps and ctp-analyze "
	 "read the folder in place of PID",
	 OPTION_TEXT, SETS(save)},
	{"watch", 0, NULL, "a live screen like top; ? shows its keys", OPTION_FLAG, SETS(watch)},
	{"delay", 'd', "SEC", "with --watch: seconds between two refreshes (default 1; at least 0.1)",
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
	help_text(to, "PID: ",
		  "a program under ctp-run, or that ctp-run; any other process is searched; without PID, the "
		  "traced processes are listed");
	help_text(to, "CORE: ", "a core file, in place of PID");
	help_text(to, "ID: ", "a coroutine; only the given ones are shown");
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
	{"List the coroutines of a server that nobody started under ctp-run, with the evidence for each:",
	 "ctp-ps --all --why 4711"},
	{"Show which descriptors coroutines 41 and 42 wait for, and who opened them:",
	 "ctp-ps --why 4711 41 42"},
	{"Watch the only traced process, twice a second:", "ctp-ps --watch -d 0.5"},
	{"Count coroutines by state, in a script:",
	 "ctp-ps --all --json 4711 | jq '[.coroutines[].state] | group_by(.) | map({(.[0]): length}) | add'"},
};

static const char man_head[] =
	".\\\" SPDX-License-Identifier: MIT\n"
	".\\\" Printed by ctp-ps --man: edit src/ps/settings.c\n"
	".TH CTP\\-PS 1 \"\" \"ctp\" \"User Commands\"\n"
	".SH NAME\nctp\\-ps \\- show the coroutines of a running program\n"
	".SH SYNOPSIS\n.B ctp\\-ps\n[\\fIOPTIONS\\fR] [\\fIPID\\fR|\\fICORE\\fR [\\fIID\\fR...]]\n"
	".SH DESCRIPTION\n"
	"Lists the coroutines of a program that runs under\n.BR ctp\\-run (1),\nor of any other process:\n"
	"those that are suspended, grouped by identical stack, the longest wait first; then those that are\n"
	"ready, pooled, or were created and never ran; then those that run, each with its thread.\n"
	"The last lines show where the other threads are, and the counts. If ctp\\-run has found out something about a\n"
	"coroutine, the listing begins with it (\\fICTP001 proven so far\\fR).\n"
	"\\fIPID\\fR is the program's or that of its ctp\\-run. Without it the traced processes of this user\n"
	"are listed (for root: of all users).\n"
	"\\fIID\\fR is a coroutine; only the given ones are shown.\n"
	"\\fICORE\\fR is a core file of such a program, in place of \\fIPID\\fR: it has the tables as they were; stacks are\n"
	"those that were recorded, and descriptors have no names.\n"
	".PP\n"
	"The program is never stopped. Each coroutine is shown as it was at one moment; two coroutines may be shown at\n"
	"two different moments. The program may already be stopped, and its ctp\\-run may have ended.\n"
	".SH SEARCH\n"
	"A process or core that was never traced has no tables. ctp\\-ps then searches its memory and machine code for\n"
	"coroutines: for ucontext_t, jmp_buf, and the registers that a switch function in assembly saves. It derives their\n"
	"layout from the code of that function (Boost.Context, PHP, Ruby and others, also stripped or linked statically).\n"
	"Nothing is stopped or written. Each line says \\fBfound by search\\fR; \\fB\\-\\-why\\fR shows the evidence, and\n"
	"the epoll registrations that reference a coroutine. A search cannot tell how long a coroutine has waited, who created it,\n"
	"or which ones have ended. An \\fIID\\fR is an address then (0x...), valid for one listing. Coroutines that keep switching\n"
	"during the search are counted as unsettled. A search stops after 30 seconds, and says so.\n"
	".PP\n"
	"\\fB\\-\\-lost\\fR lists the coroutines that nothing references: no word in static storage, live stacks, reachable malloc\n"
	"blocks, registers, or kernel objects such as epoll registrations. It searches twice, a second apart, and lists what is\n"
	"unreferenced both times in the same place. To read registers it stops a thread for an instant, if that thread runs or\n"
	"sleeps in a call that the kernel restarts; threads in epoll_wait are not stopped. Where the code of such a thread may still\n"
	"use a pointer that it holds in a register, the result is undecided, unless \\fB\\-\\-stop\\fR holds all threads once. An unreferenced\n"
	"coroutine is not proven lost: the program may have discarded it on purpose, or may hold the pointer in disguise.\n"
	".PP\n"
	"\\fB\\-\\-save\\fR creates a folder with a core and copies of fdinfo, fd and net from /proc. A core alone has no epoll\n"
	"registrations, so \\fB\\-\\-lost\\fR cannot decide on one.\n"
	".SH OPTIONS\n";

static const char man_output[] =
	".SH OUTPUT\n"
	"A coroutine's line shows its state in brackets, and for how long it has been in it:\n"
	".TP\n\\fBfd 7#3 EPOLLIN\\fR, or \\fBsuspended\\fR\nit waits for that descriptor, or for something that ctp does not know\n"
	".TP\n\\fBready\\fR\nits event has been delivered to the program, which has not resumed it yet\n"
	".TP\n\\fBpooled\\fR\nits function has ended, and its library keeps it to run "
	"another one;\nit waits for nothing\n"
	".TP\n\\fBcreated\\fR\nit never ran\n"
	".TP\n\\fBrunning on thread\\fR\nwith the system call that the thread is in, and its stack. A thread that computes "
	"would have\nto be stopped to show either\n"
	".TP\n\\fBfinished\\fR\n(\\-\\-all) it has ended, and its stack has not been reused\n"
	".PP\n"
	"\\fIfd 7#3\\fR is the third descriptor with the number 7. A coroutine waits for the descriptors that it registered,\n"
	"or could not read or write, just before it was suspended; \\fIclosed\\fR: the descriptor has been closed since.\n"
	".PP\n"
	"\\fB\\-\\-tree\\fR shows each coroutine below its creator; threads are the roots, and equal coroutines share a line\n"
	"(\\fIconn_reader x 1000\\fR). Below the tree it lists which coroutine waits for which: for the other end of a pipe,\n"
	"socketpair or connection within the program, or for a lock; and any cycle of these waits.\n"
	".PP\n"
	"Stacks are unwound from memory. Where that is not possible (the coroutine was resumed meanwhile, it shares its\n"
	"stack with others, or the process's memory cannot be read), and always with \\-\\-all and without \\-\\-stack, the stack\n"
	"is the one recorded when the coroutine was suspended.\n"
	"The JSON is described in \\fIPREFIX\\fR/share/ctp/ps.md.\n"
	".SH WATCH\n"
	"\\fB\\-\\-watch\\fR shows the coroutines of \\fIPID\\fR, or of the only traced process, or of one picked\n"
	"from a list, until \\fBq\\fR. \\fB?\\fR shows the keys, which are those of\n.BR top (1)\nand\n.BR htop (1).\n"
	"It needs a terminal that can move its cursor. NO_COLOR is honoured.\n"
	"When the program ends, the last screen stays.\n"
	"It begins with groups: coroutines of the same function in the same state with the same stack, those with\n"
	"findings first. \\fBEnter\\fR opens a group, \\fBg\\fR lists single coroutines, as \\fB\\-\\-all\\fR does from the start.\n"
	"A process that is not traced is searched at each refresh. Of its coroutines nothing is known but what its memory\n"
	"shows, so there are no rates, no CPU times and no findings; an id is an address.\n"
	".PP\n"
	"The columns, and how exact they are; \\- means unknown:\n"
	".TP\nID\nnever reused; in groups, N is the number of coroutines\n"
	".TP\nENTRY\nits name, if the program gave it one (ctp/task.h), and its function\n"
	".TP\nSTATE\nas above (pooled is updated at every fifth refresh); \\fIclosed\\fR: all that it waits for has been closed; an\n"
	"exclamation mark: ctp\\-run has a finding about it, which \\fBEnter\\fR shows\n"
	".TP\nWHERE\nthe innermost line of the program's own code on the saved stack\n"
	".TP\nWAITS FOR\ndescriptors and EPOLL events\n"
	".TP\nSINCE\ntime in this state; exact. After a >, of what is found by search: how long each refresh has seen it so\n"
	".TP\nSW/S\nhow often it was resumed a second, between two refreshes; exact\n"
	".TP\nCPU%\nof one CPU, between two refreshes. An estimate: each thread is sampled up to 50 times a second, and the CPU time\n"
	"that it used since the previous sample is counted for the coroutine that it runs then\n"
	".TP\nSLICE\nthe longest time that it was seen to run without a switch, since the screen began; a lower bound\n"
	".TP\nSTACK\nhow deep its stack was ever used: down to the lowest word that is not zero. An upper bound: memory that was used\n"
	"before, or filled in advance, counts as used. Only read for the lines on the screen, so it cannot be sorted by\n"
	".PP\n"
	"The last events of a coroutine are those that its threads' rings still hold; the number of missing ones is shown.\n"
	"Findings are what ctp\\-run writes into its trace while the program runs. \\fIproven so far\\fR: every\n"
	"condition that can be checked in a running program holds (P0, P2, P3, P4, and P6a or P6b), and the coroutine has not been\n"
	"resumed since. The verdict is\n"
	".BR ctp\\-analyze (1)'s,\nwhich knows the whole run.\n"
	".PP\n"
	"Refreshing takes at most a tenth of a CPU: with very many coroutines it becomes rarer than \\fB\\-\\-delay\\fR, and the\n"
	"screen says so.\n"
	".SH EXIT STATUS\n"
	".TP\n0\nlisted, even if there was no coroutine\n"
	".TP\n1\nno such process or coroutine, or it ended meanwhile; without \\fIPID\\fR: no process is traced\n"
	".TP\n2\nusage, or the process may not be looked at, or cannot be read\n"
	".PP\nWith \\-\\-lost: 1 there are some, 0 there are none, 3 that could not be decided, 2 all else.\n";

static const char man_tail[] =
	".SH BUGS\nThe program may change a stack while it is unwound: if the coroutine is resumed meanwhile, its recorded stack is\n"
	"shown. Stacks end early at code without unwind tables.\n"
	"CPU% and SLICE of \\-\\-watch are estimates.\n"
	".SH PERMISSIONS\n"
	"Those of a debugger: the same user, or root. Where kernel.yama.ptrace_scope lets only a parent read a process,\n"
	"the tables are read through ctp\\-run, and stacks are those recorded.\n"
	".SH SEE ALSO\n.BR ctp\\-run (1),\n.BR ctp\\-ctl (1),\n.BR ctp\\-analyze (1)\n";

void settings_man(FILE *to)
{
	fputs(man_head, to);
	options_man(&table, to);
	fputs(man_output, to);
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), to);
	fputs(man_tail, to);
}
