// SPDX-License-Identifier: MIT
//
// ctp-ps: lists traced processes, or the coroutines of one. The only file of
// this program that prints messages and exits. stdout carries the list alone.
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "ps/listing/search_rows.h"
#include "ps/listing/stackless_rows.h"
#include "ps/read/denied.h"
#include "ps/print/births.h"
#include "ps/model/report.h"
#include "ps/settings.h"
#include "ps/watch/watch.h"
#include "search/mark/scan.h"

enum { EXIT_NOTHING = 1, EXIT_USAGE = 2, EXIT_UNDECIDED = 3 };

static struct settings settings;

// Nothing is there to look at. With --lost 1 says that some are lost, and nothing else does.
static int nothing(void)
{
	return settings.lost ? EXIT_USAGE : EXIT_NOTHING;
}

static int flush(int e)
{
	if (!e && (ferror(stdout) || fflush(stdout)))
		e = errno ? -errno : -EIO;
	if (e)
		fprintf(stderr, "ctp-ps: cannot write the list: %s\n", strerror(-e));
	return e ? EXIT_USAGE : 0;
}

// One line: what, why, the way out. Returns the status.
static int say(pid_t pid, int why)
{
	int id = (int)pid;
	char reason[256];
	switch (why) {
	case FIND_NO_PROCESS:
	case -ESRCH:
		fprintf(stderr,
			"ctp-ps: %d: there is no such process (any more); ctp-ps alone lists the traced ones\n",
			id);
		return nothing();
	case FIND_NOT_TRACED:
		fprintf(stderr, "ctp-ps: %d is no longer traced; ctp-ps --watch %d searches it\n", id, id);
		return nothing();
	case FIND_NOT_YET:
		fprintf(stderr,
			"ctp-ps: %d: libctp.so has not attached in that program: it is just starting, or cannot be "
			"traced; try again\n",
			id);
		return nothing();
	case FIND_OTHER_VERSION:
		fprintf(stderr,
			"ctp-ps: %d: its region was made by another version of ctp: look at it with the ctp-ps "
			"beside its ctp-run\n",
			id);
		return EXIT_USAGE;
	case FIND_DAMAGED:
	case -EPROTO:
	case -EFAULT:
	case -EIO:
		fprintf(stderr,
			"ctp-ps: %d: its tables are damaged, or changed while they were read; try again\n",
			id);
		return EXIT_USAGE;
	case FIND_MANY:
		fprintf(stderr,
			"ctp-ps: %d traces several processes; name one of them: ctp-ps alone lists them\n",
			id);
		return EXIT_USAGE;
	case -EACCES:
	case -EPERM:
		fprintf(stderr, "ctp-ps: %d may not be looked at: %s\n", id,
			denied_why(pid, reason, sizeof(reason)));
		return EXIT_USAGE;
	default:
		fprintf(stderr, "ctp-ps: %d cannot be read: %s; try again\n", id, strerror(-why));
		return EXIT_USAGE;
	}
}

static int say_core(const char *path, int e, const char *why)
{
	if (e == FIND_OTHER_VERSION)
		fprintf(stderr,
			"ctp-ps: %s: its tables were made by another version of ctp; read it with that one's ctp-ps\n",
			path);
	else if (e == FIND_DAMAGED || (e == -EPROTO && !why))
		fprintf(stderr,
			"ctp-ps: %s: a core in which ctp's tables are damaged; ctp-analyze reads the trace beside it\n",
			path);
	else if (e == -EPROTO)
		fprintf(stderr, "ctp-ps: %s: %s%s\n", path, why,
			strchr(why, ';') ? "" : "; ctp-ps PID shows a running program");
	else
		fprintf(stderr, "ctp-ps: %s cannot be read: %s; give a core file that can, or a PID\n", path,
			strerror(-e));
	return EXIT_USAGE;
}

// Distinguishes a process that ended midway from one that cannot be read.
static int why_not(const struct found *f, int e)
{
	struct found now;
	int again = e == -ENOMEM ? 0 : find_process(f->pid, &now);
	if (again == FIND_NO_PROCESS || again == FIND_NOT_TRACED)
		return FIND_NO_PROCESS;
	if (!again && e != -ENOMEM)
		find_release(&now);
	return e;
}

// Which coroutine that was asked for is not there, if it is one.
static int say_missing(const struct report *r)
{
	uint64_t id = r->missing;
	if (!id)
		return 0;
	bool ended = id <= r->found->header.ext.next_id;
	fprintf(stderr, "ctp-ps: coroutine %" PRIu64 " %s; leave out the id to list those that are there\n",
		id, ended ? "has ended, or is a thread's own stack" : "was never made");
	return nothing();
}

