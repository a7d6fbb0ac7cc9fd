// SPDX-License-Identifier: MIT
//
// The option table and its one parser. Options end at the first word that is
// not one, or after "--". A row's `set` gets the value, or NULL.
#include "engine/run/options.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/help.h"
#include "ctp/ctp.h"

#define FLIGHT_DEFAULT (64ULL << 20)
#define FLIGHT_LEAST (256ULL << 10)
#define FLIGHT_MOST (3ULL << 30)
#define RING_LEAST (4ULL << 10)
#define RING_MOST (64ULL << 20)

enum takes { TAKES_NOTHING, TAKES_VALUE, TAKES_MAYBE };

struct option_row {
	char letter;      // 0: none
	const char *name; // NULL: none
	const char *value; // its value's name in the help; NULL: takes none
	const char *help; // NULL: not shown
	int (*set)(struct options *o, const char *value);
	enum takes takes;
};

static int wrong(struct options *o, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(o->error, sizeof(o->error), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

static int set_preload(struct options *o, const char *v) { o->no_preload = false; return 0; }
static int set_no_preload(struct options *o, const char *v) { o->no_preload = true; return 0; }
static int set_prove(struct options *o, const char *v) { o->prove = true; return 0; }
static int set_compress(struct options *o, const char *v) { o->compress = true; return 0; }
static int set_follow(struct options *o, const char *v) { o->follow = true; return 0; }
static int set_check(struct options *o, const char *v) { o->check = true; return 0; }
static int set_quiet(struct options *o, const char *v) { o->quiet = true; return 0; }
static int set_verbose(struct options *o, const char *v) { o->verbose = true; return 0; }
static int set_help(struct options *o, const char *v) { o->what = OPTIONS_HELP; return 0; }
static int set_version(struct options *o, const char *v) { o->what = OPTIONS_VERSION; return 0; }
static int set_man(struct options *o, const char *v) { o->what = OPTIONS_MAN; return 0; }
static int set_log_file(struct options *o, const char *v) { o->log_file = v; return 0; }

static int set_output(struct options *o, const char *v)
{
	if (!*v)
		return wrong(o, "-o needs a name");
	for (const char *p = v; (p = strchr(p, '%')); p += 2)
		if (!p[1] || !strchr("pe%", p[1]))
			return wrong(o, "-o %s: %.2s is none of %%p (pid), %%e (program) and %%%% (a percent sign)", v, p);
	o->output = v;
	return 0;
}

static int set_shm_file(struct options *o, const char *v)
{
	if (!*v)
		return wrong(o, "--shm-file needs a name");
	o->shm_file = v;
	return 0;
}

// A number with K, M or G, up to the end or a comma. Returns where it ends; NULL: it is none.
static const char *read_size(const char *v, uint64_t *bytes)
{
	static const char suffixes[] = "KMG";
	char *end;
	errno = 0;
	unsigned long long n = strtoull(v, &end, 10);
	const char *s = *end ? strchr(suffixes, *end & ~0x20) : NULL;
	unsigned shift = s ? (unsigned)(s - suffixes + 1) * 10 : 0;
	end += s != NULL;
	if (v[0] < '0' || v[0] > '9' || errno || (*end && *end != ',') || n > (UINT64_MAX >> 1) >> shift)
		return NULL;
	*bytes = (uint64_t)n << shift;
	return end;
}

static int set_max_size(struct options *o, const char *v)
{
	const char *end = read_size(v, &o->max_bytes);
	if (!end || *end)
		return wrong(o, "--max-size=%s: not a size such as 500M or 2G", v);
	if (o->max_bytes < 16384)
		return wrong(o, "--max-size=%s: the least is 16K", v);
	return 0;
}

// SIZE, SECONDS followed by an s, or both with a comma.
static int set_flight(struct options *o, const char *v)
{
	static const char usage[] = "--flight=%s: give a size such as 64M, seconds such as 10s, or both: 256M,10s";
	o->flight_bytes = FLIGHT_DEFAULT;
	for (const char *p = v; p; p = *p ? p + 1 : NULL) {
		char *end;
		double s = strtod(p, &end);
		if (end > p && *end == 's' && isfinite(s) && s > 0 && s <= 1e9) {
			o->flight_s = s;
			p = end + 1;
		} else if (!(p = read_size(p, &o->flight_bytes))) {
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

static int set_ring_size(struct options *o, const char *v)
{
	uint64_t bytes;
	const char *end = read_size(v, &bytes);
	if (!end || *end || bytes < RING_LEAST || bytes > RING_MOST || (bytes & (bytes - 1)))
		return wrong(o, "--ring-size=%s: a power of two from 4K to 64M, such as 64K", v);
	o->ring_bytes = (uint32_t)bytes;
	return 0;
}

static int set_stations(struct options *o, const char *v)
{
	char *end;
	errno = 0;
	unsigned long n = strtoul(v, &end, 10);
	if (v[0] < '0' || v[0] > '9' || *end || errno || n < 1 || n > CTP_STATIONS_LIMIT)
		return wrong(o, "-n %s: stations go from 1 to %u", v, CTP_STATIONS_LIMIT);
	o->stations = (uint32_t)n;
	return 0;
}

static int set_overflow(struct options *o, const char *v)
{
	if (strcmp(v, "drop") && strcmp(v, "block"))
		return wrong(o, "--overflow=%s: drop or block", v);
	o->block = v[0] == 'b';
	return 0;
}

static int set_error_exitcode(struct options *o, const char *v)
{
	char *end;
	unsigned long n = strtoul(v, &end, 10);
	if (v[0] < '0' || v[0] > '9' || *end || n < 1 || n > 255)
		return wrong(o, "--error-exitcode=%s: a status from 1 to 255", v);
	o->error_exitcode = (int)n;
	o->check = true;
	return 0;
}

static int set_fail_on(struct options *o, const char *v)
{
	if (strcmp(v, "proven") && strcmp(v, "likely") && strcmp(v, "suspect"))
		return wrong(o, "--fail-on=%s: proven, likely or suspect", v);
	o->fail_on = v;
	return 0;
}

static int set_timeout(struct options *o, const char *v)
{
	char *end;
	double s = strtod(v, &end);
	if (end == v || *end || !isfinite(s) || s <= 0 || s > 1e9)
		return wrong(o, "--timeout=%s: seconds, above 0", v);
	o->timeout_s = s;
	return 0;
}

static int set_color(struct options *o, const char *v)
{
	return color_read(v, &o->color) ? wrong(o, "--color=%s: auto, always or never", v) : 0;
}

static int set_env(struct options *o, const char *v)
{
	const char *eq = strchr(v, '=');
	if (!eq || eq == v)
		return wrong(o, "-E %s: give VAR=VALUE", v);
	const char **more = realloc(o->env, sizeof(*more) * (o->n_env + 1));
	if (!more)
		return wrong(o, "out of memory");
	o->env = more;
	o->env[o->n_env++] = v;
	return 0;
}

static int set_serve(struct options *o, const char *v)
{
	if (sscanf(v, "%d,%d", &o->serve_fd, &o->serve_pid) != 2 || o->serve_fd < 0 || o->serve_pid <= 0)
		return wrong(o, "--serve is libctp.so's to use");
	o->what = OPTIONS_SERVE;
	return 0;
}

static const struct option_row rows[] = {
	{ 0, "preload", NULL, "inject libctp.so (the default)", set_preload, TAKES_NOTHING },
	{ 0, "no-preload", NULL, "inject nothing: the program has probes of cTP version 1 in it", set_no_preload, TAKES_NOTHING },
	{ 'o', NULL, "PATH", "trace directory, or JSON lines if it ends in .jsonl; %p pid, %e program, %% a "
	  "percent sign (default ctp.data). An older trace there moves to PATH.old", set_output, TAKES_VALUE },
	{ 0, "max-size", "SIZE", "history kept on disk, with K, M or G (default 1G): the oldest goes first",
	  set_max_size, TAKES_VALUE },
	{ 0, "compress", NULL, "write less: a compressed history, which other readers get by ctp-analyze --expand=DIR", set_compress,
	  TAKES_NOTHING },
	{ 'f', "follow-forks", NULL, "trace children, too, all in one trace; ends with the last of them", set_follow,
	  TAKES_NOTHING },
	{ 'n', NULL, "N", "room for N coroutines at a time (default 1000000, at most 2097150)", set_stations, TAKES_VALUE },
	{ 0, "overflow", "drop|block", "a thread whose ring is full drops its records, counted (default), or waits",
	  set_overflow, TAKES_VALUE },
	{ 0, "ring-size", "SIZE", "memory for records of each thread until they are written (default 4M)", set_ring_size, TAKES_VALUE },
	{ 0, "flight", "SIZE|SECONDSs", "keep only the newest history, in memory (default 64M): written at the end, and on SIGUSR2 and "
	  "on a finding to PATH.1, PATH.2 ...", set_flight, TAKES_MAYBE },
	{ 0, "timeout", "SEC", "after SEC seconds take the last snapshot, then SIGTERM, SIGKILL 2 s later; exit 124",
	  set_timeout, TAKES_VALUE },
	{ 0, "check", NULL, "analyse at the end, and print the report", set_check, TAKES_NOTHING },
	{ 0, "error-exitcode", "N", "with --check (which it implies): exit N when there is a finding",
	  set_error_exitcode, TAKES_VALUE },
	{ 0, "fail-on", "proven|likely|suspect", "the least verdict that --error-exitcode counts (default likely)",
	  set_fail_on, TAKES_VALUE },
	{ 0, "prove", NULL, "search memory for pointers to a stuck coroutine also in a program that never comes to rest", set_prove,
	  TAKES_NOTHING },
	{ 'E', NULL, "VAR=VALUE", "environment of the program only (an LD_PRELOAD comes after libctp.so)", set_env,
	  TAKES_VALUE },
	{ 'q', NULL, NULL, "no line unless something failed", set_quiet, TAKES_NOTHING },
	{ 'v', NULL, NULL, "say more", set_verbose, TAKES_NOTHING },
	{ 0, "log-file", "F", "write ctp's lines to F instead of stderr; F is no symbolic link, but may be /dev/stderr or /dev/fd/N", set_log_file, TAKES_VALUE },
	{ 0, "color", "auto|always|never", "colors in reports (NO_COLOR is honoured)", set_color, TAKES_VALUE },
	{ 0, "shm-file", "PATH", "a file of that name for the memory shared with the program; it stays", set_shm_file, TAKES_VALUE },
	{ 0, "man", NULL, "print the manual page as roff: | man -l - shows it", set_man, TAKES_NOTHING },
	{ 0, "version", NULL, "print the version", set_version, TAKES_NOTHING },
	{ 'h', "help", NULL, "print this", set_help, TAKES_NOTHING },
	{ 0, "serve", "FD,PID", NULL, set_serve, TAKES_VALUE },
};
#define ROWS (sizeof(rows) / sizeof(*rows))

static const struct option_row *by_name(const char *name, size_t n)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].name && !strncmp(rows[i].name, name, n) && !rows[i].name[n])
			return &rows[i];
	return NULL;
}

static const struct option_row *by_letter(char letter)
{
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].letter && rows[i].letter == letter)
			return &rows[i];
	return NULL;
}

