// SPDX-License-Identifier: MIT
//
// Chrome's JSON, for chrome://tracing, speedscope and other viewers: who ran is complete
// events (X) of threads, the states of a coroutine are nestable asynchronous events (b, e)
// under its number, and wake-ups are flows (s, f). Viewers hold such a file in memory and
// fail on large ones, so the oldest switches are left out, and the file says so.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/format.h"
#include "analyze/history/tracks.h"
#include "analyze/report/describe.h"
#include "analyze/report/run_identity.h"
#include "base/text.h"

#define SWITCHES_MOST 200000u
#define PROBES_TIDS 10000000u // above all of the kernel's: of what version-1 probes say of a thread

struct out {
	FILE *to;
	const struct report *report;
	struct tracks t;
	uint64_t left_out;       // switches: the oldest
	uint64_t first_flow;     // of those that are not left out
	struct idmap pids, tids; // that were named
	bool any;
	int error;
};

// --------------------------------------------------------------------- JSON

static void put_string(FILE *to, const char *s)
{
	putc('"', to);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', to);
		if (*s == '\n')
			fputs("\\n", to);
		else
			putc(*s, to);
	}
	putc('"', to);
}

// Microseconds, as far as they go: no number of nanoseconds is rounded.
static void put_time(FILE *to, const char *key, uint64_t ns)
{
	fprintf(to, ",\"%s\":%" PRIu64 ".%03u", key, ns / 1000, (unsigned)(ns % 1000));
}

static double microseconds(uint64_t ns)
{
	char text[40];
	snprintf(text, sizeof(text), "%" PRIu64 ".%03u", ns / 1000, (unsigned)(ns % 1000));
	return strtod(text, NULL);
}

// What lies between the two as viewers have them, in doubles: so each comes, whatever it adds, to the very
// number with which the next slice begins. They take what ends a fraction later for a slice around the next
// one.
static void put_duration(FILE *to, uint64_t since, uint64_t ns)
{
	double between = microseconds(ns) - microseconds(since);
	if (between == microseconds(ns - since))
		put_time(to, "dur", ns - since);
	else
		fprintf(to, ",\"dur\":%.17g", between);
}

static uint64_t tid_of(const struct tracks_thread *th)
{
	return th->tid + (th->stations ? PROBES_TIDS : 0);
}

static void begin(struct out *o, char phase, const char *category, const char *name, uint64_t pid,
		  uint64_t tid, uint64_t ns)
{
	fprintf(o->to, "%s{\"ph\":\"%c\",\"name\":", o->any ? ",\n" : "\n", phase);
	put_string(o->to, name);
	fprintf(o->to, ",\"cat\":\"%s\",\"pid\":%" PRIu64 ",\"tid\":%" PRIu64, category, pid, tid);
	put_time(o->to, "ts", ns);
	o->any = true;
}

// The arguments of an event, with which it ends: those that are NULL or "" are left out.
struct args {
	struct out *o;
	bool any;
};

static void arg(struct args *a, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(a->o->to, "%s\"%s\":", a->any ? "," : ",\"args\":{", key);
	put_string(a->o->to, value);
	a->any = true;
}

static void arg_fd(struct args *a, int32_t fd, uint32_t gen)
{
	char text[32];
	snprintf(text, sizeof(text), "%d#%u", fd, gen);
	arg(a, "fd", fd < 0 ? NULL : text);
}

static void end(const struct args *a)
{
	fputs(a->any ? "}}" : ",\"args\":{}}", a->o->to);
}

// -------------------------------------------------------- processes, threads

static void name_of(struct out *o, const char *what, uint64_t pid, uint64_t tid, const char *name)
{
	struct args a = {o, false};
	begin(o, 'M', "__metadata", what, pid, tid, 0);
	arg(&a, "name", name);
	end(&a);
}

static void meet_process(struct out *o, uint64_t pid)
{
	char name[4096];
	if (idmap_get(&o->pids, pid) != IDMAP_NONE)
		return;
	if (idmap_set(&o->pids, pid, 0))
		o->error = -ENOMEM;
	name_of(o, "process_name", pid, 0, tracks_process(o->report->world, pid, name, sizeof(name)));
}

static void meet(struct out *o, const struct tracks_thread *th)
{
	char of[CTP_NAME_TEXT], name[sizeof(of) + 24];
	if (idmap_get(&o->tids, th->row) != IDMAP_NONE)
		return;
	if (idmap_set(&o->tids, th->row, 0))
		o->error = -ENOMEM;
	meet_process(o, th->pid);
	snprintf(name, sizeof(name), "%s %" PRIu64, tracks_thread_name(o->report->world, th, of, sizeof(of)),
		 th->tid);
	name_of(o, "thread_name", th->pid, tid_of(th), name);
}

// ------------------------------------------------------------------- slices

