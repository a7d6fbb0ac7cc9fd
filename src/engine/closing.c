// SPDX-License-Identifier: MIT
//
// The lines that ctp-run prints when the run is over: what was seen, what was particular about its end, what
// to do next. A run in which nothing was seen says where it was looked for.
#include "engine/closing.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "ctp/words.h"
#include "engine/coverage/module_scan.h"
#include "engine/record/v1.h"
#include "engine/target/log.h"

enum { PATH_SHELL = 4 * PATH_MAX + 8 }; // a path with its quotes

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

bool closing_saw_nothing(const struct session *s)
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
static void say_timeout(const struct session *s, const struct run_end *end, char *out, size_t bytes)
{
	char how[64], name[24];
	snprintf(how, sizeof(how), "%s",
		 end->signal == SIGKILL ? "SIGTERM did not end it, SIGKILL did" : "ended by SIGTERM");
	if (!end->signal)
		snprintf(how, sizeof(how), "exited with %d after SIGTERM", end->status);
	else if (end->signal != SIGTERM && end->signal != SIGKILL)
		snprintf(how, sizeof(how), "ended by %s after SIGTERM",
			 words_signal(end->signal, name, sizeof(name)));
	snprintf(out, bytes, end->timed_out ? "timed out after %g s: %s" : "", s->options->timeout_s, how);
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

void closing_say(struct session *s, const struct run_end *end)
{
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
	say_timeout(s, end, timeout, sizeof(timeout));
	say_events(s, timeout, sizeof(timeout));
	snprintf(before, sizeof(before), "%s%s", timeout, *timeout ? "; " : "");
	bool crashed = end->signal && sums.switches && say_crash(s, end->signal, before);
	if (closing_saw_nothing(s) && s->options->check && !s->options->allow_empty)
		say_unchecked(s, before);
	else if (closing_saw_nothing(s))
		say_no_switch(s, before);
	else if (*timeout && !crashed)
		log_line(LOG_SAY, "%s", timeout);
	if (strcmp(s->recorder.output.path, "ctp.data"))
		print_path(path, sizeof(path), s->recorder.output.path);
	log_line(LOG_SAY, "run: ctp-analyze%s", path);
}
