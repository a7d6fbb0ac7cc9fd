// SPDX-License-Identifier: MIT
//
// ctp-run: starts a program with libctp.so preloaded and writes its trace. Only this
// file decides what is printed and with which status ctp-run exits.
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/outfile.h"
#include "ctp/words.h"
#include "engine/preflight.h"
#include "engine/attach/attach.h"
#include "engine/control/control.h"
#include "engine/session/finish.h"
#include "engine/list_events.h"
#include "engine/start/launch.h"
#include "engine/target/log.h"
#include "engine/start/options.h"
#include "engine/session/pause.h"
#include "engine/check.h"
#include "engine/run/run.h"
#include "engine/run/serve.h"
#include "engine/session/session.h"
#include "engine/session/turn.h"
#include "engine/target/signals.h"
#include "engine/start/sock.h"

enum { PATH_SHELL = 4 * PATH_MAX + 8 }; // a path with its quotes
enum { STATUS_TIMEOUT = 124, STATUS_OWN = 125, STATUS_CANNOT = 126, STATUS_NOT_FOUND = 127 };

struct job {
	struct options options;
	struct launch_inherited inherited;
	struct preflight preflight;
	struct sock sock;
	struct session session;
	struct launch launch;
	char library[PATH_MAX];
	char preload[3 * PATH_MAX];
	char shm_path[PATH_MAX + 32], sock_path[128], stations[48];
	const char **env;
	unsigned n_env;
};

static int usage(const char *why)
{
	log_line(LOG_FAIL, "%s", why);
	return STATUS_OWN;
}

// What LD_PRELOAD is to be: libctp.so first, but after a shared libasan or libtsan.
static int plan_preload(struct job *j)
{
	const char *more = getenv("LD_PRELOAD"), *lib = j->library;
	for (size_t i = 0; i < j->options.n_env; i++)
		if (!strncmp(j->options.env[i], "LD_PRELOAD=", 11))
			more = j->options.env[i] + 11;
	if (access("/proc/self/exe", F_OK)) {
		log_line(
			LOG_FAIL,
			"/proc is not mounted, and ctp-run shares memory with the program through it; mount it");
		return -ENOENT;
	}
	if (beside_library("libctp.so", "preload", j->library, sizeof(j->library)) < 0) {
		log_line(LOG_FAIL,
			 "libctp.so is not where it was installed, nor beside ctp-run; reinstall, or use "
			 "--no-preload");
		return -ENOENT;
	}
	if (strpbrk(lib, ": \t") && !(lib = sock_alias(&j->sock, lib)))
		return -EIO;
	log_line(LOG_MORE, "preloading %s", lib);
	snprintf(j->preload, sizeof(j->preload), "%s%s%s%s%s", j->preflight.libasan,
		 *j->preflight.libasan ? ":" : "", lib, more && *more ? ":" : "", more ? more : "");
	return 0;
}

static int plan_env(struct job *j)
{
	const char *shm = j->options.shm_file;
	char *real = shm ? realpath(shm, NULL) : NULL;
	if (shm)
		snprintf(j->shm_path, sizeof(j->shm_path), "CTP_SHM_PATH=%s", real ? real : shm);
	else
		snprintf(j->shm_path, sizeof(j->shm_path), "CTP_SHM_PATH=/proc/%d/fd/%d", (int)getpid(),
			 j->session.first.fd);
	free(real);
	snprintf(j->sock_path, sizeof(j->sock_path), "CTP_SOCK_PATH=/proc/%d/fd/%d", (int)getpid(),
		 j->sock.inode);
	snprintf(j->stations, sizeof(j->stations), "CTP_MAX_STATIONS=%" PRIu32, j->options.stations);
	j->env = calloc(j->options.n_env + 3, sizeof(*j->env));
	if (!j->env)
		return -ENOMEM;
	j->env[j->n_env++] = j->shm_path;
	j->env[j->n_env++] = j->sock_path;
	j->env[j->n_env++] = j->stations;
	for (size_t i = 0; i < j->options.n_env; i++)
		j->env[j->n_env++] = j->options.env[i];
	return 0;
}

static int say_region(const struct job *j, int r)
{
	if (r == -EEXIST)
		log_line(LOG_FAIL, "%s: exists and is no cTP region; give --shm-file another name",
			 j->options.shm_file);
	else if (j->options.shm_file)
		log_line(LOG_FAIL, "cannot make the region in %s: %s", j->options.shm_file, strerror(-r));
	else
		log_line(LOG_FAIL, "cannot make the region: memfd: %s; --shm-file=PATH uses a real file",
			 strerror(-r));
	return STATUS_OWN;
}

