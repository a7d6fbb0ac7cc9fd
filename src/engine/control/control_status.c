// SPDX-License-Identifier: MIT
//
// What ctp-ctl status shows, from the counters of the rings and of the writer: no table is walked.
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "engine/record/tree.h"
#include "engine/control/control.h"
#include "engine/session/pause.h"

static const char *way(const struct session *s)
{
	uint32_t options = s->first.region.ext->options;
	return options & CTP_OPT_ATTACH ? "attached" : options & CTP_OPT_SELF ? "preloaded" : "started";
}

static json_t *output(const struct session *s)
{
	const struct output *o = &s->recorder.output;
	char link[40], path[PATH_MAX];
	struct stat st;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", o->fd);
	ssize_t n = readlink(link, path, sizeof(path) - 1);
	path[n > 0 ? n : 0] = '\0';
	uint64_t bytes = o->jsonl && !fstat(o->fd, &st) ? (uint64_t)st.st_blocks * 512 : tree_bytes(o->fd);
	return json_pack("{s:o, s:s, s:o, s:o}", "path", json_text(n > 0 ? path : o->path), "format",
			 o->jsonl ? "jsonl" : "directory", "bytes", json_count(bytes), "max_bytes",
			 json_count(s->options->max_bytes));
}

static json_t *recording(const struct session *s)
{
	char begun[IDENTITY_TIME_TEXT];
	uint64_t now = clock_mono_ns(), start = s->recorder.clock.ns0;
	identity_time_text(&s->recorder.identity, begun);
	return json_pack("{s:s, s:s, s:o, s:o, s:o, s:o}", "state", pause_lasts(s) ? "stopped" : "on",
			 "since", begun, "ns", json_count(now > start ? now - start : 0), "stops",
			 json_count(s->pauses.times + pause_lasts(s)), "stopped_ns",
			 json_count(pause_total_ns(s)), "not_recorded",
			 json_count(s->recorder.writer->not_recorded));
}

json_t *control_status(struct session *s)
{
	const struct process *p = session_first(s);
	const struct manifest *m = &s->recorder.manifest;
	struct harvest_sums sums = session_sum(s);
	unsigned alive = 0;
	for (size_t i = 0; i < s->n_processes; i++)
		alive += !s->processes[i]->ended;
	const char *name = m->command && m->command[0] ? m->command[0] : p->about.exe;
	return json_pack("{s:i, s:o, s:s, s:i, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "pid", (int)p->pid, "program", json_text(name), "way", way(s), "ctp_run",
			 (int)getpid(), "ctp", CTP_TOOL_VERSION, "processes", (int)alive, "recording",
			 recording(s), "coroutines", json_count(sums.created), "threads",
			 json_count(sums.threads), "switches", json_count(sums.switches), "records",
			 json_count(s->recorder.writer->records), "events",
			 json_count(s->recorder.writer->events), "lost",
			 json_count(sums.lost + session_uprobes_lost(s)), "output", output(s), "flight_bytes",
			 s->options->flight_bytes ? json_count(s->options->flight_bytes) : json_null(),
			 "event_list", s->events->text ? json_text(s->events->text) : json_null());
}
