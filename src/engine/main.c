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
#include "engine/closing.h"
#include "engine/run/run.h"
#include "engine/run/serve.h"
#include "engine/session/session.h"
#include "engine/session/turn.h"
#include "engine/target/signals.h"
#include "engine/start/sock.h"

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

// --check: the status that a finding gives, or 0.
static int check(struct job *j)
{
	int r = j->options.check ? check_trace(&j->options, j->session.recorder.output.path) : 0;
	if (r < 0)
		log_line(LOG_FAIL, "--check: cannot run ctp-analyze beside ctp-run: %s", strerror(-r));
	if (!r && j->options.check && !j->options.allow_empty && closing_saw_nothing(&j->session))
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
	closing_say(&j->session, &end);
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
	closing_say(&j->session, &end);
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