// Takes one word "--name[=value]", perhaps with the next. Returns words used.
static int parse_long(struct options *o, char **words)
{
	const char *name = words[0] + 2, *eq = strchr(name, '=');
	size_t n = eq ? (size_t)(eq - name) : strlen(name);
	const struct option_row *row = by_name(name, n);
	int r;
	if (!row)
		return wrong(o, "unknown option --%.*s (see ctp-run --help)", (int)(n < 100 ? n : 100), name);
	if (row->takes == TAKES_NOTHING && eq)
		return wrong(o, "--%s takes no value", row->name);
	if (row->takes != TAKES_VALUE || eq) {
		r = row->set(o, eq ? eq + 1 : NULL);
		return r < 0 ? r : 1;
	}
	if (!words[1])
		return wrong(o, "--%s needs a value: --%s=%s", row->name, row->name, row->value);
	r = row->set(o, words[1]);
	return r < 0 ? r : 2;
}

// Takes one word "-abc", perhaps with the next. Returns words used.
static int parse_letters(struct options *o, char **words)
{
	for (const char *p = words[0] + 1; *p; p++) {
		const struct option_row *row = by_letter(*p);
		int r;
		if (!row)
			return wrong(o, "unknown option -%c (see ctp-run --help)", *p);
		if (row->takes != TAKES_VALUE) {
			if ((r = row->set(o, NULL)) < 0)
				return r;
			continue;
		}
		const char *value = p[1] ? p + 1 : words[1];
		if (!value)
			return wrong(o, "-%c needs a value: -%c %s", *p, *p, row->value);
		if ((r = row->set(o, value)) < 0)
			return r;
		return p[1] ? 1 : 2;
	}
	return 1;
}