// Its C++20 coroutines, which no table knows: those that the program tells of are left out. 0; else they
// cannot be told.
static int stackless_of(const struct found *f, const struct tables *t, struct listing *l)
{
	const struct ctp_ext *x = &f->header.ext;
	struct span *known = calloc(t->n + 3, sizeof(*known));
	if (!known)
		return -ENOMEM;
	known[0] = (struct span){x->region_base, x->region_base + x->region_bytes};
	known[1] = (struct span){x->areas_base, x->areas_base + x->areas_bytes};
	known[2] = (struct span){x->self_base, x->self_end};
	size_t n = 3;
	for (size_t i = 0; i < t->n; i++)
		if (t->coroutines[i].announced)
			known[n++] = (struct span){t->coroutines[i].lo, t->coroutines[i].hi};
	n = spans_tidy(known, n);
	int e = stackless_listing(l, f->pid, f->core ? f->core_path : NULL, known, n,
				  settings.all || settings.nids);
	free(known);
	return e;
}

// What no table knows: its C++20 coroutines; and if ctp-run has attached to it, those that have not run
// since. As stackless_of.
static int unlisted_of(const struct found *f, const struct tables *t, struct listing *l)
{
	struct known known;
	const char *why;
	if (f->core || !(f->header.ext.options & CTP_OPT_ATTACH))
		return stackless_of(f, t, l);
	int e = known_read(&known, f);
	if (e)
		return e;
	const struct search_source from = {.pid = f->pid, .known = &known};
	e = search_rows(l, &from, settings.all || settings.nids, &why);
	known_deinit(&known);
	return e;
}

static bool is_row(const struct listing *l, uint64_t id)
{
	for (size_t i = 0; l && i < l->n; i++)
		if (l->v[i].id == id)
			return true;
	return false;
}

// What was found, which is then given back. Returns the status.
static int show(struct found *f)
{
	const struct report_wants wants = {.all = settings.all,
					   .whole = settings.stack,
					   .tree = settings.tree,
					   .why = settings.why,
					   .ids = settings.ids,
					   .nids = settings.nids};
	struct report r;
	struct listing unlisted;
	int e = report_make(&r, f, &wants);
	int status = 0;
	if (e)
		status = f->core ? say_core(f->core_path, e, NULL) : say(f->pid, why_not(f, e));
	if (!e) {
		bool any = !unlisted_of(f, &r.tables, &unlisted);
		r.unlisted = any && unlisted.n ? &unlisted : NULL;
		if (r.unlisted)
			births_add(&unlisted, &r);
		if (r.missing && is_row(r.unlisted, r.missing))
			r.missing = 0;
		if (!settings.nids || r.groups.n || r.unlisted)
			status = flush(settings.json ?
					       json_write(stdout, &r) :
					       text_write(stdout, &r, color_wanted(settings.color, 1)));
		status = status ? status : say_missing(&r);
		report_deinit(&r);
		if (any)
			listing_deinit(&unlisted);
	}
	find_release(f);
	return status;
}

// What no table tells: found by search. Returns the status.
static int write_listing(const struct listing *l)
{
	const struct listing_wants wants = {.all = settings.all,
					    .whole = settings.stack,
					    .tree = settings.tree,
					    .why = settings.why,
					    .ids = settings.ids,
					    .nids = settings.nids};
	for (size_t i = 0; i < settings.nids; i++) {
		size_t k = 0;
		while (k < l->n && l->v[k].id != settings.ids[i])
			k++;
		if (k < l->n)
			continue;
		fprintf(stderr,
			"ctp-ps: no coroutine 0x%" PRIx64
			" was found; ids are those of one listing: list again without them\n",
			settings.ids[i]);
		return nothing();
	}
	int status = flush(settings.json ? listing_json(stdout, l, &wants) :
					   listing_text(stdout, l, &wants, color_wanted(settings.color, 1)));
	if (status || !settings.lost)
		return status;
	return l->undecided ? EXIT_UNDECIDED : l->n ? EXIT_NOTHING : 0;
}

// Dead words keep some coroutines of a core file: that none is lost is not shown by finding none.
static void doubt_core(struct listing *l)
{
	if (l->only_lost && l->core && !l->n && l->all && !l->undecided)
		l->undecided = "a core file also holds stale words, and each of them counts as a reference";
}

