// SPDX-License-Identifier: MIT
//
// A switch is two state changes of one thread at one time: one entity is suspended, the
// next one resumed. JSON lines have the two in a row. A change that stands alone (of a
// version-1 station, or in another engine's file) makes a transition with one side.
#include "trace/transitions_lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "trace/lines.h"

struct transitions_lines {
	transitions_sink *sink;
	ctp_merge_each_sink *left_over; // or NULL
	void *arg;
	struct ctp_merge_entity *items;
	size_t n, capacity;
	struct idmap by_id;
	struct ctp_jsonl_line left; // who left, if somebody did and nobody went on yet
	bool has_left;
};

struct transitions_lines *transitions_lines_new(transitions_sink *sink, ctp_merge_each_sink *left, void *arg)
{
	struct transitions_lines *l = calloc(1, sizeof(*l));
	if (l) {
		l->sink = sink;
		l->left_over = left;
		l->arg = arg;
	}
	return l;
}

void transitions_lines_free(struct transitions_lines *l)
{
	if (!l)
		return;
	free(l->items);
	idmap_deinit(&l->by_id);
	free(l);
}

static int row_of(struct transitions_lines *l, uint64_t id, uint32_t *row)
{
	*row = idmap_get(&l->by_id, id);
	if (*row != IDMAP_NONE)
		return 0;
	if (l->n >= IDMAP_NONE || GROW(l->items, l->n, l->capacity) ||
	    idmap_set(&l->by_id, id, (uint32_t)l->n))
		return -ENOMEM;
	*row = (uint32_t)l->n++;
	l->items[*row] = (struct ctp_merge_entity){.id = id};
	return 0;
}

// What one side of a move says of its entity. Files of version-1 engines repeat n at each lap: that is no
// gap.
static bool count(struct ctp_merge_entity *e, const struct ctp_jsonl_line *line, uint64_t *n)
{
	bool gap = line->seq / 2 > e->n + 1;
	if (!e->discovered) {
		e->discovered = true;
		e->native = line->native;
	}
	*n = line->seq / 2;
	e->n = *n > e->n ? *n : e->n;
	return gap;
}

// from, to: NULL, that side is not told.
static int emit(struct transitions_lines *l, uint32_t stream, const struct ctp_jsonl_line *from,
		const struct ctp_jsonl_line *to)
{
	const struct ctp_jsonl_line *first = from ? from : to;
	struct transition m = {.kind = first->is_station ? CTP_EV_STATION : CTP_EV_SWITCH,
			       .tid = first->tid,
			       .stream = stream,
			       .ns = first->ts,
			       .pc = first->addr,
			       .station_probe_id = first->station_probe_id};
	uint32_t a = 0, b = 0;
	if ((from && row_of(l, from->probe_id, &a)) || (to && row_of(l, to->probe_id, &b)))
		return -ENOMEM;
	if (from) {
		m.from = &l->items[a];
		m.a = from->probe_id;
		m.from_gap = count(m.from, from, &m.from_n);
		m.how = from->finished ? CTP_HOW_GONE : 0;
	}
	if (to) {
		m.to = &l->items[b];
		m.b = to->probe_id;
		m.to_gap = count(m.to, to, &m.to_n);
	}
	int r = l->sink(l->arg, &m);
	if (from) {
		m.from->suspended = !from->finished;
		m.from->addr = from->addr;
		m.from->since_ns = from->ts;
	}
	if (to) {
		m.to->suspended = false;
		m.to->addr = to->addr;
		m.to->since_ns = to->ts;
	}
	return r;
}

// Tells the one side that waits for another.
static int emit_waiting(struct transitions_lines *l)
{
	bool has = l->has_left;
	l->has_left = false;
	return has ? emit(l, UINT32_MAX, &l->left, NULL) : 0;
}

int transitions_lines_end(struct transitions_lines *l)
{
	int r = emit_waiting(l);
	for (size_t i = 0; !r && l->left_over && i < l->n; i++)
		l->left_over(l->arg, &l->items[i]);
	return r;
}

int transitions_lines_take(struct transitions_lines *l, uint32_t stream, const struct ctp_jsonl_line *line)
{
	bool pair = l->has_left && line->is_active && !line->is_station && line->ts == l->left.ts &&
		    line->tid == l->left.tid;
	if (pair) {
		l->has_left = false;
		return emit(l, stream, &l->left, line);
	}
	int r = emit_waiting(l);
	if (r || line->is_active || line->is_station)
		return r ? r : emit(l, stream, line->is_active ? NULL : line, line->is_active ? line : NULL);
	l->left = *line;
	l->has_left = true;
	return 0;
}

int transitions_lines_walk(const struct world *w, transitions_sink *sink, ctp_merge_each_sink *left,
			   void *arg)
{
	FILE *f = strcmp(w->path, "-") ? fopen(w->path, "re") : NULL;
	struct transitions_lines *l = transitions_lines_new(sink, left, arg);
	struct stat st;
	struct ctp_jsonl_line line;
	char *text = NULL;
	size_t room = 0;
	uint64_t done = 0, lines = 0;
	ssize_t n;
	int r = !l                                            ? -ENOMEM :
		!f                                            ? !strcmp(w->path, "-") ? -ESPIPE : -errno :
		fstat(fileno(f), &st) || !S_ISREG(st.st_mode) ? -ESPIPE :
								0;
	while (!r && (n = getline(&text, &room, f)) > 0) {
		r = lines_parse(text, (size_t)n, &line);
		if (r == 1) { // cut off: that was said when the world was read
			r = 0;
			break;
		}
		if (!r)
			r = transitions_lines_take(l, UINT32_MAX, &line);
		done += (uint64_t)n;
		if (++lines % 1024 == 0)
			world_progress(w, done, (uint64_t)st.st_size);
	}
	if (!r && ferror(f))
		r = -EIO;
	if (!r)
		r = transitions_lines_end(l);
	free(text);
	transitions_lines_free(l);
	if (f)
		fclose(f);
	return r;
}
