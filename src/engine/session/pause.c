// SPDX-License-Identifier: MIT
//
// What stops is the history: rings are emptied, and what they held is counted. The tables go on, as the
// program's threads keep them, so counts stay exact, and no verdict that rests on tables loses anything.
#include "engine/session/pause.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ctp/seq.h"

// Records from before the word are as they were to be; a record that is made meanwhile may be either.
static void turn_over(struct session *s, bool stopped)
{
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			process_empty(s->processes[i]);
	s->recorder.writer->stopped = stopped;
	for (size_t i = 0; i < s->n_processes; i++)
		ctp_store32(&s->processes[i]->region->ext->paused, stopped);
}

bool pause_begin(struct session *s)
{
	if (pause_lasts(s))
		return false;
	turn_over(s, true);
	s->pauses.from_ns = clock_mono_ns();
	s->pauses.to_ns = 0;
	return true;
}

bool pause_end(struct session *s)
{
	struct session_pauses *p = &s->pauses;
	if (!pause_lasts(s))
		return false;
	turn_over(s, false);
	p->to_ns = clock_mono_ns();
	p->times++;
	p->total_ns += p->to_ns - p->from_ns;
	return true;
}

bool pause_lasts(const struct session *s)
{
	return s->pauses.from_ns && !s->pauses.to_ns;
}

uint64_t pause_total_ns(const struct session *s)
{
	const struct session_pauses *p = &s->pauses;
	return p->total_ns + (pause_lasts(s) ? clock_mono_ns() - p->from_ns : 0);
}

void pause_cover(struct session *s)
{
	const struct session_pauses *p = &s->pauses;
	struct manifest *m = &s->recorder.manifest;
	static const char begins[] = "recording was stopped ";
	char text[400], all[32], from[32], to[32];
	uint64_t begun = s->recorder.clock.ns0, end = p->to_ns ? p->to_ns : clock_mono_ns();
	m->pauses = p->times + pause_lasts(s);
	if (!m->pauses)
		return;
	m->paused_ns = pause_total_ns(s);
	m->paused_records = s->recorder.writer->not_recorded;
	text_duration(all, sizeof(all), m->paused_ns);
	text_duration(from, sizeof(from), p->from_ns > begun ? p->from_ns - begun : 0);
	text_duration(to, sizeof(to), end > begun ? end - begun : 0);
	snprintf(
		text, sizeof(text),
		"%s%" PRIu64 " time%s, for %s (%sfrom %s to %s after the start): %" PRIu64
		" records of that time are not in the history, and no slice was sampled; the tables, from which "
		"verdicts come, were kept all the while",
		begins, m->pauses, m->pauses == 1 ? "" : "s", all, m->pauses == 1 ? "" : "the last time ",
		from, to, m->paused_records);
	for (unsigned i = 0; i < m->n_coverage; i++)
		if (!strncmp(m->coverage[i], begins, sizeof(begins) - 1)) { // the manifest is written again
			snprintf(m->coverage[i], sizeof(m->coverage[i]), "%s", text);
			return;
		}
	recorder_cover(&s->recorder, text);
}
