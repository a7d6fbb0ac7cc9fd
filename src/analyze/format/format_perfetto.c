// SPDX-License-Identifier: MIT
//
// A trace for ui.perfetto.dev and trace_processor: TrackEvents in Perfetto's protobuf, one
// packet for each beginning, end and mark, written as it happens. Each thread has a packet
// sequence, in which times are differences and texts are numbers of an interned table; a time
// before the last one of its sequence is written in full. Field numbers are those of perfetto's
// protos/perfetto/trace.
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/format/format.h"
#include "analyze/history/tracks.h"
#include "analyze/report/describe.h"
#include "analyze/report/run_identity.h"
#include "base/grow.h"
#include "base/protobuf.h"
#include "base/text.h"

#define FLUSH_BYTES (64u << 10)
#define NAMES_MOST (1u << 16) // of a sequence; then it begins to count them anew

enum { CLOCK_WALL = 1, CLOCK_ABSOLUTE = 3, CLOCK_DELTAS = 64 }; // REALTIME, MONOTONIC, the sequence's own
enum { SEQUENCE_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };
enum trace_packet { // TracePacket, as far as it is written; Trace.packet is 1
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_CLOCK_ID = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum track_event {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
	EVENT_FLOW = 47,
	EVENT_FLOW_END = 48,
};
enum interned_data { INTERNED_NAMES = 2, INTERNED_ANNOTATIONS = 3, INTERNED_TEXTS = 29 };
enum track_descriptor {
	TRACK_UUID = 1,
	TRACK_NAME = 2,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	TRACK_PARENT = 5,
	TRACK_ORDERING = 11,
	TRACK_RANK = 12,
};
enum { ORDER_BY_TIME = 2, ORDER_EXPLICIT = 3 };

enum annotation {
	NOTE_LEFT,
	NOTE_STACK,
	NOTE_COROUTINE,
	NOTE_THREAD,
	NOTE_FD,
	NOTE_HOW,
	NOTE_VERDICT,
	NOTE_FINGERPRINT,
	NOTE_MESSAGE
};
static const char *const annotations[] = {
	"left", "stack", "coroutine", "thread", "fd", "how", "verdict", "fingerprint", "message",
};

// What a text is of; with the number of that it is its key.
enum text_of { TEXT_PLACE = 1, TEXT_STACK, TEXT_WHO };

struct sequence {
	uint64_t last_ns, track; // track: of events that name none
	bool begun;
	uint32_t annotations; // that were told, by bit
	struct idmap names, texts;
};

struct out {
	FILE *to;
	const struct report *report;
	struct protobuf packets, interned;
	size_t packet, event;       // that are being written
	struct sequence *sequences; // the first is nobody's; then by thread
	size_t n, capacity;
	struct idmap processes; // pid -> number
	int error;
};

// ------------------------------------------------------------------ packets

static void open_packet(struct out *o, const struct sequence *s, unsigned flags)
{
	o->packet = protobuf_begin(&o->packets, 1);
	protobuf_uint(&o->packets, PACKET_SEQUENCE_ID, (uint64_t)(s - o->sequences) + 1);
	if (flags)
		protobuf_uint(&o->packets, PACKET_SEQUENCE_FLAGS, flags);
}

static void close_packet(struct out *o)
{
	struct protobuf *p = &o->packets;
	if (o->interned.n)
		protobuf_bytes(p, PACKET_INTERNED, o->interned.bytes, o->interned.n);
	o->interned.n = 0;
	protobuf_end(p, o->packet);
	o->error = o->error ? o->error : p->error ? p->error : o->interned.error;
	if (p->n < FLUSH_BYTES || o->error)
		return;
	fwrite(p->bytes, 1, p->n, o->to);
	p->n = 0;
}

// From here on times are told from `ns` on, and all texts anew.
static void begin_sequence(struct out *o, struct sequence *s, uint64_t ns)
{
	struct protobuf *p = &o->packets;
	uint64_t wall = run_identity_wall_ns(o->report->world, ns);
	idmap_deinit(&s->names);
	idmap_deinit(&s->texts);
	s->annotations = 0;
	s->begun = true;
	s->last_ns = ns;
	open_packet(o, s, SEQUENCE_CLEARED);
	size_t snapshot = protobuf_begin(p, PACKET_CLOCK_SNAPSHOT);
	size_t clock = protobuf_begin(p, 1);
	protobuf_uint(p, 1, CLOCK_ABSOLUTE);
	protobuf_uint(p, 2, ns);
	protobuf_end(p, clock);
	clock = protobuf_begin(p, 1);
	protobuf_uint(p, 1, CLOCK_DELTAS);
	protobuf_uint(p, 2, ns);
	protobuf_uint(p, 3, 1); // is_incremental
	protobuf_end(p, clock);
	if (wall) {
		clock = protobuf_begin(p, 1);
		protobuf_uint(p, 1, CLOCK_WALL);
		protobuf_uint(p, 2, wall);
		protobuf_end(p, clock);
	}
	protobuf_uint(p, 2, CLOCK_ABSOLUTE); // the clock of the trace
	protobuf_end(p, snapshot);
	size_t defaults = protobuf_begin(p, PACKET_DEFAULTS);
	protobuf_uint(p, PACKET_CLOCK_ID, CLOCK_DELTAS);
	if (s->track) {
		size_t events = protobuf_begin(p, PACKET_TRACK_EVENT);
		protobuf_uint(p, EVENT_TRACK, s->track);
		protobuf_end(p, events);
	}
	protobuf_end(p, defaults);
	close_packet(o);
}

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

static void open_track(struct out *o, uint64_t track, uint64_t parent, const char *name)
{
	struct protobuf *p = &o->packets;
	open_packet(o, o->sequences, 0);
	o->event = protobuf_begin(p, PACKET_TRACK_DESCRIPTOR);
	protobuf_uint(p, TRACK_UUID, track);
	if (parent)
		protobuf_uint(p, TRACK_PARENT, parent);
	if (name)
		protobuf_string(p, TRACK_NAME, name);
}

static void close_event(struct out *o)
{
	protobuf_end(&o->packets, o->event);
	close_packet(o);
}

// A process, its findings, and its coroutines as a group, in the order in which they were first met.
static uint32_t process_of(struct out *o, uint64_t pid)
{
	uint32_t number = idmap_get(&o->processes, pid);
	struct protobuf *p = &o->packets;
	char name[4096];
	if (number != IDMAP_NONE)
		return number;
	number = (uint32_t)o->processes.n;
	if (idmap_set(&o->processes, pid, number))
		o->error = -ENOMEM;
	uint64_t process = track_of_process(number, TRACK_OF_PROCESS);
	open_track(o, process, 0, NULL);
	size_t at = protobuf_begin(p, TRACK_PROCESS);
	protobuf_uint(p, 1, pid);
	protobuf_string(p, 6, tracks_process(o->report->world, pid, name, sizeof(name)));
	protobuf_end(p, at);
	protobuf_uint(p, TRACK_ORDERING, ORDER_EXPLICIT);
	close_event(o);
	if (o->report->nfindings) {
		open_track(o, track_of_process(number, TRACK_OF_FINDINGS), process, "findings");
		protobuf_uint(p, TRACK_RANK, 1);
		close_event(o);
	}
	open_track(o, track_of_process(number, TRACK_OF_COROUTINES), process, "coroutines");
	protobuf_uint(p, TRACK_RANK, 2);
	protobuf_uint(p, TRACK_ORDERING, ORDER_BY_TIME);
	close_event(o);
	return number;
}

static void describe_thread(struct out *o, const struct tracks_thread *th)
{
	uint64_t process = track_of_process(process_of(o, th->pid), TRACK_OF_PROCESS);
	struct protobuf *p = &o->packets;
	char of[CTP_NAME_TEXT], name[sizeof(of) + 24];
	tracks_thread_name(o->report->world, th, of, sizeof(of));
	if (th->stations) {
		snprintf(name, sizeof(name), "%s %" PRIu64, of, th->tid);
		open_track(o, track_of_thread(th), process, name);
	} else {
		open_track(o, track_of_thread(th), process, NULL);
		size_t at = protobuf_begin(p, TRACK_THREAD);
		protobuf_uint(p, 1, th->pid);
		protobuf_uint(p, 2, th->tid);
		protobuf_string(p, 5, of);
		protobuf_end(p, at);
	}
	close_event(o);
}

static void describe_coroutine(struct out *o, struct tracks_coroutine *c)
{
	char name[TRACKS_NAME];
	if (c->shown)
		return;
	c->shown = true;
	uint64_t group = track_of_process(process_of(o, c->pid), TRACK_OF_COROUTINES);
	open_track(o, track_of_coroutine(c), group, tracks_who(c, name, sizeof(name)));
	close_event(o);
}

// ------------------------------------------------------------------- events

// NULL: the sequence of what no thread did. The answer is good until the next thread is met.
static struct sequence *sequence_of(struct out *o, const struct tracks_thread *th)
{
	size_t at = th ? (size_t)th->row + 1 : 0;
	while (o->n <= at) {
		if (GROW(o->sequences, o->n, o->capacity)) {
			o->error = -ENOMEM;
			return o->sequences;
		}
		o->sequences[o->n++] = (struct sequence){0};
	}
	if (th && !o->sequences[at].track) {
		o->sequences[at].track = track_of_thread(th);
		describe_thread(o, th);
	}
	return &o->sequences[at];
}

static struct sequence *open_event(struct out *o, const struct tracks_thread *th, uint64_t ns, unsigned type,
				   uint64_t track)
{
	struct sequence *s = sequence_of(o, th);
	struct protobuf *p = &o->packets;
	if (!s->begun || s->names.n + s->texts.n > NAMES_MOST)
		begin_sequence(o, s, ns > s->last_ns ? ns : s->last_ns);
	open_packet(o, s, SEQUENCE_NEEDS_STATE);
	if (ns >= s->last_ns) {
		protobuf_uint(p, PACKET_TIMESTAMP, ns - s->last_ns);
		s->last_ns = ns;
	} else {
		protobuf_uint(p, PACKET_TIMESTAMP, ns);
		protobuf_uint(p, PACKET_CLOCK_ID, CLOCK_ABSOLUTE);
	}
	o->event = protobuf_begin(p, PACKET_TRACK_EVENT);
	protobuf_uint(p, EVENT_TYPE, type);
	if (track != s->track)
		protobuf_uint(p, EVENT_TRACK, track);
	return s;
}

// A text that comes up for the first time in its sequence: from now on a number says it.
static uint64_t intern_text(struct out *o, struct idmap *known, unsigned field, uint64_t key,
			    const char *text)
{
	uint32_t iid = (uint32_t)known->n + 1;
	if (idmap_set(known, key, iid))
		o->error = -ENOMEM;
	size_t at = protobuf_begin(&o->interned, field);
	protobuf_uint(&o->interned, 1, iid);
	protobuf_string(&o->interned, 2, text);
	protobuf_end(&o->interned, at);
	return iid;
}

static void put_name(struct out *o, struct sequence *s, uint64_t key, const char *text)
{
	uint64_t iid = idmap_get(&s->names, key);
	if (iid == IDMAP_NONE)
		iid = intern_text(o, &s->names, INTERNED_NAMES, key, text);
	protobuf_uint(&o->packets, EVENT_NAME_IID, iid);
}

static size_t open_note(struct out *o, struct sequence *s, enum annotation a)
{
	if (!(s->annotations & 1u << a)) {
		s->annotations |= 1u << a;
		size_t at = protobuf_begin(&o->interned, INTERNED_ANNOTATIONS);
		protobuf_uint(&o->interned, 1, a + 1);
		protobuf_string(&o->interned, 2, annotations[a]);
		protobuf_end(&o->interned, at);
	}
	size_t note = protobuf_begin(&o->packets, EVENT_ANNOTATION);
	protobuf_uint(&o->packets, 1, a + 1);
	return note;
}

static void put_note(struct out *o, struct sequence *s, enum annotation a, const char *text)
{
	size_t note = open_note(o, s, a);
	protobuf_string(&o->packets, 6, text);
	protobuf_end(&o->packets, note);
}

static void put_number(struct out *o, struct sequence *s, enum annotation a, uint64_t v)
{
	size_t note = open_note(o, s, a);
	protobuf_uint(&o->packets, 3, v);
	protobuf_end(&o->packets, note);
}

// A text of many events: `of` what it is, `id` of whom or which.
static void put_known_note(struct out *o, struct sequence *s, enum annotation a, enum text_of of, uint64_t id,
			   const char *text)
{
	uint64_t key = (uint64_t)of << 56 | id, iid = idmap_get(&s->texts, key);
	if (iid == IDMAP_NONE)
		iid = intern_text(o, &s->texts, INTERNED_TEXTS, key, text);
	size_t note = open_note(o, s, a);
	protobuf_uint(&o->packets, 17, iid);
	protobuf_end(&o->packets, note);
}

static void put_fd(struct out *o, struct sequence *s, int32_t fd, uint32_t gen)
{
	char text[32];
	if (fd < 0)
		return;
	snprintf(text, sizeof(text), "%d#%u", fd, gen);
	put_note(o, s, NOTE_FD, text);
}

static void put_site(struct out *o, struct sequence *s, const struct tracks_site *site, bool whole)
{
	if (!site)
		return;
	if (whole && *site->stack)
		put_known_note(o, s, NOTE_STACK, TEXT_STACK, site->id, site->stack);
	else if (*site->place)
		put_known_note(o, s, NOTE_LEFT, TEXT_PLACE, site->id, site->place);
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
	struct sequence *q = open_event(o, s->thread, s->since_ns, SLICE_BEGIN, track);
	put_name(o, q, key,
		 idmap_get(&q->names, key) == IDMAP_NONE ? tracks_name(s, name, sizeof(name)) : NULL);
	if (s->flow)
		protobuf_fixed64(&o->packets, EVENT_FLOW_END, s->flow);
	if (s->what == TRACKS_SUSPENDED)
		put_site(o, q, s->site, true);
	else if (s->what == TRACKS_RUNNING && s->thread)
		put_number(o, q, NOTE_THREAD, s->thread->tid);
	close_event(o);
}

static void ends(void *arg, const struct tracks_slice *s)
{
	struct out *o = arg;
	static const char *const hows[] = {[TRACKS_CUT] = "records were lost after this",
					   [TRACKS_STILL] = "still, at the end of the trace"};
	uint64_t track = track_of(o, s);
	struct sequence *q = open_event(o, s->thread, s->ns, SLICE_END, track);
	if (s->what == TRACKS_RUNS)
		put_site(o, q, s->site, false);
	put_fd(o, q, s->fd, s->gen);
	if (s->how != TRACKS_ENDED)
		put_note(o, q, NOTE_HOW, hows[s->how]);
	close_event(o);
}

// -------------------------------------------------------------------- marks

static void put_text(struct out *o, const char *text)
{
	protobuf_string(&o->packets, EVENT_NAME, text);
}

// What an event of the program's own says, each field by its name.
static void put_values(struct out *o, const struct program_event *e)
{
	struct program_value values[CTP_EVENT_ROW_FIELDS];
	struct protobuf *p = &o->packets;
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
	struct sequence *q =
		open_event(o, m->thread, m->ns, INSTANT,
			   m->coroutine ? track_of_coroutine(m->coroutine) : track_of_thread(m->thread));
	put_name(o, q, 1ULL << 63 | 1ULL << 32 | m->event->class->id, m->text);
	put_values(o, m->event);
	close_event(o);
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
	struct sequence *q = open_event(o, m->thread, m->ns, INSTANT,
					done ? track_of_coroutine(m->coroutine) : track_of_thread(m->thread));
	uint64_t key = 1ULL << 63 | m->kind;
	if (done || m->kind == TRACKS_CREATES || m->kind == TRACKS_WAKES)
		put_name(o, q, key, done ? "done" : m->kind == TRACKS_CREATES ? "creates" : "wakes");
	else
		put_text(o, m->text);
	if (m->flow)
		protobuf_fixed64(&o->packets, EVENT_FLOW, m->flow);
	if (done)
		put_note(o, q, NOTE_HOW, m->text);
	else if (m->coroutine)
		put_known_note(o, q, NOTE_COROUTINE, TEXT_WHO, m->coroutine->id,
			       tracks_who(m->coroutine, who, sizeof(who)));
	put_fd(o, q, m->fd, m->gen);
	close_event(o);
}

static void put_finding(struct out *o, const struct tracks_finding *f, uint64_t track)
{
	char text[1024];
	struct sequence *q = open_event(o, NULL, f->ns, INSTANT, track);
	put_text(o, tracks_finding_name(f, text, sizeof(text)));
	put_note(o, q, NOTE_VERDICT, verdict_words[f->finding->verdict]);
	snprintf(text, sizeof(text), "%016" PRIx64, f->finding->fingerprint);
	put_note(o, q, NOTE_FINGERPRINT, text);
	report_who(o->report, f->c->about.image, f->id, text, sizeof(text));
	text_clean(text);
	put_note(o, q, NOTE_COROUTINE, text);
	describe_message(o->report, f->finding, text, sizeof(text));
	text_clean(text);
	put_note(o, q, NOTE_MESSAGE, text);
	put_fd(o, q, f->c->fd, f->c->gen);
	put_site(o, q, f->site, true);
	close_event(o);
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
	struct out o = {.to = to, .report = r};
	struct tracks t;
	sequence_of(&o, NULL);
	int e = o.error ? o.error : tracks_walk(&t, r, &sink, &o);
	if (!o.error)
		tracks_deinit(&t);
	e = e ? e : o.error;
	if (!e && o.packets.n)
		fwrite(o.packets.bytes, 1, o.packets.n, to);
	for (size_t i = 0; i < o.n; i++) {
		idmap_deinit(&o.sequences[i].names);
		idmap_deinit(&o.sequences[i].texts);
	}
	free(o.sequences);
	idmap_deinit(&o.processes);
	protobuf_deinit(&o.packets);
	protobuf_deinit(&o.interned);
	return e;
}
