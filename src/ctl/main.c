// SPDX-License-Identifier: MIT
//
// ctp-ctl: asks the ctp-run of a process. The only file of this program that prints messages and exits.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "ctl/engine.h"
#include "ctl/settings.h"
#include "ctl/status.h"

enum { EXIT_REFUSED = 1, EXIT_USAGE = 2, SOON_S = 20, LATE_S = 600 };
enum { AGAIN_TIMES = 30, AGAIN_NS = 100000000 }; // until what was asked for has been done

static int flush(void)
{
	if (!ferror(stdout) && !fflush(stdout))
		return 0;
	fprintf(stderr, "ctp-ctl: cannot write the answer: %s\n", strerror(errno));
	return EXIT_USAGE;
}

// One line: what, why, the way out. Returns the status.
static int say(pid_t pid, int why)
{
	int id = (int)pid;
	switch (why) {
	case ENGINE_NO_PROCESS:
		fprintf(stderr,
			"ctp-ctl: %d: there is no such process (any more); ctp-ps alone lists the traced ones\n",
			id);
		return EXIT_USAGE;
	case ENGINE_NONE:
		fprintf(stderr,
			"ctp-ctl: %d has no ctp-run; ctp-ps alone lists the traced processes, and ctp-run -p %d attaches to this "
			"one\n",
			id, id);
		return EXIT_USAGE;
	case -EACCES:
		fprintf(stderr,
			"ctp-ctl: %d has no ctp-run of yours, and others' may not be asked; be the user of its ctp-run, or root\n",
			id);
		return EXIT_USAGE;
	case ENGINE_SILENT:
		fprintf(stderr, "ctp-ctl: %d: its ctp-run does not answer: is it stopped? try again\n", id);
		return EXIT_REFUSED;
	case ENGINE_GONE:
		fprintf(stderr, "ctp-ctl: %d: its ctp-run ended while it was asked\n", id);
		return EXIT_REFUSED;
	default:
		fprintf(stderr, "ctp-ctl: %d: its ctp-run cannot be asked: %s\n", id, strerror(-why));
		return EXIT_REFUSED;
	}
}

static int show(const struct settings *s, const json_t *answer)
{
	char text[8192];
	const char *said = json_string_value(json_object_get(answer, "text"));
	const char *state = json_string_value(json_object_get(answer, "state"));
	bool ok = state && !strcmp(state, "ok");
	const json_t *status = json_object_get(answer, "status");
	snprintf(text, sizeof(text), "%s", said ? said : "");
	text_clean(text);
	if (s->json) {
		json_dumpf(answer, stdout, JSON_INDENT(1));
		putchar('\n');
	} else if (status) {
		status_print(status, stdout);
	} else if (ok) {
		printf("%s\n", text);
	}
	if (!ok)
		fprintf(stderr, "ctp-ctl: %d: %s: %s\n", (int)s->pid, s->verb->name, text);
	int e = flush(), refused = state && !strcmp(state, "usage") ? EXIT_USAGE : EXIT_REFUSED;
	return e ? e : ok ? 0 : refused;
}

static bool is_verb(const struct settings *s, const char *name)
{
	return !strcmp(s->verb->name, name);
}

// A relative name is meant here, not where ctp-run is: DIR of snapshot, @FILE in the list of events. The
// argument with such names made whole, to be freed; NULL: errno says why not.
static char *whole_names(const struct settings *s)
{
	char here[PATH_MAX], *whole = NULL;
	size_t bytes;
	FILE *f = getcwd(here, sizeof(here)) ? open_memstream(&whole, &bytes) : NULL;
	if (!f)
		return NULL;
	if (is_verb(s, "snapshot") && *s->arg != '/')
		fprintf(f, "%s/", here);
	for (const char *p = s->arg; *p; p++) {
		fputc(*p, f);
		if (is_verb(s, "events") && *p == '@' && (p == s->arg || p[-1] == ',') && p[1] && p[1] != '/')
			fprintf(f, "%s/", here);
	}
	if (fclose(f)) {
		free(whole);
		return NULL;
	}
	return whole;
}

// What the program itself has to do is done when it comes by: asks again, until it has been.
static int ask_until(const struct settings *s, const char *arg, json_t **answer)
{
	int r = engine_ask(s->pid, s->verb->name, arg, s->verb->lasts ? LATE_S : SOON_S, answer);
	for (int i = 0; i < AGAIN_TIMES && !r && json_is_true(json_object_get(*answer, "pending")); i++) {
		json_t *later = NULL;
		nanosleep(&(struct timespec){.tv_nsec = AGAIN_NS}, NULL);
		if (engine_ask(s->pid, s->verb->name, "", SOON_S, &later)) {
			json_decref(later);
			break; // what was said holds
		}
		json_decref(*answer);
		*answer = later;
	}
	return r;
}

static int ask(const struct settings *s)
{
	char *arg = s->arg ? whole_names(s) : NULL;
	json_t *answer = NULL;
	if (s->arg && !arg) {
		fprintf(stderr, "ctp-ctl: %s: %s; give a whole path\n", s->arg, strerror(errno));
		return EXIT_USAGE;
	}
	int r = ask_until(s, arg, &answer);
	r = r ? say(s->pid, r) : show(s, answer);
	json_decref(answer);
	free(arg);
	return r;
}

int main(int argc, char **argv)
{
	struct settings s;
	struct options_result r = settings_read(&s, argc, argv);
	if (r.error && s.wrong) {
		fprintf(stderr, "ctp-ctl: '%s' %s\n", r.at, s.wrong);
		return EXIT_USAGE;
	}
	if (r.error) {
		fputs("ctp-ctl: ", stderr);
		options_say(&r, stderr);
		fputs("; see ctp-ctl --help\n", stderr);
		return EXIT_USAGE;
	}
	if (s.completion)
		return settings_completion(stdout, s.completion) ? EXIT_USAGE : flush();
	switch (s.action) {
	case ACTION_HELP:
		settings_help(stdout);
		return flush();
	case ACTION_MAN:
		settings_man(stdout);
		return flush();
	case ACTION_VERSION:
		puts("ctp-ctl " CTP_TOOL_VERSION);
		return flush();
	case ACTION_ASK:
		break;
	}
	const char *missing = settings_missing(&s);
	if (missing) {
		fprintf(stderr, "ctp-ctl: %s\n", missing);
		return EXIT_USAGE;
	}
	return ask(&s);
}
