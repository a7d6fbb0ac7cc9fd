// SPDX-License-Identifier: MIT
//
// Reads a trace directory: the manifest first (it waits a moment for a writer that has
// not finished), then the tables of each image, then the streams, packet by packet. The
// tables alone give the present state; records add counts and version-1 stations.
#include "trace/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "trace/streams.h"

static int64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

// Whether a writer holds the trace: one that was killed holds it no more.
static bool has_writer(const char *trace)
{
	int fd = open(trace, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return true; // it is not known
	bool has = flock(fd, LOCK_SH | LOCK_NB) != 0;
	close(fd);
	return has;
}

// Reads the manifest; if it is not complete, again whenever its folder
// changes, as long as it has a writer, until wait_ms have passed.
static int read_manifest(struct manifest *m, const char *trace, int folder, const char *path, int wait_ms)
{
	int64_t until = now_ms() + wait_ms;
	int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), r;
	bool written = has_writer(
		trace); // asked before the manifest is read, which a writer completes before it lets go
	if (watch >= 0)
		inotify_add_watch(watch, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE);
	while (!(r = manifest_read(m, folder)) && !m->complete) {
		int64_t left = until - now_ms();
		if (left <= 0 || !written)
			break;
		written = has_writer(trace);
		manifest_deinit(m);
		char events[4096];
		struct pollfd p = {.fd = watch, .events = POLLIN};
		poll(&p, 1, left < 100 ? (int)left : 100);
		while (watch >= 0 && read(watch, events, sizeof(events)) > 0)
			;
	}
	if (watch >= 0)
		close(watch);
	return r;
}

static int image_order(const void *a, const void *b)
{
	unsigned x = ((const struct manifest_image *)a)->index;
	unsigned y = ((const struct manifest_image *)b)->index;
	return (x > y) - (x < y);
}

// Which process it is of, and what is known of that one.
static void place_image(struct image *image, const struct manifest *m, const struct manifest_image *im)
{
	image->index = im->index;
	image->process = im->process;
	image->pid = im->pid;
	image->snapshot_ns = im->process ? im->snapshot_ns : m->snapshot_ns;
	image->snapshot_reason = im->process ? im->snapshot_reason : m->snapshot_reason;
	image->ended_signal = im->process ? -1 : m->ended_signal;
	image->term_forwarded_ns = im->process ? im->term_forwarded_ns : m->term_forwarded_ns;
}

// An image after exec that found nobody to answer it: it is not in the trace,
// but all that was before it is gone.
static void replace_by_unseen(struct world *w)
{
	for (size_t i = 0; i < w->nimages; i++) {
		unsigned later = 0, before = 0;
		for (size_t j = 0; j < w->nimages; j++) {
			bool same = w->images[j].process == w->images[i].process;
			later += same && j > i;
			before += same && j < i;
		}
		for (size_t j = i; !before && w->images[i].ext.execs > later && j < w->nimages; j++)
			if (w->images[j].process == w->images[i].process && !w->images[j].replaced)
				image_replace(&w->images[j]);
	}
}

static int open_images(struct world *w, int folder)
{
	struct manifest *m = &w->manifest;
	qsort(m->images, m->nimages, sizeof(*m->images), image_order);
	w->images = calloc(m->nimages ? m->nimages : 1, sizeof(*w->images));
	if (!w->images)
		return -ENOMEM;
	for (size_t i = 0; i < m->nimages; i++) {
		place_image(&w->images[i], m, &m->images[i]);
		int r = image_open(&w->images[i], folder, m);
		if (r)
			return r;
		w->nimages++;
	}
	for (size_t i = 0; i < w->nimages; i++)
		for (size_t j = i + 1; j < w->nimages && !w->images[i].replaced; j++)
			if (w->images[i].process == w->images[j].process)
				image_replace(&w->images[i]);
	replace_by_unseen(w);
	for (size_t i = 0; i < w->nimages; i++)
		w->processes += !w->images[i].replaced;
	return 0;
}

static void sum_images(struct world *w)
{
	const uint64_t *from;
	uint64_t *to = (uint64_t *)&w->counts;
	w->has_last_tables = w->manifest.complete && w->nimages > 0;
	for (size_t i = 0; i < w->nimages; i++) {
		from = (const uint64_t *)&w->images[i].counts;
		for (size_t k = 0; k < sizeof(w->counts) / sizeof(*to); k++)
			to[k] += from[k];
		if (!w->images[i].has_tables && !w->images[i].replaced)
			w->has_last_tables = false;
	}
}

