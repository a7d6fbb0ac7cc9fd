// SPDX-License-Identifier: MIT
//
// Reads JSON lines, one state change a line. They hold no descriptors, so all that they
// can tell is which entities are suspended, by the last line of each. Lines as ctp-run
// writes them are parsed by hand, all others by jansson. A last line without a newline
// that does not parse was cut off: it is dropped, and that is reported. Any other line
// that is no state change is an error.
#include "trace/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/changes.h"

#define TELL_LINES 1024
#define ID_END (1ULL << 53)

struct lines {
	struct changes changes;
	struct idmap tids;
	uint64_t first_ns, last_ns;
};

static int take(struct lines *l, const struct ctp_jsonl_line *line)
{
	if (!l->first_ns || line->ts < l->first_ns)
		l->first_ns = line->ts;
	if (line->ts > l->last_ns)
		l->last_ns = line->ts;
	int r = idmap_set(&l->tids, line->tid, 0);
	return r ? r :
		   changes_add(&l->changes, &(struct change){.id = line->probe_id,
							     .n = line->seq / 2,
							     .ns = line->ts,
							     .active = line->is_active,
							     .native = line->native,
							     .finished = line->finished});
}

static bool is_address(const char *text)
{
	size_t digits = strncmp(text, "0x", 2) ? 0 : strspn(text + 2, "0123456789abcdefABCDEF");
	return digits > 0 && digits <= 16 && !text[2 + digits];
}

// Of any JSON object that is a state change.
static int read_object(const json_t *o, struct ctp_jsonl_line *line)
{
	const json_t *id = json_object_get(o, "probe_id"), *tid = json_object_get(o, "tid");
	const json_t *addr = json_object_get(o, "addr"), *seq = json_object_get(o, "seq");
	const json_t *active = json_object_get(o, "is_active"), *ts = json_object_get(o, "ts");
	const json_t *probe = json_object_get(o, "station_probe_id");
	if (!json_is_integer(id) || !json_is_integer(tid) || !json_is_string(addr) || !json_is_integer(seq) ||
	    !json_is_boolean(active) || !json_is_integer(ts) || json_integer_value(id) < 0 ||
	    json_integer_value(tid) < 0 || json_integer_value(seq) < 0 || json_integer_value(ts) < 0 ||
	    !is_address(json_string_value(addr)))
		return -EPROTO;
	*line = (struct ctp_jsonl_line){.probe_id = (uint64_t)json_integer_value(id),
					.tid = (uint64_t)json_integer_value(tid),
					.addr = strtoull(json_string_value(addr), NULL, 16),
					.seq = (uint64_t)json_integer_value(seq),
					.ts = (uint64_t)json_integer_value(ts),
					.is_active = json_is_true(active),
					.is_station = json_is_integer(probe),
					.station_probe_id = (uint64_t)json_integer_value(probe),
					.native = json_is_true(json_object_get(o, "native")),
					.finished = json_is_true(json_object_get(o, "finished"))};
	return 0;
}

int lines_parse(const char *text, size_t n, struct ctp_jsonl_line *line)
{
	int r = 0;
	if (!ctp_jsonl_read(text, n, line)) {
		json_t *o = json_loadb(text, n, 0, NULL);
		r = !o && text[n - 1] != '\n' ? 1 : json_is_object(o) ? read_object(o, line) : -EPROTO;
		json_decref(o);
	}
	return r ? r : line->probe_id < ID_END ? 0 : -EPROTO;
}

static int lines_finish(struct world *w, const struct lines *l)
{
	w->form = WORLD_LINES;
	struct changes_count n = changes_count(&l->changes);
	w->counts.suspended = n.suspended;
	w->counts.running = n.running;
	w->counts.finished = n.finished;
	w->coroutines = n.suspended + n.running + n.finished;
	w->counts.switches = w->events / 2;
	w->threads = l->tids.n;
	w->lost = l->changes.missing;
	w->start_ns = l->first_ns;
	w->snapshot_ns = l->last_ns;
	w->duration_ns = l->last_ns - l->first_ns;
	int r = world_cover(w, "JSON lines hold no descriptors: CTP001 to CTP009 were not decided");
	return r ? r : world_cover(w, "JSON lines do not tell destroyed coroutines from suspended ones");
}

int lines_read(struct world *w, FILE *f, struct world_error *error)
{
	struct lines l = {0};
	struct stat st;
	char *line = NULL;
	size_t room = 0;
	uint64_t number = 0, done = 0,
		 total = fstat(fileno(f), &st) || !S_ISREG(st.st_mode) ? 0 : (uint64_t)st.st_size;
	ssize_t n;
	int r = 0;
	while (!r && (n = getline(&line, &room, f)) > 0) {
		struct ctp_jsonl_line change;
		r = lines_parse(line, (size_t)n, &change);
		if (r == 1 && line[0] != '{')
			r = -EPROTO; // not the beginning of one either
		if (!r)
			r = take(&l, &change);
		w->events += !r;
		done += (uint64_t)n;
		if (++number % TELL_LINES == 0)
			world_progress(w, done, total);
	}
	if (!r && ferror(f))
		r = -EIO;
	if (r == 1) {
		w->cut_off = true;
		r = world_cover(w, "the last line was cut off: dropped");
	} else if (r == -EPROTO)
		snprintf(error->text, sizeof(error->text),
			 "not JSON lines as ctp-run writes them: line %" PRIu64
			 " is not a state change (probe_id, tid, addr, seq, is_active, ts)",
			 number);
	if (!r)
		r = lines_finish(w, &l);
	free(line);
	changes_deinit(&l.changes);
	idmap_deinit(&l.tids);
	return r;
}