static int say_output(const struct job *j, int r)
{
	const char *path = j->session.recorder.output.path ? j->session.recorder.output.path :
							     j->options.output;
	if (r == OUTPUT_EXISTS)
		log_line(LOG_FAIL,
			 "%s: exists and is no ctp trace; the program was not started; choose another "
			 "name with -o",
			 path);
	else if (r == OUTPUT_OLD_EXISTS)
		log_line(LOG_FAIL,
			 "%s.old: exists and is no ctp trace, so %s cannot be moved there; the program "
			 "was not started; choose another name with -o",
			 path, path);
	else
		log_line(LOG_FAIL,
			 "cannot make the trace %s: %s; the program was not started; choose another "
			 "place with -o",
			 path, strerror(-r));
	return STATUS_OWN;
}

// As many descriptors as we may have. Not before the program's process is there, whose limit stays as it is.
static void raise_files(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files))
		return;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
}

static int open_metrics(struct job *j)
{
	const struct options *o = &j->options;
	struct recorder *recorder = &j->session.recorder;
	char why[256];
	if (!o->metrics)
		return 0;
	if (metrics_open(&j->session.metrics, o->metrics, &recorder->clock, o->flight_bytes, why,
			 sizeof(why))) {
		log_line(LOG_FAIL, "--metrics=%s: %s; the program was not started", o->metrics, why);
		return STATUS_OWN;
	}
	recorder->seen = metrics_seen(j->session.metrics);
	recorder->seen_arg = metrics_seen_arg(j->session.metrics);
	return 0;
}

// Everything up to the running program. 0, or the status to exit with.
static int start(struct job *j)
{
	struct options *o = &j->options;
	enum preflight_verdict v = preflight_program(&j->preflight, o->program[0], !o->no_preload);
	if (v != PREFLIGHT_FINE) {
		log_line(LOG_FAIL, "%s", j->preflight.why);
		return v;
	}
	int r = session_region(&j->session, o, *j->preflight.libasan);
	if (r < 0)
		return say_region(j, r);
	if ((r = open_metrics(j)))
		return r;
	if ((r = sock_init(&j->sock, SOCK_STREAM, SLOT_SOCKET)) < 0)
		log_line(LOG_MORE, "cannot make the socket for version-1 probes: %s", strerror(-r));
	if ((!o->no_preload && plan_preload(j) < 0) || plan_env(j) < 0)
		return STATUS_OWN;
	j->session.region_path = o->shm_file ? j->shm_path + strlen("CTP_SHM_PATH=") : NULL;
	j->session.library = o->no_preload ? NULL : j->library;
	struct launch_plan plan = {.path = j->preflight.path,
				   .argv = o->program,
				   .env = j->env,
				   .n_env = j->n_env,
				   .preload = o->no_preload ? NULL : j->preload};
	for (size_t i = 0; o->no_preload && i < o->n_env; i++)
		if (!strncmp(o->env[i], "LD_PRELOAD=", 11))
			plan.preload = o->env[i] + 11;
	if ((r = launch_fork(&j->launch, &plan, &j->inherited)) < 0) {
		log_line(LOG_FAIL, "cannot start a process: %s", strerror(-r));
		return STATUS_OWN;
	}
	if ((r = session_open(&j->session, o->output, j->launch.pid, o->program, j->preflight.loaded))) {
		launch_cancel(&j->launch);
		return say_output(j, r);
	}
	if ((r = sock_bind(&j->sock, j->session.recorder.output.parent)) < 0)
		log_line(LOG_MORE, "cannot make the socket for version-1 probes: %s", strerror(-r));
	control_open(&j->session);
	raise_files();
	session_uprobes(&j->session, j->preflight.loaded);
	if (o->paused)
		pause_begin(&j->session);
	if ((r = launch_go(&j->launch))) {
		session_undo(&j->session);
		log_line(LOG_FAIL, "%s: %s", o->program[0], strerror(r));
		return r == ENOENT ? STATUS_NOT_FOUND : STATUS_CANNOT;
	}
	launch_close_inherited(&j->inherited);
	session_started(&j->session);
	if (j->session.metrics && metrics_serve(j->session.metrics))
		log_line(LOG_FAIL, "--metrics: the server does not start");
	else if (j->session.metrics)
		log_line(LOG_SAY, "metrics: %s", metrics_url(j->session.metrics));
	return 0;
}

