// SPDX-License-Identifier: MIT
//
// What ctp-ctl can ask for: one row for each verb. The answer is one line: the state after it, or why it was
// refused and what to do.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "engine/control/choose.h"
#include "engine/control/control.h"
#include "engine/session/pause.h"
#include "engine/session/snapshots.h"
#include "engine/session/turn.h"

static void __attribute__((format(printf, 2, 3))) refuse(struct control_reply *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	r->state = CONTROL_REFUSED;
}

static void say(struct control_reply *r, const char *text)
{
	snprintf(r->text, sizeof(r->text), "%s", text);
}

static void status(struct session *s, const char *arg, struct control_reply *r)
{
	r->status = control_status(s);
	if (!r->status)
		refuse(r, "ctp-run is out of memory");
}

static bool may_pause(const struct session *s, struct control_reply *r)
{
	if (s->options->flight_bytes)
		refuse(r,
		       "with --flight nothing is written while the program runs; snapshot writes what is kept");
	else if (s->options->no_preload)
		refuse(r, "with --no-preload the program's own probes record; they cannot be told");
	return r->state == CONTROL_OK;
}

static void stop(struct session *s, const char *arg, struct control_reply *r)
{
	if (may_pause(s, r))
		say(r, pause_begin(s) ? "recording has stopped" : "recording had been stopped before");
}

static void start(struct session *s, const char *arg, struct control_reply *r)
{
	if (may_pause(s, r))
		say(r, pause_end(s) ? "recording goes on" : "it is recorded already");
}

static void keep_up(void *session)
{
	turn_take(session);
}

static void snapshot(struct session *s, const char *arg, struct control_reply *r)
{
	const struct snapshots_between between = {keep_up, s};
	if (s->recorder.output.jsonl)
		refuse(r, "the trace is JSON lines, which are written as they come: copy %s",
		       s->recorder.output.path);
	else if (snapshots_request(s, arg, &between, r->text, sizeof(r->text)))
		r->state = CONTROL_REFUSED;
}

static void detach(struct session *s, const char *arg, struct control_reply *r)
{
	if (!(s->first.region.ext->options & CTP_OPT_ATTACH))
		refuse(r,
		       "the program was started with libctp.so in it, and keeps it; stop ends the recording");
	else if (control_detach(s))
		refuse(r, "another ctp-ctl has asked for that");
	else
		r->state = CONTROL_LATER; // the loop ends, and says what became of it
}

// What is so now of the list; an item that matches nothing yet may match an event of a library to come.
static void say_events(const struct session *s, struct control_reply *r)
{
	char none[600];
	int n = snprintf(r->text, sizeof(r->text), "recorded %s: %.3000s",
			 r->pending ? "as soon as the program makes a call that waits" : "from here on",
			 s->events->text ? s->events->text : "*");
	if (n > 0 && event_list_unmatched(s->events, none, sizeof(none)))
		snprintf(r->text + n, sizeof(r->text) - (size_t)n,
			 "; no event of the program matches %s so far", none);
}

// Without a list: has the last one been taken?
static void events(struct session *s, const char *arg, struct control_reply *r)
{
	static const char option[] = "--events";
	const size_t n = sizeof(option) - 1;
	char why[600];
	if (s->options->no_preload) {
		refuse(r, "with --no-preload the program's own probes record; they cannot be told");
		return;
	}
	if (*arg && choose_events(s, arg, why, sizeof(why))) {
		refuse(r, "%s", strncmp(why, option, n) ? why : why + n + 1 + (why[n] == ':'));
		r->state = CONTROL_USAGE;
		return;
	}
	r->pending = choose_pending(s) > 0;
	say_events(s, r);
}

static const struct {
	const char *verb;
	void (*call)(struct session *s, const char *arg, struct control_reply *r);
} verbs[] = {
	{"status", status}, {"start", start},   {"stop", stop},
	{"events", events}, {"detach", detach}, {"snapshot", snapshot},
};

void control_do(struct session *s, const char *verb, const char *arg, struct control_reply *r)
{
	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (!strcmp(verbs[i].verb, verb)) {
			verbs[i].call(s, arg, r);
			return;
		}
	refuse(r, "this ctp-run knows no '%.40s': it is of another version than ctp-ctl", verb);
}
