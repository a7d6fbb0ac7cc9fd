// SPDX-License-Identifier: MIT
//
// A trace for ui.perfetto.dev and trace_processor: TrackEvents in Perfetto's protobuf, one
// packet for each beginning, end and mark, written as it happens (perfetto_packets.h). Each
// thread has a sequence of packets. Field numbers are those of perfetto's protos/perfetto/trace.
#include <errno.h>
#include <inttypes.h>

#include "analyze/format/format.h"
#include "analyze/format/perfetto_packets.h"
#include "analyze/history/tracks.h"
#include "analyze/report/describe.h"
#include "base/text.h"

struct out {
	struct perfetto p; // its first sequence is nobody's; then by thread
	const struct report *report;
	struct idmap processes; // pid -> number
};

// ------------------------------------------------------------------- tracks

// Numbers of tracks: small ones take fewer bytes in each event.
static uint64_t track_of_coroutine(const struct tracks_coroutine *c)
{
	return c->id << 2 | 1;
}
static uint64_t track_of_thread(const struct tracks_thread *th)
{
	return (uint64_t)th->row << 2 | 2;
}
enum process_track { TRACK_OF_PROCESS, TRACK_OF_FINDINGS, TRACK_OF_COROUTINES, PROCESS_TRACKS };

static uint64_t track_of_process(uint32_t number, enum process_track which)
{
	return ((uint64_t)number * PROCESS_TRACKS + which + 1) << 2;
}

// A process, its findings, and its coroutines as a group, in the order in which they were first met.
static uint32_t process_of(struct out *o, uint64_t pid)
{
	uint32_t number = idmap_get(&o->processes, pid);
	struct protobuf *p = &o->p.packets;
	char name[4096];
	if (number != IDMAP_NONE)
		return number;
	number = (uint32_t)o->processes.n;
	if (idmap_set(&o->processes, pid, number))
		o->p.error = -ENOMEM;
	uint64_t process = track_of_process(number, TRACK_OF_PROCESS);
	perfetto_open_track(&o->p, process, 0, NULL);
	size_t at = protobuf_begin(p, TRACK_PROCESS);
	protobuf_uint(p, 1, pid);
	protobuf_string(p, 6, tracks_process(o->report->world, pid, name, sizeof(name)));
	protobuf_end(p, at);
	protobuf_uint(p, TRACK_ORDERING, ORDER_EXPLICIT);
	perfetto_close(&o->p);
	if (o->report->nfindings) {
		perfetto_open_track(&o->p, track_of_process(number, TRACK_OF_FINDINGS), process, "findings");
		protobuf_uint(p, TRACK_RANK, 1);
		perfetto_close(&o->p);
	}
	perfetto_open_track(&o->p, track_of_process(number, TRACK_OF_COROUTINES), process, "coroutines");
	protobuf_uint(p, TRACK_RANK, 2);
	protobuf_uint(p, TRACK_ORDERING, ORDER_BY_TIME);
	perfetto_close(&o->p);
	return number;
}

static void describe_thread(struct out *o, const struct tracks_thread *th)
{
	uint64_t process = track_of_process(process_of(o, th->pid), TRACK_OF_PROCESS);
	struct protobuf *p = &o->p.packets;
	char of[CTP_NAME_TEXT], name[sizeof(of) + 24];
	tracks_thread_name(o->report->world, th, of, sizeof(of));
	if (th->stations) {
		snprintf(name, sizeof(name), "%s %" PRIu64, of, th->tid);
		perfetto_open_track(&o->p, track_of_thread(th), process, name);
	} else {
		perfetto_open_track(&o->p, track_of_thread(th), process, NULL);
		size_t at = protobuf_begin(p, TRACK_THREAD);
		protobuf_uint(p, 1, th->pid);
		protobuf_uint(p, 2, th->tid);
		protobuf_string(p, 5, of);
		protobuf_end(p, at);
	}
	perfetto_close(&o->p);
}

static void describe_coroutine(struct out *o, struct tracks_coroutine *c)
{
	char name[TRACKS_NAME];
	if (c->shown)
		return;
	c->shown = true;
	uint64_t group = track_of_process(process_of(o, c->pid), TRACK_OF_COROUTINES);
	perfetto_open_track(&o->p, track_of_coroutine(c), group, tracks_who(c, name, sizeof(name)));
	perfetto_close(&o->p);
}

// ------------------------------------------------------------------- events