static void sum_streams(struct world *w, const struct past *past)
{
	struct changes_count n = changes_count(&past->v1);
	w->v1_suspended = n.suspended;
	w->v1_running = n.running;
	w->counts.suspended += n.suspended;
	w->counts.running += n.running;
	w->counts.finished += n.finished;
	w->threads = streams_threads(w);
	if (!w->threads) // no thread but those of the probes is known
		w->threads = past->v1_tids.n;
	for (unsigned k = 0; k < 256; k++)
		if (!ctp_kind_is_long(k) && k != CTP_EV_STATION && k != CTP_EV_STATION_END &&
		    k != CTP_EV_USER)
			w->unknown_kinds += w->kinds[k];
	if (w->kinds[CTP_EV_SWITCH] > w->counts.switches)
		w->counts.switches = w->kinds[CTP_EV_SWITCH];
	w->lost = w->counts.lost > w->discarded ? w->counts.lost : w->discarded;
	w->lost += w->manifest.v1_lost;
}

static void set_times(struct world *w)
{
	const struct manifest *m = &w->manifest;
	w->start_ns = m->nimages && m->images[0].attached_ns ? m->images[0].attached_ns : m->ns0;
	w->snapshot_ns = m->snapshot_ns;
	if (!w->snapshot_ns && w->nimages) {
		const struct image *last = &w->images[w->nimages - 1];
		w->snapshot_ns = last->has_tables ? world_ns(w, last->ext_table.time) : 0;
	}
	for (size_t i = 0; i < w->nimages; i++)
		if (w->images[i].snapshot_ns > w->snapshot_ns)
			w->snapshot_ns = w->images[i].snapshot_ns;
	if (w->snapshot_ns > w->start_ns)
		w->duration_ns = w->snapshot_ns - w->start_ns;
}

static int by_lost(const void *a, const void *b)
{
	const struct world_stream *x = a, *y = b;
	return x->discarded != y->discarded ? x->discarded < y->discarded ? 1 : -1 :
	       x->tid < y->tid              ? -1 :
					      x->tid > y->tid;
}

// Which threads lost how many records: the most first.
static int cover_lost(struct world *w)
{
	enum { NAMED = 8 };
	char text[64 + NAMED * 48];
	int at = snprintf(text, sizeof(text), "records were lost by thread");
	size_t n = 0, named;
	struct world_stream *by = calloc(w->nstreams + 1, sizeof(*by));
	if (!by)
		return -ENOMEM;
	for (size_t i = 0, k; i < w->nstreams; i++) { // the parts of a thread's stream are one
		for (k = 0; k < n && by[k].tid != w->streams[i].tid; k++)
			;
		if (!w->streams[i].discarded)
			continue;
		by[k].tid = w->streams[i].tid;
		by[k].discarded += w->streams[i].discarded;
		n += k == n;
	}
	qsort(by, n, sizeof(*by), by_lost);
	for (named = 0; named < n && named < NAMED; named++)
		at += snprintf(text + at, sizeof(text) - (size_t)at, "%s %" PRIu32 " (%" PRIu64 ")",
			       named ? "," : "", by[named].tid, by[named].discarded);
	free(by);
	if (!n)
		return 0;
	return n > named ? world_cover(w, "%s and %zu more threads", text, n - named) :
			   world_cover(w, "%s", text);
}

// Why nothing was decided, where the last tables are not there.
static int cover_tables(struct world *w)
{
	bool damaged = false;
	for (size_t i = 0; i < w->nimages; i++)
		damaged |= w->images[i].damaged;
	if (w->has_last_tables)
		return 0;
	return world_cover(
		w, "%s: nothing was decided",
		damaged ? "a table is damaged or cut off" :
		w->manifest.complete ?
			  "the last tables are missing" :
			  "the trace is not finished (the program still runs, or ctp-run was killed), "
			  "coroutines are counted from its history");
}

// Switches that the tables know of and the history does not.
static int cover_missing(struct world *w)
{
	const struct manifest *m = &w->manifest;
	uint64_t known = w->kinds[CTP_EV_SWITCH] + w->lost + m->dropped_records + m->paused_records;
	if (w->counts.switches <= known)
		return 0;
	if (m->flight)
		return world_cover(w,
				   "--flight kept the newest %" PRIu64 " of %" PRIu64
				   " switches; the tables tell of all of them",
				   w->kinds[CTP_EV_SWITCH], w->counts.switches);
	return world_cover(w, "the history of %" PRIu64 " switches is missing: a stream was cut or removed",
			   w->counts.switches - known);
}

