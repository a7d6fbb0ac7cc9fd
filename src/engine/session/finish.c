// SPDX-License-Identifier: MIT
//
// The manifest tells what no other file shows: which images, children and records the trace
// does not hold. It is written last, so a complete manifest vouches for the rest.
#include "engine/session/finish.h"

#include <stdio.h>
#include <string.h>

#include "engine/session/pause.h"
#include "engine/session/snapshots.h"

// An image without libctp.so followed the last one that had it.
static void cover_exec(struct session *s)
{
	const struct manifest *m = &s->recorder.manifest;
	const struct process *p = s->processes[0];
	const char *became;
	char text[256];
	if (s->spent)
		recorder_cover(
			&s->recorder,
			"the program called exec so often, or left such tables, that its later images were not traced");
	if (!p->about.guest)
		recorder_cover(&s->recorder, "libctp.so did not attach to the last program image");
	else if (process_escaped(p, &became) && became) {
		snprintf(text, sizeof(text),
			 "the process became %.120s, without libctp.so (statically linked?): "
			 "what it did from there on is not in the trace",
			 became);
		recorder_cover(&s->recorder, text);
	} else if (process_escaped(p, &became) && !strcmp(m->ended_how ? m->ended_how : "", "exit")) {
		recorder_cover(&s->recorder,
			       "the program's end was not seen: it became another program, without libctp.so "
			       "(statically linked?), or exited by a system call of its own");
	}
}

static void cover_children(struct session *s)
{
	char text[256];
	uint64_t untraced = session_untraced(s);
	if (s->options->pid && untraced) {
		snprintf(text, sizeof(text),
			 "%llu child%s that the process forked meanwhile %s not traced: --pid follows none",
			 (unsigned long long)untraced, untraced == 1 ? "" : "ren",
			 untraced == 1 ? "is" : "are");
		recorder_cover(&s->recorder, text);
	}
	if (!s->options->pid && !s->options->follow && untraced) {
		snprintf(text, sizeof(text), "%llu forked %s not traced: ctp-run -f traces children, too",
			 (unsigned long long)untraced, untraced == 1 ? "child was" : "children were");
		recorder_cover(&s->recorder, text);
	}
	if (!s->options->follow)
		return;
	if (untraced) {
		snprintf(text, sizeof(text),
			 "%llu forked children were not traced: they could not reach ctp-run (other rights, "
			 "another root, no descriptor left)",
			 (unsigned long long)untraced);
		recorder_cover(&s->recorder, text);
	}
	if (s->detached) {
		snprintf(
			text, sizeof(text),
			"children that still ran when ctp-run ended: %u; it was not certain that they are the program's, so no "
			"signal went to them",
			s->detached);
		recorder_cover(&s->recorder, text);
	}
	if (s->escaped) {
		snprintf(
			text, sizeof(text),
			"children that were killed, or became programs without libctp.so: %u; what they did after that "
			"is not in the trace",
			s->escaped);
		recorder_cover(&s->recorder, text);
	}
}

static void cover_all(struct session *s)
{
	const struct manifest *m = &s->recorder.manifest;
	if (s->options->flight_bytes && m->ended_ns)
		snapshots_say(s, &s->recorder.manifest, snapshots_written(s), session_sum(s).switches);
	if (!s->options->no_preload)
		cover_exec(s);
	if (m->ended_ns || s->options->pid)
		cover_children(s);
	pause_cover(s);
	if (s->recorder.no_tables)
		recorder_cover(
			&s->recorder,
			"there was no time to write the tables before the program was told to end: they are those of its end");
	if (m->v1_lost)
		recorder_cover(&s->recorder,
			       "events of version-1 probes were overwritten before they were read");
	if (m->dropped_records)
		recorder_cover(
			&s->recorder,
			"the oldest history was dropped to keep to --max-size, or could not be written");
}

void finish_write(struct session *s)
{
	struct manifest *m = &s->recorder.manifest;
	const struct manifest_image *first = &s->processes[0]->about;
	m->complete = !s->incomplete;
	v1_turn(s->v1, &s->recorder.clock);
	for (size_t i = 0; i < s->n_processes; i++)
		if (!s->processes[i]->ended)
			m->complete &= process_write(s->processes[i]);
	s->recorder.writer->ops->flush(s->recorder.writer);
	while (module_scan_read(&s->recorder.modules))
		;
	clock_again(&s->recorder.clock);
	m->dropped_records = s->recorder.writer->dropped_records;
	m->v1_lost = v1_lost(s->v1);
	m->v1_unplaced = v1_unplaced(s->v1);
	m->snapshot_ns = first->snapshot_ns;
	m->snapshot_reason = first->snapshot_reason;
	cover_all(s);
	if (!s->recorder.output.jsonl)
		recorder_write_manifest(&s->recorder);
	recorder_report_error(&s->recorder);
}