// thread NULL: what no thread did. The answer is good until the next event.
static struct perfetto_sequence *open_event(struct out *o, const struct tracks_thread *th, uint64_t ns,
					    unsigned type, uint64_t track)
{
	struct perfetto_sequence *s = perfetto_sequence(&o->p, th ? (size_t)th->row + 1 : 0);
	if (th && s && !s->track) {
		s->track = track_of_thread(th);
		describe_thread(o, th);
	}
	perfetto_open_event(&o->p, s, ns, type, track);
	return s;
}

static void put_fd(struct out *o, struct perfetto_sequence *s, int32_t fd, uint32_t gen)
{
	char text[32];
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%d#%u", fd, gen);
	perfetto_note(&o->p, s, NOTE_FD, text);
}

static void put_site(struct out *o, struct perfetto_sequence *s, const struct tracks_site *site, bool whole)
{
	if (!site)
		return;
	if (whole && *site->stack)
		perfetto_known_note(&o->p, s, NOTE_STACK, TEXT_STACK, site->id, site->stack);
	else if (*site->place)
		perfetto_known_note(&o->p, s, NOTE_LEFT, TEXT_PLACE, site->id, site->place);
}

// ------------------------------------------------------------------- slices

static uint64_t key_of(const struct tracks_slice *s)
{
	uint64_t of = s->what == TRACKS_RUNS                 ? s->id :
		      s->what == TRACKS_SUSPENDED && s->site ? s->site->id :
							       0;
	if (s->what == TRACKS_RUNS && s->thread->native == s->id)
		of = 0;
	return (uint64_t)s->what << 56 | of;
}

static uint64_t track_of(struct out *o, const struct tracks_slice *s)
{
	if (tracks_is_threads(s->what))
		return track_of_thread(s->thread);
	describe_coroutine(o, s->coroutine);
	return track_of_coroutine(s->coroutine);
}

static void begins(void *arg, const struct tracks_slice *s)
{
	struct out *o = arg;
	char name[TRACKS_NAME];
	uint64_t track = track_of(o, s), key = key_of(s);
	struct perfetto_sequence *q = open_event(o, s->thread, s->since_ns, SLICE_BEGIN, track);
	perfetto_name(&o->p, q, key, perfetto_knows(q, key) ? NULL : tracks_name(s, name, sizeof(name)));
	if (s->flow)
		protobuf_fixed64(&o->p.packets, EVENT_FLOW_END, s->flow);
	if (s->what == TRACKS_SUSPENDED)
		put_site(o, q, s->site, true);
	else if (s->what == TRACKS_RUNNING && s->thread)
		perfetto_number(&o->p, q, NOTE_THREAD, s->thread->tid);
	perfetto_close(&o->p);
}

static void ends(void *arg, const struct tracks_slice *s)
{
	struct out *o = arg;
	static const char *const hows[] = {[TRACKS_CUT] = "records were lost after this",
					   [TRACKS_STILL] = "still, at the end of the trace"};
	uint64_t track = track_of(o, s);
	struct perfetto_sequence *q = open_event(o, s->thread, s->ns, SLICE_END, track);
	if (s->what == TRACKS_RUNS)
		put_site(o, q, s->site, false);
	put_fd(o, q, s->fd, s->gen);
	if (s->how != TRACKS_ENDED)
		perfetto_note(&o->p, q, NOTE_HOW, hows[s->how]);
	perfetto_close(&o->p);
}

// -------------------------------------------------------------------- marks

static void put_text(struct out *o, const char *text)
{
	protobuf_string(&o->p.packets, EVENT_NAME, text);
}

// What an event of the program's own says, each field by its name.
static void put_values(struct out *o, const struct program_event *e)
{
	struct program_value values[CTP_EVENT_ROW_FIELDS];
	struct protobuf *p = &o->p.packets;
	char text[3 * CTP_FIELD_MOST + 4];
	program_event_values(e, values);
	for (unsigned i = 0; i < e->class->nfields; i++) {
		const struct program_field *f = &e->class->fields[i];
		size_t note = protobuf_begin(p, EVENT_ANNOTATION);
		protobuf_string(p, 10, f->name);
		if (f->kind == CTP_FIELD_SIGNED)
			protobuf_uint(p, 4, values[i].word);
		else if (f->kind == CTP_FIELD_FLOAT)
			protobuf_fixed64(p, 5, values[i].word);
		else if (f->kind == CTP_FIELD_POINTER)
			protobuf_uint(p, 7, values[i].word);
		else if (f->kind == CTP_FIELD_UNSIGNED)
			protobuf_uint(p, 3, values[i].word);
		else
			protobuf_string(p, 6, program_value_text(f, &values[i], text, sizeof(text)));
		protobuf_end(p, note);
	}
}