static bool is_lines(const char *path)
{
	size_t n = strlen(path);
	return n > 6 && !strcmp(path + n - 6, ".jsonl");
}

int options_parse(struct options *o, int argc, char **argv)
{
	*o = (struct options){ .output = "ctp.data", .max_bytes = 1ULL << 30, .stations = CTP_STATIONS_DEFAULT };
	int i = 1;
	while (i < argc && argv[i][0] == '-' && argv[i][1]) {
		if (!strcmp(argv[i], "--")) {
			i++;
			break;
		}
		int r = argv[i][1] == '-' ? parse_long(o, argv + i) : parse_letters(o, argv + i);
		if (r < 0)
			return r;
		i += r;
	}
	o->program = argv + i;
	if (o->flight_bytes && is_lines(o->output))
		return wrong(o, "--flight: what it keeps is a trace directory, not JSON lines; use -o DIR");
	if (o->flight_bytes && o->ring_bytes)
		return wrong(o, "--ring-size: with --flight there is one pool for all threads; give its size: --flight=SIZE");
	if (o->compress && is_lines(o->output))
		return wrong(o, "--compress: only a trace directory is compressed, not JSON lines; use -o DIR");
	if (o->error_exitcode && is_lines(o->output))
		return wrong(o, "--error-exitcode: no finding comes out of JSON lines, which hold no descriptors; use -o DIR");
	if (o->what == OPTIONS_RUN && i >= argc)
		return wrong(o, "no program given: ctp-run [OPTIONS] [--] PROGRAM [ARGS...]");
	return 0;
}