// As a shell reads it, behind a blank.
static void print_path(char *out, size_t n, const char *path)
{
	bool plain =
		path[strspn(path,
			    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:,@%-")] ==
		'\0';
	size_t at = (size_t)snprintf(out, n, " %s%s", *path == '-' ? "./" : "", plain ? path : "'");
	for (const char *c = path; !plain && *c && at < n; c++)
		at += (size_t)snprintf(out + at, n - at, *c == '\'' ? "'\\''" : "%c", *c);
	if (!plain && at < n)
		snprintf(out + at, n - at, "'");
}

// Where nothing was seen: it may have been in the children.
static void say_children(const struct session *s, char *out, size_t bytes)
{
	uint64_t untraced = s->options->follow ? 0 : session_untraced(s);
	*out = 0;
	if (untraced)
		snprintf(out, bytes, "%" PRIu64 " forked %s not traced%s", untraced,
			 untraced == 1 ? "child was" : "children were",
			 s->options->pid ? "" : ": -f traces children, too");
}

// No switch: was it looked for in the right place? The trace says it, too.
static void say_no_switch(const struct session *s, const char *before)
{
	char looked[1024], unseen[512];
	if (s->options->no_preload) {
		log_line(
			LOG_SAY,
			"%sno coroutine switch seen; none was looked for, but in the words of version-1 probes: "
			"--no-preload",
			before);
		return;
	}
	module_scan_text(&s->recorder.modules, looked, sizeof(looked));
	module_scan_hidden_all(&s->recorder.modules, unseen, sizeof(unseen));
	char children[96];
	say_children(s, children, sizeof(children));
	log_line(LOG_SAY, "%sno coroutine switch seen; %s%s%s%s%s%s", before, looked, *unseen ? "; " : "",
		 unseen, session_first(s)->about.guest ? "" : "; libctp.so did not attach",
		 *children ? "; " : "", children);
}

static void say_processes(const struct session *s, char *out, size_t bytes)
{
	uint64_t untraced = session_untraced(s);
	int n = snprintf(out, bytes, " in %u process%s", s->begun, s->begun == 1 ? "" : "es");
	if (untraced)
		snprintf(out + n, bytes - (size_t)n, " (%" PRIu64 " more not traced)", untraced);
}

static bool saw_nothing(const struct session *s)
{
	return !session_sum(s).switches && !v1_events(s->v1) && !session_stackless(s);
}

// A check of a run that watched nothing is no check.
static void say_unchecked(const struct session *s, const char *before)
{
	char children[96], unseen[512] = "", path[PATH_SHELL];
	say_children(s, children, sizeof(children));
	if (!s->options->no_preload)
		module_scan_hidden_all(&s->recorder.modules, unseen, sizeof(unseen));
	print_path(path, sizeof(path), s->recorder.output.path);
	log_line(
		LOG_SAY,
		"%s--check: no coroutine switch was seen, so nothing was checked; %s%s%s%sctp-analyze%s says "
		"what was looked for; --allow-empty accepts it",
		before, children, *children ? "; " : "", unseen, *unseen ? "; " : "", path);
}

// Who ran when it died by this signal. False: that was not noted.
static bool say_crash(const struct session *s, int sig, const char *before)
{
	const struct ctp_region *r = session_first(s)->region;
	const struct ctp_crash c = r->ext->crash;
	char name[24], at[32] = "", who[64];
	if (c.ready != 1 || c.signal != sig)
		return false;
	bool native = !c.who || (c.thread < r->threads_max && r->threads[c.thread].native == c.who);
	if (native)
		snprintf(who, sizeof(who), "thread %" PRIu32 " crashed on its own stack", c.tid);
	else
		snprintf(who, sizeof(who), "coroutine %" PRIu64 " crashed", c.who);
	if (c.code > 0)
		snprintf(at, sizeof(at), " at address 0x%" PRIx64, c.addr);
	log_line(LOG_SAY, "%s%s: %s%s", before, who, words_signal(sig, name, sizeof(name)), at);
	return true;
}

// How the program ended where --timeout did it; "" else.
static void say_timeout(const struct job *j, const struct run_end *end, char *out, size_t bytes)
{
	char how[64], name[24];
	snprintf(how, sizeof(how), "%s",
		 end->signal == SIGKILL ? "SIGTERM did not end it, SIGKILL did" : "ended by SIGTERM");
	if (!end->signal)
		snprintf(how, sizeof(how), "exited with %d after SIGTERM", end->status);
	else if (end->signal != SIGTERM && end->signal != SIGKILL)
		snprintf(how, sizeof(how), "ended by %s after SIGTERM",
			 words_signal(end->signal, name, sizeof(name)));
	snprintf(out, bytes, end->timed_out ? "timed out after %g s: %s" : "", j->options.timeout_s, how);
}

// Adds which items of --events were of no use.
static void say_events(const struct session *s, char *out, size_t bytes)
{
	char items[256];
	size_t at = strlen(out);
	if (s->events && event_list_unmatched(s->events, items, sizeof(items)))
		snprintf(out + at, bytes - at, "%s%s: no event of the program matches %s", at ? "; " : "",
			 s->events == &s->chosen ? "ctp-ctl events" : "--events", items);
}

// Three lines at most: what was seen; what was particular about its end; what to do next.
static void say_end(struct job *j, const struct run_end *end)
{
	struct session *s = &j->session;
	struct harvest_sums sums = session_sum(s);
	char path[PATH_SHELL] = "", dropped[96] = "", processes[96] = "", events[48] = "", found[48] = "";
	unsigned findings = session_found(s);
	uint64_t lost = sums.lost + v1_lost(s->v1) + session_uprobes_lost(s);
	uint64_t not_kept = s->recorder.writer->dropped_records + s->recorder.manifest.flight_not_kept;
	if (not_kept)
		snprintf(dropped, sizeof(dropped), ", %" PRIu64 " not kept", not_kept);
	if (s->options->follow || session_untraced(s))
		say_processes(s, processes, sizeof(processes));
	if (s->recorder.writer->events)
		snprintf(events, sizeof(events), ", %" PRIu64 " event%s", s->recorder.writer->events,
			 s->recorder.writer->events == 1 ? "" : "s");
	if (findings) // of none it cannot be told before ctp-analyze has read the trace
		snprintf(found, sizeof(found), "; %u finding%s so far", findings, findings == 1 ? "" : "s");
	log_line(LOG_SAY,
		 "%" PRIu64 " switches, %" PRIu64 " coroutines%s%s, %" PRIu64 " lost%s%s; trace in %s",
		 sums.switches + v1_events(s->v1) / 2, sums.created + v1_stations(s->v1), processes, events,
		 lost, dropped, found, s->recorder.output.path);
	char timeout[512], before[520];
	say_timeout(j, end, timeout, sizeof(timeout));
	say_events(s, timeout, sizeof(timeout));
	snprintf(before, sizeof(before), "%s%s", timeout, *timeout ? "; " : "");
	bool crashed = end->signal && sums.switches && say_crash(s, end->signal, before);
	if (saw_nothing(s) && j->options.check && !j->options.allow_empty)
		say_unchecked(s, before);
	else if (saw_nothing(s))
		say_no_switch(s, before);
	else if (*timeout && !crashed)
		log_line(LOG_SAY, "%s", timeout);
	if (strcmp(s->recorder.output.path, "ctp.data"))
		print_path(path, sizeof(path), s->recorder.output.path);
	log_line(LOG_SAY, "run: ctp-analyze%s", path);
}

// --check: the status that a finding gives, or 0.
static int check(struct job *j)
{
	int r = j->options.check ? check_trace(&j->options, j->session.recorder.output.path) : 0;
	if (r < 0)
		log_line(LOG_FAIL, "--check: cannot run ctp-analyze beside ctp-run: %s", strerror(-r));
	if (!r && j->options.check && !j->options.allow_empty && saw_nothing(&j->session))
		r = j->options.error_exitcode;
	return r < 0 ? STATUS_OWN : r;
}

static int run(struct job *j)
{
	int status = start(j);
	if (status)
		return status;
	struct run_end end = run_child(&j->session, &j->sock, j->options.timeout_s);
	metrics_close(j->session.metrics);
	j->session.metrics = NULL;
	control_close(&j->session);
	int found = check(j);
	say_end(j, &end);
	sock_deinit(&j->sock);
	if (found)
		return found;
	if (end.timed_out)
		return STATUS_TIMEOUT;
	if (end.signal)
		signals_die(end.signal);
	return end.signal ? 128 + end.signal : end.status;
}

// The region's pages: the process keeps it mapped, and needs none of it.
static void let_region_go(const struct session *s)
{
	fallocate(s->first.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)s->first.region.bytes);
}

static int cannot_attach(const struct job *j, const char *why)
{
	log_line(LOG_FAIL, "cannot attach to %" PRIu32 ": %s", j->options.pid, why);
	return STATUS_CANNOT;
}

// --pid, up to the process that is hooked. 0, or the status to exit with.
static int start_attached(struct job *j, struct attach *a, char **argv)
{
	pid_t pid = (pid_t)j->options.pid;
	char path[64];
	int r;
	if (beside_library("libctp.so", "preload", j->library, sizeof(j->library)) < 0)
		return cannot_attach(
			j, "libctp.so is not where it was installed, nor beside ctp-run; reinstall");
	if (attach_check(a, pid, j->library) < 0)
		return cannot_attach(j, a->why);
	if ((r = session_region(&j->session, &j->options, false)) < 0)
		return say_region(j, r);
	j->session.first.region.ext->options |= CTP_OPT_ATTACH;
	if ((r = session_open(&j->session, j->options.output, pid, argv, NULL)))
		return say_output(j, r);
	if (j->options.paused)
		pause_begin(&j->session);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getpid(), j->session.first.fd);
	a->region = &j->session.first.region;
	int64_t n = attach_hook(a, path);
	if (n < 0) {
		session_undo(&j->session);
		return cannot_attach(j, a->why);
	}
	control_open(&j->session); // not before: the keeper would hold it, too
	log_line(LOG_MORE,
		 "attached to %d: %" PRId64 " entries of its objects call libctp.so now; %" PRIu32
		 " coroutine%s found in its memory",
		 (int)pid, n, a->found, a->found == 1 ? " was" : "s were");
	session_uprobes(&j->session, NULL);
	session_started(&j->session);
	return 0;
}

