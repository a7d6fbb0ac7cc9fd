// SPDX-License-Identifier: MIT
//
// JSON lines: one state change a line. They hold no descriptors, so all that
// can be said is who is suspended: each entity's last line decides. A last line without a newline that does not parse was cut
// off and is dropped with a word; any other line that is no state change is
// an error.
#include "trace/lines.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "trace/changes.h"

struct lines {
	struct changes changes;
	struct idmap tids;
	uint64_t first_ns, last_ns;
};

static int take(struct lines *l, const json_t *o)
{
	const json_t *id = json_object_get(o, "probe_id"), *tid = json_object_get(o, "tid");
	const json_t *addr = json_object_get(o, "addr"), *seq = json_object_get(o, "seq");
	const json_t *active = json_object_get(o, "is_active"), *ts = json_object_get(o, "ts");
	if (!json_is_integer(id) || !json_is_integer(tid) || !json_is_string(addr) ||
	    !json_is_integer(seq) || !json_is_boolean(active) || !json_is_integer(ts) ||
	    json_integer_value(id) < 0 || json_integer_value(seq) < 0 || json_integer_value(ts) < 0)
		return -EPROTO;
	uint64_t ns = (uint64_t)json_integer_value(ts);
	if (!l->first_ns || ns < l->first_ns)
		l->first_ns = ns;
	if (ns > l->last_ns)
		l->last_ns = ns;
	int r = idmap_set(&l->tids, (uint64_t)json_integer_value(tid), 0);
	struct change change = {
		.id = (uint64_t)json_integer_value(id), .n = (uint64_t)json_integer_value(seq) / 2, .ns = ns,
		.active = json_is_true(active), .native = json_is_true(json_object_get(o, "native")),
		.finished = json_is_true(json_object_get(o, "finished")),
	};
	return r ? r : changes_add(&l->changes, &change);
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

// One line, n bytes with its newline if it has one. 0, 1 if it was cut off, -errno.
static int read_line(struct world *w, struct lines *l, const char *line, size_t n)
{
	json_t *o = json_loadb(line, n, 0, NULL);
	int r = json_is_object(o) ? take(l, o) : -EPROTO;
	if (!o && line[n - 1] != '\n')
		r = 1;
	json_decref(o);
	w->events += !r;
	return r;
}

int lines_read(struct world *w, FILE *f, struct world_error *error)
{
	struct lines l = { 0 };
	char *line = NULL;
	size_t room = 0;
	uint64_t number = 0;
	ssize_t n;
	int r = 0;
	while (!r && (n = getline(&line, &room, f)) > 0) {
		number++;
		r = read_line(w, &l, line, (size_t)n);
	}
	if (!r && ferror(f))
		r = -EIO;
	if (r == 1) {
		w->cut_off = true;
		r = world_cover(w, "the last line was cut off: dropped");
	} else if (r == -EPROTO)
		snprintf(error->text, sizeof(error->text), "line %" PRIu64 " is not a state change "
			 "(probe_id, tid, addr, seq, is_active, ts)", number);
	if (!r)
		r = lines_finish(w, &l);
	free(line);
	changes_deinit(&l.changes);
	idmap_deinit(&l.tids);
	return r;
}