void options_deinit(struct options *o)
{
	free(o->env);
	o->env = NULL;
}

static void print_names(const struct option_row *row, char *out, size_t n)
{
	int at = 0;
	if (row->letter)
		at = snprintf(out, n, "-%c%s", row->letter, row->name ? ", " : row->value ? " " : "");
	if (row->name)
		at += snprintf(out + at, n - (size_t)at, "--%s%s", row->name,
			       row->value ? row->takes == TAKES_MAYBE ? "[=" : "=" : "");
	if (row->value)
		snprintf(out + at, n - (size_t)at, "%s%s", row->value, row->takes == TAKES_MAYBE ? "]" : "");
}

void options_print_help(void)
{
	char names[64];
	puts("usage: ctp-run [OPTIONS] [--] PROGRAM [ARGS...]\n"
	     "Runs PROGRAM and records its coroutines, and what they wait for.\n");
	for (size_t i = 0; i < ROWS; i++) {
		if (!rows[i].help)
			continue;
		print_names(&rows[i], names, sizeof(names));
		help_row(stdout, names, rows[i].help);
	}
	putchar('\n');
	help_text(stdout, "exit status: ", "PROGRAM's own; --error-exitcode's; 124 after --timeout; 125 wrong usage or internal; "
		  "126 cannot be traced; 127 not found");
	help_text(stdout, "next: ", "ctp-analyze --lost-wakeup");
}

static void print_man_text(const char *s)
{
	for (; *s; s++) {
		if (*s == '-' || *s == '\\')
			putchar('\\');
		putchar(*s);
	}
	putchar('\n');
}

void options_print_man(void)
{
	char names[64];
	puts(".\\\" Printed by ctp-run --man: edit src/engine/run/options.c\n.TH CTP-RUN 1\n.SH NAME\n"
	     "ctp\\-run \\- run a program and record its coroutines\n.SH SYNOPSIS\n.B ctp\\-run\n"
	     "[OPTIONS] [\\-\\-] PROGRAM [ARGS...]\n.SH DESCRIPTION\n"
	     "Runs PROGRAM with libctp.so preloaded, records every switch between its coroutines and what they\n"
	     "wait for, and writes a trace that\n.BR ctp\\-analyze (1)\nreads. Options end at the first word that is\n"
	     "not one.\n.SH OPTIONS");
	for (size_t i = 0; i < ROWS; i++) {
		if (!rows[i].help)
			continue;
		print_names(&rows[i], names, sizeof(names));
		printf(".TP\n.B ");
		print_man_text(names);
		print_man_text(rows[i].help);
	}
	puts(".SH EXIT STATUS\nThe program's own; killed by a signal: ctp\\-run dies by the same signal.\n"
	     "\\-\\-error\\-exitcode's if there is a finding; 124 after \\-\\-timeout, 125 wrong usage or the trace cannot be made, 126 the program cannot be traced,\n"
	     "127 it is not found.\n.SH SIGNALS\nSIGTERM: the last snapshot first, then it goes on to the program.\n"
	     "SIGHUP, SIGUSR1, SIGUSR2, SIGCONT and SIGWINCH go on to it; with \\-\\-flight SIGUSR2 does not, and\n"
	     "writes what is kept. With \\-f, once the first process has ended,\n"
	     "signals go to all that are left; \\-\\-timeout ends all of them.\n"
	     ".SH ENVIRONMENT\nThe program finds CTP_SHM_PATH, CTP_SOCK_PATH and CTP_MAX_STATIONS.\n"
	     "CTP_DISABLE=1 turns the library off. Preloaded without ctp\\-run, CTP_OUTPUT names the trace.\n"
	     ".SH DEBUGGER\n.B gdb \\-x \\fIPREFIX\\fB/share/ctp/ctp\\-gdb.py \\-p\n\\fIPID\\fR (the program's, not ctp\\-run's), or with the\n"
	     "program and a core of it: \\fBinfo coroutines\\fR, \\fBcoroutine\\fR \\fIN\\fR, \\fBcoroutine apply all bt\\fR,\n"
	     "\\fB$_coroutine()\\fR; \\fBhelp coroutine\\fR in gdb says more.\n"
	     ".SH SEE ALSO\n.BR ctp\\-analyze (1),\n.BR ctp\\-ps (1),\n.BR gdb (1)");
}