static void mark_event(struct out *o, const struct tracks_mark *m)
{
	if (m->coroutine)
		describe_coroutine(o, m->coroutine);
	struct perfetto_sequence *q =
		open_event(o, m->thread, m->ns, INSTANT,
			   m->coroutine ? track_of_coroutine(m->coroutine) : track_of_thread(m->thread));
	perfetto_name(&o->p, q, 1ULL << 63 | 1ULL << 32 | m->event->class->id, m->text);
	put_values(o, m->event);
	perfetto_close(&o->p);
}

static void mark(void *arg, const struct tracks_mark *m)
{
	struct out *o = arg;
	if (m->kind == TRACKS_EVENT) {
		mark_event(o, m);
		return;
	}
	bool done = m->kind == TRACKS_DONE;
	char who[TRACKS_NAME];
	if (m->coroutine)
		describe_coroutine(o, m->coroutine);
	struct perfetto_sequence *q =
		open_event(o, m->thread, m->ns, INSTANT,
			   done ? track_of_coroutine(m->coroutine) : track_of_thread(m->thread));
	uint64_t key = 1ULL << 63 | m->kind;
	if (done || m->kind == TRACKS_CREATES || m->kind == TRACKS_WAKES)
		perfetto_name(&o->p, q, key, done ? "done" : m->kind == TRACKS_CREATES ? "creates" : "wakes");
	else
		put_text(o, m->text);
	if (m->flow)
		protobuf_fixed64(&o->p.packets, EVENT_FLOW, m->flow);
	if (done)
		perfetto_note(&o->p, q, NOTE_HOW, m->text);
	else if (m->coroutine)
		perfetto_known_note(&o->p, q, NOTE_COROUTINE, TEXT_WHO, m->coroutine->id,
				    tracks_who(m->coroutine, who, sizeof(who)));
	put_fd(o, q, m->fd, m->gen);
	perfetto_close(&o->p);
}

static void put_finding(struct out *o, const struct tracks_finding *f, uint64_t track)
{
	char text[1024];
	struct perfetto_sequence *q = open_event(o, NULL, f->ns, INSTANT, track);
	put_text(o, tracks_finding_name(f, text, sizeof(text)));
	perfetto_note(&o->p, q, NOTE_VERDICT, verdict_words[f->finding->verdict]);
	snprintf(text, sizeof(text), "%016" PRIx64, f->finding->fingerprint);
	perfetto_note(&o->p, q, NOTE_FINGERPRINT, text);
	report_who(o->report, f->c->about.image, f->id, text, sizeof(text));
	text_clean(text);
	perfetto_note(&o->p, q, NOTE_COROUTINE, text);
	describe_message(o->report, f->finding, text, sizeof(text));
	text_clean(text);
	perfetto_note(&o->p, q, NOTE_MESSAGE, text);
	put_fd(o, q, f->c->fd, f->c->gen);
	put_site(o, q, f->site, true);
	perfetto_close(&o->p);
}

// The findings of a process have a track, where each stands once with all its parts, and stand where
// they belong.
static void finding(void *arg, const struct tracks_finding *f)
{
	struct out *o = arg;
	uint32_t process = process_of(o, f->pid);
	if (f->coroutine)
		describe_coroutine(o, f->coroutine);
	if (f->coroutine || f->thread)
		put_finding(o, f,
			    f->coroutine ? track_of_coroutine(f->coroutine) : track_of_thread(f->thread));
	if (f->first || !(f->coroutine || f->thread))
		put_finding(o, f, track_of_process(process, TRACK_OF_FINDINGS));
}

int format_perfetto(FILE *to, const struct report *r, const struct format_settings *settings)
{
	static const struct tracks_sink sink = {begins, ends, mark, finding};
	struct out o = {.p = {.to = to, .world = r->world}, .report = r};
	struct tracks t;
	perfetto_sequence(&o.p, 0);
	if (!o.p.error) {
		int e = tracks_walk(&t, r, &sink, &o);
		tracks_deinit(&t);
		o.p.error = e ? e : o.p.error;
	}
	idmap_deinit(&o.processes);
	return perfetto_end(&o.p);
}
