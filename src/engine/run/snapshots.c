// SPDX-License-Identifier: MIT
//
// A snapshot is the trace as it would be if the program ended now: a copy of what is on the
// disk, what the rings hold, and the tables. Its manifest comes last, and marks it complete.
#include "engine/run/snapshots.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/seq.h"
#include "engine/record/ctf.h"
#include "engine/target/log.h"
#include "engine/run/session.h"

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
	struct manifest m = s->recorder.manifest;
	m.images = calloc(m.n_images + 1, sizeof(*m.images));
	if (!m.images)
		return -ENOMEM;
	memcpy(m.images, s->recorder.manifest.images, m.n_images * sizeof(*m.images));
	m.complete = true;
	m.snapshot_ns = clock_mono_ns();
	m.snapshot_reason = reason;
	m.part = s->snapshots.n;
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

static int fill(struct session *s, const struct output *to, const char *reason, uint64_t *kept)
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
	return r ? r : describe(s, to, reason, *kept);
}

void snapshots_take(struct session *s, const char *reason)
{
	struct output to;
	uint64_t kept = 0, end = clock_mono_ns() + PROCESS_SNAPSHOT_NS;
	bool request = !strcmp(reason, "request");
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended && s->processes[i]->listed >= 0 && request)
			process_inspect(s->processes[i], end);
	int r = output_beside(&s->recorder.output, ++s->snapshots.n, &to);
	if (!r)
		r = fill(s, &to, reason, &kept);
	if (!r)
		r = output_publish(&to);
	if (r > 0)
		log_line(LOG_FAIL, "%s: exists and is no ctp trace; this snapshot was not taken", to.path);
	else if (r < 0)
		log_line(LOG_FAIL, "cannot write the snapshot %s: %s", to.path ? to.path : "", strerror(-r));
	else
		log_line(LOG_SAY, "%s: the newest %" PRIu64 " switches in %s",
			 request ? "SIGUSR2" : "a finding", kept, to.path);
	output_deinit(&to);
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
