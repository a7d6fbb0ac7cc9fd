// SPDX-License-Identifier: MIT
//
// A snapshot is the trace as it would be if the program ended now: a copy of what is on the
// disk, what the rings hold, and the tables. Its manifest comes last, and marks it complete.
#include "engine/session/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/record/ctf.h"
#include "engine/target/log.h"
#include "engine/session/pause.h"
#include "engine/session/process_inspect.h"
#include "engine/session/session.h"

#define FOUND_MOST 8           // snapshots for findings: one that repeats does not fill the disk
#define FOUND_NS 1000000000ULL // between them

void snapshots_say(const struct session *s, struct manifest *m, uint64_t kept, uint64_t all)
{
	const struct options *o = s->options;
	m->flight_bytes = o->flight_bytes;
	m->flight_kept = kept;
	m->flight_not_kept = all > kept ? all - kept : 0;
}

uint64_t snapshots_written(const struct session *s)
{
	uint64_t n = s->snapshots.ended;
	for (size_t i = 0; i < s->n_processes; i++)
		n += s->processes[i]->harvest->flight ? s->processes[i]->harvest->flight->switches : 0;
	return n;
}

// The manifest of now, into the snapshot.
static int describe(struct session *s, const struct output *to, const char *reason, uint64_t kept)
{
	pause_cover(s);
	struct manifest m = s->recorder.manifest;
	m.images = calloc(m.n_images + 1, sizeof(*m.images));
	if (!m.images)
		return -ENOMEM;
	memcpy(m.images, s->recorder.manifest.images, m.n_images * sizeof(*m.images));
	m.complete = true;
	m.snapshot_ns = clock_mono_ns();
	m.snapshot_reason = reason;
	m.part = s->snapshots.n;
	m.dropped_records = s->recorder.writer->dropped_records;
	m.v1_lost = v1_lost(s->v1);
	for (size_t i = 0; i < s->n_processes; i++) {
		const struct process *p = s->processes[i];
		if (p->ended || p->listed < 0)
			continue;
		struct manifest_image *im = &m.images[p->listed];
		im->guest = ctp_load32(&p->region->ext->guest_pid) != 0;
		im->attached_ns = p->region->ext->attached_ns;
		im->snapshot_ns = m.snapshot_ns;
		im->snapshot_reason = reason;
	}
	snapshots_say(s, &m, kept, session_sum(s).switches);
	int r = ctf_metadata(to->fd, &s->recorder.clock, s->options->compress, &s->recorder.classes);
	r = r ? r : manifest_write(&m, to->fd);
	free(m.images);
	return r;
}

// The tables; with --flight what the rings hold, too, of which *kept counts the switches.
static int fill(struct session *s, const struct output *to, uint64_t *kept)
{
	struct writer *w = ctf_new(to->fd, s->options->max_bytes, s->options->compress, &s->recorder.classes,
				   &s->recorder.clock);
	int r = w ? 0 : -ENOMEM;
	*kept = snapshots_written(s); // that is there already
	for (size_t i = 0; !r && i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->listed >= 0)
			r = process_copy(s->processes[i], to, w, recorder_since(&s->recorder), kept);
	r = r || !w ? r : w->error;
	if (w)
		w->ops->free(w);
	clock_again(&s->recorder.clock);
	return r;
}

static void inspect_all(struct session *s)
{
	uint64_t end = clock_mono_ns() + PROCESS_SNAPSHOT_NS;
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->listed >= 0)
			process_inspect_now(s->processes[i], end);
}

// Into a trace that has been created, and gives it its name. 0, -errno or enum output_problem.
static int make(struct session *s, struct output *to, const char *reason, const struct snapshots_between *b,
		uint64_t *kept)
{
	int r = s->options->flight_bytes ? output_copy(&s->recorder.output, to, NULL, NULL) : 0;
	r = r ? r : fill(s, to, kept);
	if (!s->options->flight_bytes) { // after the tables, so that the history is not shorter than they say
		for (size_t i = 0; i < s->n_processes; i++)
			if (!s->processes[i]->ended)
				process_empty(s->processes[i]);
		r = r ? r : output_copy(&s->recorder.output, to, b ? b->call : NULL, b ? b->arg : NULL);
	}
	r = r ? r : describe(s, to, reason, *kept);
	return r ? r : output_publish(to);
}

void snapshots_take(struct session *s, const char *reason)
{
	struct output to;
	uint64_t kept = 0;
	bool request = !strcmp(reason, "request");
	if (request)
		inspect_all(s);
	int r = output_beside(&s->recorder.output, ++s->snapshots.n, &to);
	r = r ? r : make(s, &to, reason, NULL, &kept);
	if (r > 0)
		log_line(LOG_FAIL, "%s: exists and is no ctp trace; this snapshot was not taken", to.path);
	else if (r < 0)
		log_line(LOG_FAIL, "cannot write the snapshot %s: %s", to.path ? to.path : "", strerror(-r));
	else
		log_line(LOG_SAY, "%s: the newest %" PRIu64 " switches in %s",
			 request ? "SIGUSR2" : "a finding", kept, to.path);
	output_deinit(&to);
}

// Where it is, for somebody who is elsewhere.
static void say_place(const struct output *to, char *said, size_t bytes)
{
	char *real = realpath(to->path, NULL);
	snprintf(said, bytes, "%s", real ? real : to->path);
	free(real);
}

int snapshots_request(struct session *s, const char *path, const struct snapshots_between *b, char *said,
		      size_t bytes)
{
	struct output to;
	uint64_t kept = 0;
	const struct manifest *m = &s->recorder.manifest;
	const char *program = m->command && m->command[0] ? m->command[0] : "";
	inspect_all(s);
	int r = *path ? output_init(&to, path, session_first(s)->pid, program) :
			output_beside(&s->recorder.output, s->snapshots.n + 1, &to);
	s->snapshots.n++;
	if (!r && to.jsonl)
		r = -EINVAL;
	r = r ? r : make(s, &to, "request", b, &kept);
	if (r == OUTPUT_OLD_EXISTS)
		snprintf(
			said, bytes,
			"%s.old: exists and is no ctp trace, so %s cannot be moved there; name another place",
			to.path, to.path);
	else if (r > 0)
		snprintf(said, bytes, "%s: exists and is no ctp trace; name another place", to.path);
	else if (r == -EINVAL && to.jsonl)
		snprintf(said, bytes, "%s: a snapshot is a trace directory; leave out .jsonl", to.path);
	else if (r < 0)
		snprintf(said, bytes, "cannot write %s: %s; name another place", to.path ? to.path : path,
			 strerror(-r));
	else
		say_place(&to, said, bytes);
	output_deinit(&to);
	return r;
}

void snapshots_poll(struct session *s)
{
	uint64_t certain = 0;
	if (!s->options->flight_bytes || s->snapshots.found >= FOUND_MOST)
		return;
	for (size_t i = 0; i < s->n_processes; i++)
		certain += s->processes[i]->witness ? witness_certain(s->processes[i]->witness) : 0;
	if (certain <= s->snapshots.certain || clock_mono_ns() < s->snapshots.not_before_ns) {
		s->snapshots.certain = certain < s->snapshots.certain ? certain : s->snapshots.certain;
		return;
	}
	s->snapshots.certain = certain;
	s->snapshots.found++;
	snapshots_take(s, "finding");
	s->snapshots.not_before_ns = clock_mono_ns() + FOUND_NS;
}