// Threads that wait for room in their rings (--overflow=block) would keep it from being unhooked.
static void read_on(void *arg)
{
	turn_empty(arg);
}

static int run_on_attached(struct job *j, struct attach *a)
{
	struct run_end end = {0};
	bool ended = run_attached(&j->session, j->options.timeout_s);
	int r = ended ? 0 : attach_unhook(a, read_on, &j->session);
	finish_write(&j->session);
	int found = check(j);
	if (r < 0 && kill((pid_t)j->options.pid, 0) == 0)
		log_line(
			LOG_FAIL,
			"process %" PRIu32
			" could not be detached from yet: %s; it continues, and ctp-run tries again each second",
			j->options.pid, a->why);
	say_end(j, &end);
	if (!r)
		let_region_go(&j->session);
	char *real = realpath(j->session.recorder.output.path, NULL); // who asked may be elsewhere
	control_detached(&j->session, !r, r ? a->why : real ? real : j->session.recorder.output.path);
	free(real);
	control_close(&j->session);
	return found;
}

static int attached(struct job *j)
{
	struct attach a = {.library = -1, .leash = -1, .answer = -1};
	char *room = NULL;
	char **argv = serve_command((int)j->options.pid, &room);
	int status = start_attached(j, &a, argv);
	if (!status)
		status = run_on_attached(j, &a);
	attach_deinit(&a);
	free(argv);
	free(room);
	return status;
}

