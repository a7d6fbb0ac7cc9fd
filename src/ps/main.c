// SPDX-License-Identifier: MIT
//
// ctp-ps: lists traced processes, or the coroutines of one. stdout carries the list alone; messages go to
// stderr (errors.h).
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ps/errors.h"
#include "ps/listing/search_rows.h"
#include "ps/print/processes.h"
#include "ps/settings.h"
#include "ps/show.h"
#include "ps/watch/watch.h"

static struct settings settings;

static int list_all(void)
{
	struct found *all;
	size_t n;
	int e = find_all(&all, &n);
	if (e) {
		fprintf(stderr, "ctp-ps: /proc cannot be read: %s\n", strerror(-e));
		return EXIT_USAGE;
	}
	size_t shown = processes_write(stdout, all, n, settings.json);
	if (!shown)
		fputs("ctp-ps: no process of this user is traced; ctp-run PROGRAM starts one\n", stderr);
	int status = errors_flush(0);
	for (size_t i = 0; i < n; i++)
		find_release(&all[i]);
	free(all);
	return status ? status : shown ? 0 : EXIT_NOTHING;
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
		return errors_say(&settings, why.pid, e);
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
		return errors_say(&settings, pid, e);
	e = search_save(pid, !traced || settings.stop, settings.stop, tables, settings.save);
	if (e == -EACCES || e == -EPERM || e == -ESRCH)
		return errors_say(&settings, pid, e);
	if (e) {
		fprintf(stderr, "ctp-ps: cannot save to %s: %s; name a folder that is not there yet\n",
			settings.save, strerror(-e));
		return EXIT_USAGE;
	}
	printf("saved to %s: ctp-ps %s lists it\n", settings.save, settings.save);
	return errors_flush(0);
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
		return show_core(&settings, settings.core);
	return settings.pid ? show_process(&settings, settings.pid) : list_all();
}