static int search_process(pid_t pid, const struct known *known)
{
	const struct search_source from = {
		.pid = pid, .lost = settings.lost, .stop = settings.stop, .known = known};
	struct listing l;
	const char *why;
	int e = search_rows(&l, &from, settings.all || settings.nids, &why);
	if (e)
		return say(pid, e);
	doubt_core(&l);
	int status = write_listing(&l);
	listing_deinit(&l);
	return status;
}

// The core of a traced process has its tables: the analysis says what is lost, with proof.
static int say_traced_core(struct found *f)
{
	fprintf(stderr, "ctp-ps: %s: --lost is for programs that were not traced; see ctp-analyze %s\n",
		f->core_path, f->core_path);
	find_release(f);
	return EXIT_UNDECIDED;
}

// The tables do not tell what leads where, and those of one that ctp-run has attached to lack what has not
// run since: a search has all. ctp's own memory in it does not count.
static int search_traced(struct found *f)
{
	struct known known;
	int e = known_read(&known, f);
	int status = e ? say(f->pid, why_not(f, e)) : search_process(f->pid, &known);
	if (!e)
		known_deinit(&known);
	find_release(f);
	return status;
}

static int show_process(pid_t pid)
{
	struct found f;
	int e = find_process(pid, &f);
	if (e == FIND_NOT_TRACED)
		return search_process(find_whole(pid), NULL);
	if (!e && settings.lost)
		return search_traced(&f);
	return e ? say(pid, e) : show(&f);
}

static int show_core(const char *path)
{
	struct found f;
	struct listing l;
	const char *why = NULL, *searched;
	const struct search_source from = {.core = path, .saved = settings.saved, .lost = settings.lost};
	int e = find_core(path, &f, &why);
	if (!e)
		return settings.lost ? say_traced_core(&f) : show(&f);
	if (e != -EPROTO || !why)
		return say_core(path, e, why);
	e = search_rows(&l, &from, settings.all || settings.nids, &searched);
	if (e)
		return say_core(path, e, e == -EPROTO && searched ? searched : why);
	doubt_core(&l);
	int status = write_listing(&l);
	listing_deinit(&l);
	return status;
}

static void list_text(const struct found *f, const struct tables *t, bool first)
{
	char command[160], engine[16];
	find_command(f->pid, command, sizeof(command));
	snprintf(engine, sizeof(engine), f->engine ? "%d" : "gone", (int)f->engine);
	if (first)
		printf("%8s %11s %10s %9s %9s %9s  %s\n", "PID", "COROUTINES", "SUSPENDED", "RUNNING",
		       "THREADS", "CTP-RUN", "COMMAND");
	printf("%8d %11zu %10" PRIu64 " %9" PRIu64 " %9zu %9s  %s\n", (int)f->pid, t->n, t->suspended,
	       t->running, t->nthreads, engine, command);
}

static json_t *list_json(const struct found *f, const struct tables *t)
{
	char command[FIND_COMMAND];
	find_command(f->pid, command, sizeof(command));
	return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "pid", (int)f->pid, "ctp_run",
			 f->engine ? json_integer(f->engine) : json_null(), "command", json_text(command),
			 "created", json_count(t->created), "suspended", json_count(t->suspended), "running",
			 json_count(t->running), "threads", json_count(t->nthreads));
}

static int list(const struct found *all, size_t n)
{
	json_t *a = settings.json ? json_array() : NULL;
	size_t shown = 0;
	for (size_t i = 0; i < n; i++) {
		struct tables t;
		if (tables_read(&t, &all[i], false)) // it ended meanwhile
			continue;
		if (settings.json)
			json_array_append_new(a, list_json(&all[i], &t));
		else
			list_text(&all[i], &t, shown == 0);
		shown++;
		tables_deinit(&t);
	}
	if (settings.json) {
		json_t *o = json_pack("{s:i, s:s, s:o}", "version", 2, "tool", "ctp-ps " CTP_TOOL_VERSION,
				      "processes", a);
		json_dumpf(o, stdout, JSON_INDENT(1));
		putchar('\n');
		json_decref(o);
	}
	if (!shown)
		fputs("ctp-ps: no process of this user is traced; ctp-run PROGRAM starts one\n", stderr);
	int status = flush(0);
	return status ? status : shown ? 0 : EXIT_NOTHING;
}

static int list_all(void)
{
	struct found *all;
	size_t n;
	int e = find_all(&all, &n);
	if (e) {
		fprintf(stderr, "ctp-ps: /proc cannot be read: %s\n", strerror(-e));
		return EXIT_USAGE;
	}
	int status = list(all, n);
	for (size_t i = 0; i < n; i++)
		find_release(&all[i]);
	free(all);
	return status;
}