static bool is_left_out(const struct out *o)
{
	return o->t.switches < o->left_out;
}

static const char *end_word(enum tracks_end how)
{
	return how == TRACKS_CUT   ? "records were lost after this" :
	       how == TRACKS_STILL ? "still, at the end of the trace" :
				     NULL;
}

static void flow(struct out *o, char phase, uint64_t id, const struct tracks_thread *th, uint64_t ns)
{
	begin(o, phase, "wake", "wake", th->pid, tid_of(th), ns);
	fprintf(o->to, ",\"id\":\"%" PRIu64 "\"%s", id, phase == 'f' ? ",\"bp\":\"e\"" : "");
	end(&(struct args){o, false});
}

static void ran(struct out *o, const struct tracks_slice *s)
{
	struct args a = {o, false};
	char name[TRACKS_NAME], id[32];
	bool coroutine = s->what == TRACKS_RUNS && s->thread->native != s->id;
	meet(o, s->thread);
	begin(o, 'X', coroutine ? "coroutine" : "thread", tracks_name(s, name, sizeof(name)), s->thread->pid,
	      tid_of(s->thread), s->since_ns);
	put_duration(o->to, s->since_ns, s->ns);
	snprintf(id, sizeof(id), "%" PRIu64, s->id);
	arg(&a, "coroutine", coroutine ? id : NULL);
	arg(&a, "left", s->site ? s->site->place : NULL);
	arg(&a, "how", end_word(s->how));
	end(&a);
	if (s->flow && s->flow > o->first_flow)
		flow(o, 'f', s->flow, s->thread, s->since_ns);
}

static void async(struct out *o, char phase, const char *name, const struct tracks_coroutine *c, uint64_t ns)
{
	begin(o, phase, "coroutine", name, c->pid, c->pid, ns);
	fprintf(o->to, ",\"id2\":{\"local\":\"%" PRIu64 "\"}", c->id);
}

// All states of a coroutine lie in a slice that bears its name.
static void live(struct out *o, char phase, struct tracks_coroutine *c, uint64_t ns)
{
	char name[TRACKS_NAME];
	if (c->shown == (phase == 'b'))
		return;
	meet_process(o, c->pid);
	c->shown = phase == 'b';
	async(o, phase, tracks_who(c, name, sizeof(name)), c, ns);
	end(&(struct args){o, false});
}

static void was(struct out *o, const struct tracks_slice *s)
{
	struct args a = {o, false};
	char name[TRACKS_NAME];
	bool suspended = s->what == TRACKS_SUSPENDED;
	tracks_name(s, name, sizeof(name));
	live(o, 'b', s->coroutine, s->since_ns);
	async(o, 'b', name, s->coroutine, s->since_ns);
	arg(&a, "left", suspended && s->site ? s->site->place : NULL);
	arg_fd(&a, s->fd, s->gen);
	arg(&a, "how", end_word(s->how));
	end(&a);
	async(o, 'e', name, s->coroutine, s->ns);
	end(&(struct args){o, false});
	if (!s->thread && (s->how == TRACKS_STILL || s->what == TRACKS_LOST))
		live(o, 'e', s->coroutine, s->ns);
}

static void begins(void *arg, const struct tracks_slice *s) {}

static void ends(void *arg, const struct tracks_slice *s)
{
	struct out *o = arg;
	if (is_left_out(o))
		return;
	if (tracks_is_threads(s->what))
		ran(o, s);
	else
		was(o, s);
}

// -------------------------------------------------------------------- marks

static void instant(struct out *o, const struct tracks_mark *m, const char *name, const char *who)
{
	struct args a = {o, false};
	meet(o, m->thread);
	begin(o, 'I', "mark", name, m->thread->pid, tid_of(m->thread), m->ns);
	fputs(",\"s\":\"t\"", o->to);
	arg(&a, "coroutine", who);
	arg_fd(&a, m->fd, m->gen);
	end(&a);
	if (m->flow)
		flow(o, 's', m->flow, m->thread, m->ns);
}

// An event of the program's own, with its fields as arguments.
static void event(struct out *o, const struct tracks_mark *m)
{
	struct args a = {o, false};
	struct program_value values[CTP_EVENT_ROW_FIELDS];
	char text[3 * CTP_FIELD_MOST + 4];
	meet(o, m->thread);
	if (m->coroutine) {
		live(o, 'b', m->coroutine, m->ns);
		async(o, 'n', m->text, m->coroutine, m->ns);
	} else {
		begin(o, 'I', "event", m->text, m->thread->pid, tid_of(m->thread), m->ns);
		fputs(",\"s\":\"t\"", o->to);
	}
	program_event_values(m->event, values);
	for (unsigned i = 0; i < m->event->class->nfields; i++) {
		const struct program_field *f = &m->event->class->fields[i];
		arg(&a, f->name, program_value_text(f, &values[i], text, sizeof(text)));
	}
	end(&a);
}