static int cover_history(struct world *w, const struct past *past)
{
	uint64_t dropped = w->manifest.dropped_records,
		 unreadable = w->program_events.unreadable + w->program_events.bad_lines;
	int r = cover_missing(w);
	if (!r)
		r = cover_lost(w);
	if (!r && dropped)
		r = world_cover(w, "%" PRIu64 " records were dropped (--max-size, or a full disk)", dropped);
	if (!r && w->unknown_kinds)
		r = world_cover(w, "%" PRIu64 " records of kinds that this version does not know",
				w->unknown_kinds);
	if (!r && unreadable)
		r = world_cover(w,
				"%" PRIu64
				" packets of the program's own events are damaged, or of events that "
				"ctp/events.jsonl does not describe",
				unreadable);
	if (!r && past->wrong)
		r = world_cover(w, "%" PRIu64 " records contradict the order in which their coroutines moved",
				past->wrong);
	return r;
}

static int cover_v1(struct world *w)
{
	int r = 0;
	if (w->v1_suspended + w->v1_running)
		r = world_cover(w,
				"%" PRIu64 " stations of version-1 probes hold no descriptors: "
				"CTP001 to CTP009 were not decided for them",
				w->v1_suspended + w->v1_running);
	if (!r && w->manifest.v1_unplaced)
		r = world_cover(w,
				"%" PRIu64
				" coroutines of version-1 probes got no station, and are not in this trace: "
				"give room with ctp-run -n",
				w->manifest.v1_unplaced);
	return r;
}

static int cover_image(struct world *w, const struct image *im)
{
	int r = im->refused ? world_cover(w, "%s", im->refused) : 0;
	uint64_t bad = im->witness.bad_lines + im->set_looks.bad_lines + im->slices.bad_lines +
		       im->stackless.bad_lines;
	if (!r && bad)
		r = world_cover(w, "%" PRIu64 " damaged line%s in the witness of image %u", bad,
				bad == 1 ? "" : "s", im->index);
	return r;
}

static int cover(struct world *w, const struct past *past)
{
	const struct manifest *m = &w->manifest;
	int r = 0;
	for (size_t i = 0; !r && i < m->ncoverage; i++)
		r = world_cover(w, "%s", m->coverage[i]);
	for (size_t i = 0; !r && i < m->nunseen; i++)
		r = world_cover(w, "%s", m->unseen[i]);
	if (!r)
		r = cover_tables(w);
	if (!r)
		r = cover_history(w, past);
	if (!r)
		r = cover_v1(w);
	for (size_t i = 0; !r && i < w->nimages; i++)
		r = cover_image(w, &w->images[i]);
	return r;
}

static bool any_tables(const struct world *w)
{
	for (size_t i = 0; i < w->nimages; i++)
		if (w->images[i].has_tables)
			return true;
	return false;
}

// No snapshot was taken: the last record is what is known last.
static void end_at(struct world *w, uint64_t ns)
{
	w->snapshot_ns = ns;
	w->duration_ns = ns > w->start_ns ? ns - w->start_ns : 0;
}

// Nothing in a trace of another layout, or packed in another way, can be read, its records neither.
static int check_layout(const struct world *w, struct world_error *error)
{
	int r = world_layout(error, "", w->manifest.layout);
	if (!r)
		r = world_compressed(error, w->manifest.compressed);
	for (size_t i = 0; !r && i < w->nimages; i++)
		if (w->images[i].layout)
			r = world_layout(error, "", w->images[i].layout);
	return r;
}

int directory_read(struct world *w, int wait_ms, struct world_error *error)
{
	char *path = file_join(w->path, "ctp");
	struct past past = {0};
	int folder = file_open_folder(*w->folder, "ctp", O_NOFOLLOW), r = !path      ? -ENOMEM :
									  folder < 0 ? folder :
										       0;
	if (!r)
		r = read_manifest(&w->manifest, w->path, folder, path, wait_ms);
	if (file_refused(r))
		snprintf(error->text, sizeof(error->text), "not a ctp trace: its %s is not read: %s",
			 folder < 0 ? "ctp" : "ctp/trace.json", file_why(r));
	if (!r)
		r = open_images(w, folder);
	if (!r)
		r = program_classes_read(&w->program_events, folder);
	if (!r)
		r = check_layout(w, error);
	bool unfinished = !r && !any_tables(w);
	if (!r)
		r = streams_read(w, unfinished, &past);
	if (!r) {
		sum_images(w);
		if (unfinished)
			history_count(&past.history, &w->counts);
		sum_streams(w, &past);
		set_times(w);
		if (unfinished && past.history.n)
			end_at(w, world_ns(w, past.history.last));
		struct image_counts *c = &w->counts;
		w->coroutines = c->created + c->suspended + c->running + c->finished + c->destroyed;
		r = cover(w, &past);
		c->switches += w->kinds[CTP_EV_STATION] / 2; // two changes each, as in JSON lines
	}
	past_deinit(&past);
	free(path);
	if (folder >= 0)
		close(folder);
	return r;
}