static int watch(void)
{
	struct watch_why why;
	const struct watch_options o = {
		.pid = settings.pid,
		.delay_ns = (uint64_t)((settings.delay_s ? settings.delay_s : 1) * 1e9),
		.all = settings.all,
		.color = color_wanted(settings.color, 1)};
	const char *other = settings.json ? "--json" :
			    settings.why  ? "--why" :
			    settings.tree ? "--tree" :
					    NULL;
	if (other || settings.nids) {
		fprintf(stderr,
			other ? "ctp-ps: %s writes a list, --watch a screen; leave out --watch or %s\n" :
				"ctp-ps: --watch shows all coroutines of a process; leave out the ids, and search there with /\n",
			other, other);
		return EXIT_USAGE;
	}
	if (settings.core) {
		fprintf(stderr,
			"ctp-ps: --watch shows a running program; leave it out to see what %s holds\n",
			settings.core);
		return EXIT_USAGE;
	}
	int e = watch_run(&o, &why);
	if (why.signal) { // the terminal has been put back: now it may end us
		signal(why.signal, SIG_DFL);
		raise(why.signal);
	}
	if (!e)
		return 0;
	if (!why.text)
		return say(why.pid, e);
	fprintf(stderr, "ctp-ps: %s\n", why.text);
	return e == FIND_NO_PROCESS ? EXIT_NOTHING : EXIT_USAGE;
}

static int save(void)
{
	struct found f;
	pid_t pid = find_whole(settings.pid);
	if (!settings.pid) {
		fputs("ctp-ps: --save needs a PID; ctp-ps alone lists the traced processes\n", stderr);
		return EXIT_USAGE;
	}
	int e = find_process(pid, &f);
	bool traced = !e, tables = false;
	if (traced) { // the tables of one that ctp-run has attached to lack what has not run since
		tables = !(f.header.ext.options & CTP_OPT_ATTACH);
		find_release(&f);
	} else if (e != FIND_NOT_TRACED)
		return say(pid, e);
	e = search_save(pid, !traced || settings.stop, settings.stop, tables, settings.save);
	if (e == -EACCES || e == -EPERM || e == -ESRCH)
		return say(pid, e);
	if (e) {
		fprintf(stderr, "ctp-ps: cannot save to %s: %s; name a folder that is not there yet\n",
			settings.save, strerror(-e));
		return EXIT_USAGE;
	}
	printf("saved to %s: ctp-ps %s lists it\n", settings.save, settings.save);
	return flush(0);
}

int main(int argc, char **argv)
{
	struct options_result r = settings_read(&settings, argc, argv);
	if (r.error && settings.wrong) {
		fprintf(stderr, "ctp-ps: '%s' %s\n", r.at, settings.wrong);
		return EXIT_USAGE;
	}
	if (r.error) {
		fputs("ctp-ps: ", stderr);
		options_say(&r, stderr);
		fputs("; see ctp-ps --help\n", stderr);
		return EXIT_USAGE;
	}
	unsetenv("DEBUGINFOD_URLS"); // libdw would fetch debug files over the network
	if (settings.completion)
		return settings_completion(stdout, settings.completion) ? EXIT_USAGE : 0;
	switch (settings.action) {
	case ACTION_HELP:
		settings_help(stdout);
		return 0;
	case ACTION_MAN:
		settings_man(stdout);
		return 0;
	case ACTION_VERSION:
		puts("ctp-ps " CTP_TOOL_VERSION);
		return 0;
	case ACTION_LIST:
		break;
	}
	if (settings.watch)
		return watch();
	if (settings.delay_s) {
		fputs("ctp-ps: --delay is for --watch; add it, or leave out --delay\n", stderr);
		return EXIT_USAGE;
	}
	if ((settings.tree || settings.why) && !settings.pid && !settings.core) {
		fprintf(stderr,
			"ctp-ps: %s needs a PID or a core file; ctp-ps alone lists the traced processes\n",
			settings.tree ? "--tree" : "--why");
		return EXIT_USAGE;
	}
	if (settings.lost && !settings.pid && !settings.core) {
		fputs("ctp-ps: --lost needs a PID or a core file; ctp-ps alone lists the traced processes\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (settings.stop && ((!settings.lost && !settings.save) || settings.core)) {
		fputs("ctp-ps: --stop is for --lost and --save of a running program; add one of them, or leave out --stop\n",
		      stderr);
		return EXIT_USAGE;
	}
	if (settings.save)
		return save();
	if (settings.core)
		return show_core(settings.core);
	return settings.pid ? show_process(settings.pid) : list_all();
}