static void mark(void *arg_, const struct tracks_mark *m)
{
	struct out *o = arg_;
	struct args a = {o, false};
	char who[TRACKS_NAME];
	if (is_left_out(o)) {
		o->first_flow = m->flow ? m->flow : o->first_flow;
		return;
	}
	if (m->kind == TRACKS_EVENT) {
		event(o, m);
		return;
	}
	if (m->kind != TRACKS_DONE) {
		instant(o, m,
			m->kind == TRACKS_CREATES ? "creates" :
			m->kind == TRACKS_WAKES   ? "wakes" :
						    m->text,
			m->coroutine ? tracks_who(m->coroutine, who, sizeof(who)) : NULL);
		return;
	}
	live(o, 'b', m->coroutine, m->ns);
	async(o, 'n', "done", m->coroutine, m->ns);
	arg(&a, "how", m->text);
	end(&a);
	live(o, 'e', m->coroutine, m->ns);
}

static void finding_args(struct out *o, const struct tracks_finding *f)
{
	struct args a = {o, false};
	char text[1024];
	arg(&a, "verdict", verdict_words[f->finding->verdict]);
	snprintf(text, sizeof(text), "%016" PRIx64, f->finding->fingerprint);
	arg(&a, "fingerprint", text);
	report_who(o->report, f->c->about.image, f->id, text, sizeof(text));
	text_clean(text);
	arg(&a, "coroutine", text);
	describe_message(o->report, f->finding, text, sizeof(text));
	text_clean(text);
	arg(&a, "message", text);
	arg_fd(&a, f->c->fd, f->c->gen);
	arg(&a, "stack", f->site->stack);
	end(&a);
}

static void finding(void *arg, const struct tracks_finding *f)
{
	struct out *o = arg;
	char name[256];
	tracks_finding_name(f, name, sizeof(name));
	meet_process(o, f->pid);
	if (f->coroutine) {
		async(o, 'n', name, f->coroutine, f->ns);
		finding_args(o, f);
	} else if (f->thread) {
		begin(o, 'I', "finding", name, f->thread->pid, tid_of(f->thread), f->ns);
		fputs(",\"s\":\"t\"", o->to);
		finding_args(o, f);
	}
	if (f->first || !(f->coroutine || f->thread)) {
		begin(o, 'I', "finding", name, f->pid, f->pid, f->ns);
		fputs(",\"s\":\"p\"", o->to);
		finding_args(o, f);
	}
}

// ------------------------------------------------------------------ the file

// Which run it is, and what the clock on the wall said at the start of its trace, whose ts is also told.
static void put_identity(FILE *to, const struct world *w)
{
	char uuid[RUN_IDENTITY_UUID], wall[RUN_IDENTITY_TIME];
	const char *is = run_identity_uuid(w, uuid), *at = run_identity_wall(w, w->start_ns, wall);
	if (is) {
		fputs(",\"uuid\":", to);
		put_string(to, is);
	}
	if (at)
		fprintf(to, ",\"start\":\"%s\",\"start_ts\":\"%" PRIu64 ".%03u\"", at, w->start_ns / 1000,
			(unsigned)(w->start_ns % 1000));
}

static void head(struct out *o, char *note)
{
	const struct world *w = o->report->world;
	uint64_t all = w->form == WORLD_LINES ? w->events / 2 :
						w->kinds[CTP_EV_SWITCH] + w->kinds[CTP_EV_STATION];
	char text[FORMAT_NOTE] = "";
	o->left_out = all > SWITCHES_MOST ? all - SWITCHES_MOST : 0;
	if (o->left_out)
		snprintf(text, sizeof(text),
			 "the oldest %" PRIu64 " of %" PRIu64
			 " switches are left out, as viewers of this format "
			 "hold it all in memory; --format=perfetto has them",
			 o->left_out, all);
	snprintf(note, FORMAT_NOTE, "%s", text);
	fputs("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"tool\":\"ctp-analyze " CTP_TOOL_VERSION
	      "\",\"clock\":\"CLOCK_MONOTONIC\"",
	      o->to);
	put_identity(o->to, w);
	fprintf(o->to, ",\"lost_records\":\"%" PRIu64 "\",\"left_out\":", w->lost);
	put_string(o->to, text);
	fputs("},\"traceEvents\":[", o->to);
}

int format_chrome(FILE *to, const struct report *r, const struct format_settings *settings)
{
	static const struct tracks_sink sink = {begins, ends, mark, finding};
	struct out o = {.to = to, .report = r};
	head(&o, settings->note);
	int e = tracks_walk(&o.t, r, &sink, &o);
	fputs("\n]}\n", to);
	tracks_deinit(&o.t);
	idmap_deinit(&o.pids);
	idmap_deinit(&o.tids);
	return e ? e : o.error;
}
