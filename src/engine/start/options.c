// SPDX-License-Identifier: MIT
//
// The options of ctp-run: one row gives parsing (base/options.h), help and the
// man page's entry (man/ctp-run.1 is what --man prints; a test compares).
// Options end at the first word that is not one, or after "--".
#include "engine/metrics/metrics.h"
#include "engine/start/options.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/complete.h"
#include "base/help.h"
#include "base/options.h"
#include "ctp/ctp.h"

#define FLIGHT_DEFAULT (64ULL << 20)
#define FLIGHT_LEAST (256ULL << 10)
#define FLIGHT_MOST (3ULL << 30)
#define RING_LEAST (4ULL << 10)
#define RING_BLOCK \
	(1U << 20) // who waits for room needs less of it: so there is some for more threads (ctp/region.c)
#define RING_MOST (64ULL << 20)
#define SETS(member) OPTION_MEMBER(struct options, member)
#define SETTER(name) static int name(void *to, const char *v)

// Keeps the words of a refusal. For a setter, they replace the row's.
static int wrong(struct options *o, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(o->error, sizeof(o->error), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

// May be empty: what cannot be opened is said when it is opened.
SETTER(set_log_file)
{
	((struct options *)to)->log_file = v;
	return 0;
}

SETTER(set_output)
{
	struct options *o = to;
	if (!*v)
		return wrong(o, "--output needs a name");
	for (const char *p = v; (p = strchr(p, '%')); p += 2)
		if (!p[1] || !strchr("pe%", p[1]))
			return wrong(
				o,
				"--output=%s: %.2s is none of %%p (pid), %%e (program) and %%%% (a percent sign)",
				v, p);
	o->output = v;
	return 0;
}

SETTER(set_shm_file)
{
	struct options *o = to;
	if (!*v)
		return wrong(o, "--shm-file needs a name");
	o->shm_file = v;
	return 0;
}

SETTER(set_max_size)
{
	struct options *o = to;
	const char *end = options_size(v, &o->max_bytes);
	if (!end || *end)
		return wrong(o, "--max-size=%s: not a size such as 500M or 2G", v);
	if (o->max_bytes < 16384)
		return wrong(o, "--max-size=%s: the least is 16K", v);
	return 0;
}

// SIZE, SECONDS followed by an s, or both with a comma.
SETTER(set_flight)
{
	struct options *o = to;
	static const char usage[] =
		"--flight=%s: give a size such as 64M, seconds such as 10s, or both: 256M,10s";
	o->flight_bytes = FLIGHT_DEFAULT;
	for (const char *p = v; p; p = *p ? p + 1 : NULL) {
		char *end;
		double s = strtod(p, &end);
		if (end > p && *end == 's' && isfinite(s) && s > 0 && s <= 1e9) {
			o->flight_s = s;
			p = end + 1;
		} else if (!(p = options_size(p, &o->flight_bytes))) {
			return wrong(o, usage, v);
		}
		if (*p && (*p != ',' || !p[1]))
			return wrong(o, usage, v);
	}
	if (o->flight_bytes < FLIGHT_LEAST || o->flight_bytes > FLIGHT_MOST)
		return wrong(o, "--flight=%s: a size from 256K to 3G", v);
	return 0;
}

uint32_t options_chunks(const struct options *o)
{
	return (uint32_t)(o->flight_bytes / CTP_CHUNK_BYTES);
}

SETTER(set_metrics)
{
	struct options *o = to;
	if (!metrics_is_address(v))
		return wrong(o, "--metrics=%s: give a PORT of 127.0.0.1, ADDR:PORT or unix:PATH", v);
	if (metrics_lacks())
		return wrong(o, "--metrics: this ctp was built without it; install %s and build ctp anew",
			     metrics_lacks());
	o->metrics = v;
	return 0;
}

SETTER(set_ring_size)
{
	struct options *o = to;
	uint64_t bytes;
	const char *end = options_size(v, &bytes);
	if (!end || *end || bytes < RING_LEAST || bytes > RING_MOST || (bytes & (bytes - 1)))
		return wrong(o, "--ring-size=%s: a power of two from 4K to 64M, such as 64K", v);
	o->ring_bytes = (uint32_t)bytes;
	return 0;
}

SETTER(set_env)
{
	struct options *o = to;
	const char *eq = strchr(v, '=');
	if (!eq || eq == v)
		return wrong(o, "--env=%s: give VAR=VALUE", v);
	const char **more = realloc(o->env, sizeof(*more) * (o->n_env + 1));
	if (!more)
		return wrong(o, "out of memory");
	o->env = more;
	o->env[o->n_env++] = v;
	return 0;
}

SETTER(set_events)
{
	struct options *o = to;
	return event_list_parse(&o->events, v, o->error, sizeof(o->error));
}

SETTER(set_list_events)
{
	struct options *o = to;
	if (!*v)
		return wrong(o, "--list-events needs a program, a library, or the number of a process");
	o->list_events = v;
	o->what = OPTIONS_LIST_EVENTS;
	return 0;
}

SETTER(set_serve)
{
	struct options *o = to;
	if (sscanf(v, "%d,%d", &o->serve_fd, &o->serve_pid) != 2 || o->serve_fd < 0 || o->serve_pid <= 0)
		return wrong(o, "--serve is libctp.so's to use");
	o->what = OPTIONS_SERVE;
	return 0;
}

_Static_assert(CTP_STATIONS_LIMIT == 2097150 && CTP_STATIONS_DEFAULT == 1000000, "the row of -n");

static const struct option_row rows[] = {
	{"preload", 0, NULL, "inject libctp.so (the default)", OPTION_SET, SETS(no_preload),
	 .constant = false},
	{"no-preload", 0, NULL, "inject nothing: the program contains probes of cTP version 1", OPTION_FLAG,
	 SETS(no_preload)},
	{"no-patch", 0, NULL,
	 "do not patch switch functions that cannot be interposed; their switches are then not seen. CTP_PATCH=0 in the "
	 "program's environment does the same",
	 OPTION_FLAG, SETS(no_patch)},
	{"output", 'o', "PATH",
	 "trace directory, or JSON lines if it ends in .jsonl; %p pid, %e program, %% a "
	 "percent sign (default {}). An older trace there moves to PATH.old",
	 OPTION_CALL, .set = set_output, .initial = "ctp.data"},
	{"max-size", 0, "SIZE",
	 "size of the history on disk, with K, M or G (default {}); the oldest part is dropped first",
	 OPTION_CALL, .set = set_max_size, .initial = "1G"},
	{"compress", 0, NULL,
	 "compress the history on disk; for other readers, ctp-analyze --expand=DIR makes "
	 "a plain copy",
	 OPTION_FLAG, SETS(compress)},
	{"record-args", 0, NULL,
	 "keep the program's arguments in the trace (default: only its name, as arguments may hold "
	 "passwords)",
	 OPTION_FLAG, SETS(record_args)},
	{"follow-forks", 'f', NULL,
	 "trace child processes too, all in one trace; ctp-run ends when the last of them has ended",
	 OPTION_FLAG, SETS(follow)},
	{"coroutines", 'n', "N", "room for N coroutines at a time (default {}, at most 2097150)",
	 OPTION_NUMBER, SETS(stations), .least = 1, .most = CTP_STATIONS_LIMIT, .initial = "1000000",
	 .refusal = "a number from 1 to 2097150"},
	{"overflow", 0, "drop|block",
	 "what a thread does when its ring is full: drop records and count them (default), "
	 "or wait",
	 OPTION_CHOICE, SETS(block), .refusal = "drop or block"},
	{"clock", 0, "adaptive|exact|sparse",
	 "how often a thread reads the clock: at every switch, and where many come quickly at every 2nd to 16th "
	 "(adaptive, default); at every one (exact); at every 16th (sparse). A time between two readings is known to "
	 "2 us, or told as a range",
	 OPTION_CHOICE, SETS(clock), .refusal = "adaptive, exact or sparse"},
	{"ring-size", 0, "SIZE",
	 "memory for records of each thread until they are written (default 4M; 1M with "
	 "--overflow=block)",
	 OPTION_CALL, .set = set_ring_size},
	{"flight", 0, "SIZE|SECONDSs",
	 "keep only the newest history, in memory (default 64M); it is written at "
	 "the end, and on SIGUSR2 or a finding to PATH.1, PATH.2 ...",
	 OPTION_CALL, .set = set_flight, .may_lack_value = true},
	{"events", 0, "LIST",
	 "which events of the program's own (ctp/event.h) are recorded (default: all): 'http:*,!http:debug', or "
	 "@FILE with such lists; USDT probes of others where their provider is spelled out (needs root)",
	 OPTION_CALL, .set = set_events},
	{"list-events", 0, "FILE|PID",
	 "list the events of a program and its libraries, of a library, or of a process (those of ctp/event.h, and "
	 "USDT probes), and run nothing",
	 OPTION_CALL, .set = set_list_events},
	{"metrics", 0, "[ADDR:]PORT",
#if CTP_HAVE_MICROHTTPD
	 "serve metrics for Prometheus (HTTP, /metrics) while the program runs; default ADDR 127.0.0.1; "
	 "unix:PATH for a socket",
#else
	 "metrics for Prometheus: this ctp was built without them (libmicrohttpd-dev)",
#endif
	 OPTION_CALL, .set = set_metrics},
	{"timeout", 0, "SEC",
	 "after SEC seconds take the last snapshot, then SIGTERM, SIGKILL 2 s later; "
	 "exit 124",
	 OPTION_SECONDS, SETS(timeout_s), .most = 1e9, .refusal = "seconds, above 0"},
	{"pid", 'p', "PID",
	 "attach to a running process instead of starting one; it continues to run when ctp-run ends (SIGINT, "
	 "SIGTERM, --timeout). Its children are not traced: not with -f",
	 OPTION_NUMBER, SETS(pid), .least = 1, .most = INT_MAX, .refusal = "the number of a process"},
	{"paused", 0, NULL,
	 "record no history until ctp-ctl PID start; the tables are kept, so verdicts lose nothing",
	 OPTION_FLAG, SETS(paused)},
	{"check", 0, NULL, "analyse at the end, and print the report", OPTION_FLAG, SETS(check)},
	{"error-exitcode", 0, "N", "exit N when there is a finding (implies --check)", OPTION_NUMBER,
	 SETS(error_exitcode), .least = 1, .most = 255, .refusal = "a status from 1 to 255"},
	{"fail-on", 0, "proven|likely|suspect",
	 "the least verdict that --error-exitcode counts (default likely; implies --check)", OPTION_TEXT,
	 SETS(fail_on), .refusal = "proven, likely or suspect"},
	{"allow-empty", 0, NULL, "--check accepts a run without a single coroutine switch", OPTION_FLAG,
	 SETS(allow_empty)},
	{"prove", 0, NULL,
	 "search memory for pointers to a stuck coroutine even if the program never "
	 "becomes idle",
	 OPTION_FLAG, SETS(prove)},
	{"env", 'E', "VAR=VALUE",
	 "set a variable for the program only (an LD_PRELOAD is loaded after libctp.so)", OPTION_CALL,
	 .set = set_env},
	{"quiet", 'q', NULL,
	 "print errors only: no findings while the program runs, and no counts at the end", OPTION_FLAG,
	 SETS(quiet)},
	{"verbose", 'v', NULL, "print more lines about the run", OPTION_FLAG, SETS(verbose)},
	{"log-file", 0, "F",
	 "write ctp's lines to F instead of stderr; F may be /dev/stderr or "
	 "/dev/fd/N, but no other symbolic link",
	 OPTION_CALL, .set = set_log_file},
	{"color", 0, "auto|always|never", "colors in reports (NO_COLOR is honoured)", OPTION_CHOICE,
	 SETS(color), .refusal = "auto, always or never"},
	{"shm-file", 0, "PATH", "use this file for the memory shared with the program, and keep it",
	 OPTION_CALL, .set = set_shm_file},
	{"completion", 0, COMPLETE_SHELLS, "print a completion script for that shell", OPTION_TEXT,
	 SETS(completion)},
	{"man", 0, NULL, "print the manual page as roff: | man -l - shows it", OPTION_SET, SETS(what),
	 .constant = OPTIONS_MAN},
	{"version", 0, NULL, "print the version", OPTION_SET, SETS(what), .constant = OPTIONS_VERSION},
	{"help", 'h', NULL, "print this", OPTION_SET, SETS(what), .constant = OPTIONS_HELP},
	{"serve", 0, "FD,PID", NULL, OPTION_CALL, .set = set_serve},
};
static const struct options_table table = {rows, sizeof(rows) / sizeof(*rows), .bundles = true,
					   .flush = true};

// What is wrong with a word; of a value, the setter may have said it.
static int refused(struct options *o, const struct options_result *r)
{
	const struct option_row *row = r->row;
	size_t n = r->error == OPTIONS_UNKNOWN && !r->letter ? strcspn(r->at + 2, "=") : 0;
	switch (r->error) {
	case OPTIONS_OK:
		break;
	case OPTIONS_UNKNOWN:
		return r->letter ?
			       wrong(o, "unknown option -%c (see ctp-run --help)", r->letter) :
			       wrong(o, "unknown option --%.*s (%s%s%ssee ctp-run --help)",
				     (int)(n < 100 ? n : 100), r->at + 2, r->nearest ? "did you mean --" : "",
				     r->nearest ? r->nearest : "", r->nearest ? "? " : "");
	case OPTIONS_NO_VALUE:
		return r->letter ? wrong(o, "-%c needs a value: -%c %s", r->letter, r->letter, row->value) :
				   wrong(o, "--%s needs a value: --%s=%s", row->name, row->name, row->value);
	case OPTIONS_VALUE_NOT_TAKEN:
		return wrong(o, "--%s takes no value", row->name);
	case OPTIONS_BAD_VALUE:
		if (*o->error)
			return -EINVAL;
		return row->name ? wrong(o, "--%s=%s: %s", row->name, r->at, row->refusal) :
				   wrong(o, "-%c %s: %s", row->letter, r->at, row->refusal);
	}
	return 0;
}

static bool is_lines(const char *path)
{
	size_t n = strlen(path);
	return n > 6 && !strcmp(path + n - 6, ".jsonl");
}

int options_parse(struct options *o, int argc, char **argv)
{
	*o = (struct options){0};
	struct options_result r = options_read(&table, o, argc, argv);
	if (r.error)
		return refused(o, &r);
	o->program = argv + r.next;
	o->check |= o->error_exitcode || o->fail_on;
	o->fail_on = o->fail_on ? o->fail_on : "likely";
	if (o->block && !o->ring_bytes && !o->flight_bytes)
		o->ring_bytes = RING_BLOCK;
	if (o->flight_bytes && is_lines(o->output))
		return wrong(o, "--flight: what it keeps is a trace directory, not JSON lines; use -o DIR");
	if (o->flight_bytes && o->ring_bytes)
		return wrong(
			o,
			"--ring-size: with --flight there is one pool for all threads; give its size: --flight=SIZE");
	if (o->paused && (o->flight_bytes || o->no_preload))
		return wrong(
			o,
			"--paused: not with --flight, which writes nothing while the program runs, nor with --no-preload");
	if (o->compress && is_lines(o->output))
		return wrong(o,
			     "--compress: only a trace directory is compressed, not JSON lines; use -o DIR");
	if (o->error_exitcode && is_lines(o->output))
		return wrong(
			o,
			"--error-exitcode: no finding comes out of JSON lines, which hold no descriptors; use -o DIR");
	if (o->pid && r.next < argc)
		return wrong(o, "--pid: a process that runs already; no program is started besides");
	if (o->pid && (o->follow || o->no_preload || o->shm_file || o->n_env))
		return wrong(
			o,
			"--pid: not with -f, --no-preload, --shm-file or -E, which are of a program that is started");
	if (o->what == OPTIONS_RUN && !o->completion && !o->pid && r.next >= argc)
		return wrong(o, "no program given: ctp-run [OPTIONS] [--] PROGRAM [ARGS...]");
	return 0;
}

void options_deinit(struct options *o)
{
	event_list_deinit(&o->events);
	free(o->env);
	o->env = NULL;
}

void options_print_help(void)
{
	puts("usage: ctp-run [OPTIONS] [--] PROGRAM [ARGS...]\n"
	     "Runs PROGRAM and records its coroutines, and what they wait for.\n");
	options_help(&table, stdout);
	putchar('\n');
	help_text(stdout, "exit status: ",
		  "PROGRAM's own; --error-exitcode's; 124 after --timeout; 125 wrong usage or internal; "
		  "126 cannot be traced; 127 not found");
	help_text(stdout, "next: ", "ctp-analyze");
}

int options_print_completion(const char *shell)
{
	return complete_write(stdout, &(struct complete_of){"ctp-run", &table, COMPLETE_COMMAND}, shell);
}

static const struct options_example examples[] = {
	{"Run a server, end it as usual, and read the report:", "ctp-run ./server --port 80\nctp-analyze"},
	{"Make a hang in a test suite fail with status 99 after a minute:",
	 "ctp-run -f --timeout=60 --error-exitcode=99 make check"},
	{"Keep a flight recorder in a server that runs for months; later, write what it holds (PID is that of ctp-run):",
	 "ctp-run -q --flight=256M -o /var/lib/server/ctp-%p /usr/sbin/server\nkill -USR2 PID"},
	{"Trace the children of a script, too, and give the program alone a variable:",
	 "ctp-run -f -E MALLOC_CHECK_=3 ./start.sh"},
};

void options_print_man(void)
{
	puts(".\\\" Printed by ctp-run --man: edit src/engine/start/options.c\n.TH CTP\\-RUN 1 \"\" \"ctp\" \"User Commands\"\n.SH NAME\n"
	     "ctp\\-run \\- run a program and record its coroutines\n.SH SYNOPSIS\n.B ctp\\-run\n"
	     "[OPTIONS] [\\-\\-] PROGRAM [ARGS...]\n.br\n.B ctp\\-run\n[OPTIONS] \\-p PID\n.SH DESCRIPTION\n"
	     "Runs PROGRAM with libctp.so preloaded, records every switch between its coroutines and what they\n"
	     "wait for, and writes a trace that\n.BR ctp\\-analyze (1)\nreads. A switch is the change of control from one\n"
	     "coroutine to another, or to the thread that runs them. The first word that is not an option is PROGRAM;\n"
	     "all words after it are its arguments.\n.SH OPTIONS");
	options_man(&table, stdout);
	puts(".SH EXIT STATUS\nctp\\-run exits with the status of the program. If a signal killed the program, ctp\\-run dies by the same\n"
	     "signal. The other cases:\n"
	     ".TP\n\\-\\-error\\-exitcode's N\nthere is a finding\n"
	     ".TP\n124\n\\-\\-timeout ended the program\n"
	     ".TP\n125\nwrong usage, or the trace cannot be made\n"
	     ".TP\n126\nthe program cannot be traced\n"
	     ".TP\n127\nthe program is not found\n"
	     ".SH SIGNALS\nOn SIGTERM ctp\\-run takes the last snapshot of the tables, then forwards the signal to the program.\n"
	     "It also forwards SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH, SIGALRM and others that a\n"
	     "process sends to it. What was sent to the whole process group, which the program is in, is not sent twice: a\n"
	     "process ctp\\-run\\-group tells that. With \\-\\-flight ctp\\-run does not forward SIGUSR2, but\n"
	     "writes the history that it keeps. With \\-f, once the first process has ended, ctp\\-run forwards signals\n"
	     "to all processes that are left; \\-\\-timeout ends all of them.\n"
	     ".SH DIAGNOSTICS\nWhile the program runs, ctp\\-run prints one line on stderr for each rule and place where it has\n"
	     "found something: \"CTP001 likely so far: 47 coroutines at server.c:64; see ctp\\-ps 4711\". At the\n"
	     "end it prints counts, among them that of the findings so far; ctp\\-analyze has the last word.\n"
	     ".SH ENVIRONMENT\nThe program finds CTP_SHM_PATH, CTP_SOCK_PATH and CTP_MAX_STATIONS.\n"
	     "CTP_DISABLE=1 turns the library off. When it is preloaded without ctp\\-run, CTP_OUTPUT names the trace.\n"
	     ".PP\nCTP_DEBUG=1 makes the library say what it does on standard error, a line for each event: attached to\n"
	     "which region, or why not; each thread; what happens to a forked child; how exit begins. It writes nothing\n"
	     "once the program has closed standard error or replaced it.\n"
	     ".SH DEBUGGER\n.B gdb \\-x \\fIPREFIX\\fB/share/ctp/ctp\\-gdb.py \\-p\n\\fIPID\\fR (the program's, not ctp\\-run's), or with the\n"
	     "program and a core of it: \\fBinfo coroutines\\fR, \\fBcoroutine\\fR \\fIN\\fR, \\fBcoroutine apply all bt\\fR,\n"
	     "\\fB$_coroutine()\\fR; \\fBhelp coroutine\\fR in gdb says more.\n");
	options_man_examples(examples, sizeof(examples) / sizeof(*examples), stdout);
	puts(".SH BUGS\nStatic programs, and those that would run with more rights than yours, cannot be traced.\n"
	     "Switches in assembly that ctp does not know are not seen; the report names them under \\fIcovered\\fR.\n"
	     "\\fIPREFIX\\fR/share/doc/ctp/docs/limits.md lists all limits, and their effect on a verdict.\n"
	     ".SH SEE ALSO\n.BR ctp\\-analyze (1),\n.BR ctp\\-ps (1),\n.BR ctp\\-ctl (1),\n.BR ctp\\-push (1),\n.BR gdb (1)");
}
