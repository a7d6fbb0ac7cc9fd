// SPDX-License-Identifier: MIT
//
// A trace directory as JSON lines, as ctp-run -o x.jsonl would have written them: a switch is
// two lines. The lines of version-1 stations follow.
#include <errno.h>
#include <stdlib.h>

#include "analyze/format/format.h"
#include "codec/jsonl.h"
#include "ctp/late.h"
#include "trace/transitions.h"

#define BUFFER_BYTES (64u << 10)

struct lines_out {
	FILE *to;
	size_t used;
	uint32_t options; // of the regions
	char buffer[BUFFER_BYTES];
};

static void flush(struct lines_out *o)
{
	fwrite(o->buffer, 1, o->used, o->to);
	o->used = 0;
}

static char *room(struct lines_out *o)
{
	if (o->used + 2 * CTP_JSONL_MAX > BUFFER_BYTES)
		flush(o);
	return o->buffer + o->used;
}

static size_t station(char *out, const struct transition *m)
{
	bool active = m->to != NULL;
	struct ctp_jsonl_line l = {active ? m->b : m->a,
				   m->tid,
				   m->pc,
				   2 * (active ? m->to_n : m->from_n),
				   m->ns,
				   active,
				   .is_station = true,
				   .station_probe_id = m->station_probe_id};
	return ctp_jsonl_format(out, &l);
}

static int take(void *arg, const struct transition *m)
{
	struct lines_out *o = arg;
	if (m->kind == CTP_EV_STATION)
		o->used += station(room(o), m);
	else if (m->kind == CTP_EV_SWITCH)
		o->used += ctp_jsonl_switch(room(o), m->merged, m->ns, transitions_pc(m),
					    ctp_time_is_late(o->options, m->merged->event.time));
	else
		ctp_jsonl_other(m->merged);
	return 0;
}

int format_jsonl(FILE *to, const struct report *report, const struct format_settings *settings)
{
	const struct world *w = report->world;
	struct lines_out *o = malloc(sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->to = to;
	o->used = 0;
	o->options = w->nimages ? w->images[0].ext.options : 0;
	int r = transitions_walk(w, take, o);
	flush(o);
	free(o);
	return r;
}

const char *format_jsonl_refuses(const struct world *w, const struct format_settings *settings)
{
	(void)settings;
	if (w->form == WORLD_CORE)
		return "a core file has no history: the state changes are in the trace directory";
	return w->form == WORLD_LINES ? "these are JSON lines already; copy them, or give a trace directory" :
					NULL;
}
