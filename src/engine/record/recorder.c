// SPDX-License-Identifier: MIT
//
// The recorder holds what all processes of a run share: the directory, the writer,
// the manifest, the clock. A failure while the program runs is reported once, and
// the program continues.
#include "engine/record/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/record/ctf.h"
#include "engine/record/lines.h"
#include "engine/record/tables.h"
#include "engine/target/log.h"

int recorder_open(struct recorder *r, const char *pattern, pid_t pid, char **command)
{
	r->manifest = (struct manifest){.command = command,
					.record_args = r->record_args,
					.pid = pid,
					.identity = &r->identity,
					.clock = &r->clock,
					.compressed = r->compress,
					.modules = &r->modules};
	int e = output_init(&r->output, pattern, pid, command && command[0] ? command[0] : "");
	if (e)
		return e;
	clock_again(&r->clock);
	r->witness_clock =
		(struct witness_clock){r->clock.tsc, r->clock.ticks0, r->clock.ns0, r->clock.ns_per_tick};
	r->writer = r->output.jsonl ?
			    lines_new(r->output.fd, r->max_bytes, &r->clock) :
			    ctf_new(r->output.fd, r->max_bytes, r->compress, &r->classes, &r->clock);
	if (r->writer)
		return 0;
	output_remove(&r->output);
	return -ENOMEM;
}

int recorder_publish(struct recorder *r)
{
	int e = 0;
	if (!r->output.jsonl)
		e = ctf_metadata(r->output.fd, &r->clock, r->compress, &r->classes);
	if (!e && !r->output.jsonl)
		e = manifest_write(&r->manifest, r->output.fd);
	return e ? e : output_publish(&r->output);
}

void recorder_deinit(struct recorder *r)
{
	if (r->writer)
		r->writer->ops->free(r->writer);
	event_classes_deinit(&r->classes);
	module_scan_deinit(&r->modules);
	free(r->manifest.images);
	output_deinit(&r->output);
	*r = (struct recorder){.output = OUTPUT_NONE};
}

void recorder_clock_again(struct recorder *r)
{
	clock_again(&r->clock);
	r->witness_clock.ns_per_tick = r->clock.ns_per_tick;
}

uint64_t recorder_since(const struct recorder *r)
{
	uint64_t now = clock_mono_ns();
	return r->flight_ns && r->flight_ns < now ? clock_to_ticks(&r->clock, now - r->flight_ns) : 0;
}

// --------------------------------------------------------------------- errors

void recorder_report_error(struct recorder *r)
{
	r->error = r->error ? r->error : r->writer->error;
	if (!r->error || r->error_reported)
		return;
	r->error_reported = true;
	log_line(LOG_FAIL, "cannot write to %s: %s; the program goes on, records are dropped and counted",
		 r->output.path, strerror(-r->error));
}

void recorder_note_error(struct recorder *r, int e)
{
	r->error = r->error ? r->error : r->writer->error;
	if (e < 0 && !r->error)
		r->error = e;
	recorder_report_error(r);
}

bool recorder_make_room(struct recorder *r, int e)
{
	return (e == -ENOSPC || e == -EDQUOT) && r->writer->ops->make_room(r->writer);
}

// ----------------------------------------------------- what goes into the trace

int recorder_add_image(struct recorder *r, const struct manifest_image *about)
{
	struct manifest *m = &r->manifest;
	struct manifest_image *more = realloc(m->images, sizeof(*more) * (m->n_images + 1));
	if (!more)
		return -ENOMEM;
	m->images = more;
	more[m->n_images] = *about;
	more[m->n_images].index = m->n_images;
	return (int)m->n_images++;
}

void recorder_cover(struct recorder *r, const char *text)
{
	struct manifest *m = &r->manifest;
	for (unsigned i = 0; i < m->n_coverage; i++)
		if (!strcmp(m->coverage[i], text))
			return;
	if (m->n_coverage < MANIFEST_COVERAGE)
		snprintf(m->coverage[m->n_coverage++], sizeof(m->coverage[0]), "%s", text);
}

bool recorder_tables(struct recorder *r, unsigned image, const char *sub, const struct harvest *h,
		     const struct open_stacks *open, uint64_t late_ns, bool ended)
{
	if (r->output.jsonl)
		return true;
	struct tables_copy copy = {.ticks = clock_ticks(&r->clock),
				   .late_ns = late_ns,
				   .meanwhile = ended ? r->meanwhile : NULL,
				   .arg = r->meanwhile_arg,
				   .open_stacks = open};
	int e;
	do {
		int dir = output_image(&r->output, image, sub);
		e = dir < 0 ? dir : tables_dump(dir, h->region, h->pid, &h->ended, &copy);
		if (dir >= 0)
			close(dir);
	} while (recorder_make_room(r, e));
	r->table_bytes += copy.bytes;
	if (e == -ETIME)
		output_remove_image(&r->output, image, sub);
	else
		recorder_note_error(r, e);
	return e >= 0;
}

void recorder_write_manifest(struct recorder *r)
{
	struct manifest *m = &r->manifest;
	int e;
	while (recorder_make_room(r, e = ctf_metadata(r->output.fd, &r->clock, r->compress, &r->classes)))
		;
	recorder_note_error(r, e);
	do {
		m->dropped_packets = r->writer->dropped_packets;
		m->dropped_records = r->writer->dropped_records;
		e = manifest_write(m, r->output.fd);
	} while (recorder_make_room(r, e));
	recorder_note_error(r, e);
}