int main(int argc, char **argv)
{
	static struct job j; // large; freed by the end
	j.sock = (struct sock)SOCK_NONE;
	int r = options_parse(&j.options, argc, argv);
	if (r < 0)
		return usage(j.options.error);
	if (j.options.completion)
		return options_print_completion(j.options.completion) ? STATUS_OWN : 0;
	switch (j.options.what) {
	case OPTIONS_HELP:
		options_print_help();
		return 0;
	case OPTIONS_MAN:
		options_print_man();
		return 0;
	case OPTIONS_VERSION:
		puts("ctp-run " CTP_TOOL_VERSION);
		return 0;
	case OPTIONS_LIST_EVENTS:
		r = list_events(j.options.list_events, stdout, j.options.error, sizeof(j.options.error));
		return r || fflush(stdout) ? usage(r ? j.options.error : "--list-events: cannot write it") :
					     0;
	case OPTIONS_SERVE:
		return serve(&j.options);
	case OPTIONS_RUN:
		break;
	}
	launch_inherit(&j.inherited);
	r = log_open(j.options.log_file, j.options.quiet ? LOG_FAIL : j.options.verbose ? LOG_MORE : LOG_SAY);
	if (r < 0) {
		log_line(LOG_FAIL, "cannot write to %s: %s", j.options.log_file, outfile_why(r));
		return STATUS_OWN;
	}
	signals_init();
	int status = j.options.pid ? attached(&j) : run(&j);
	sock_deinit(&j.sock);
	options_deinit(&j.options);
	free(j.inherited.fds);
	free(j.env);
	return status;
}
