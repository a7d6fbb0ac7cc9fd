// SPDX-License-Identifier: MIT
//
// A trace directory: its streams, manifest, tables and the engine's lines, in one input (archive.h). All that is made
// of a trace is made: the report in every format, the history, plain CTF of it, and its difference to itself.
#include <string.h>
#include <sys/stat.h>

#include "analyze/diff/diff.h"
#include "analyze/facts/facts.h"
#include "analyze/format/format.h"
#include "analyze/history/profile.h"
#include "archive.h"
#include "fuzz.h"
#include "trace/expand.h"
#include "trace/transitions.h"

const char fuzz_name[] = "trace";

static int no_move(void *arg, const struct transition *m)
{
	++*(unsigned *)arg;
	return 0;
}

static void write_all(const struct world *w)
{
	const struct report_settings settings = { .minimum = VERDICT_INCONCLUSIVE };
	char note[FORMAT_NOTE] = "";
	for (const struct format *f = formats; f->name; f++) {
		struct report r = { .world = w };
		struct format_settings how = { .full = true, .weight = w->events % 3, .note = note };
		int e = f->is & FORMAT_REPORT ? report_make(&r, w, &settings) : 0;
		if (!e && f->is & FORMAT_REPORT)
			e = facts_make(&r, &settings);
		if (!e && !(f->refuses && f->refuses(w, &how)))
			f->write(fuzz_nowhere(), &r, &how);
		if (!e && f == formats)
			format_tasks_json(fuzz_nowhere(), &r, &how);
		report_deinit(&r);
	}
}

static void compare(const struct world *w)
{
	const struct report_settings settings = { .minimum = VERDICT_INCONCLUSIVE };
	struct diff d;
	int at;
	if (diff_make(&d, w, w, &settings, &at))
		return;
	diff_json(fuzz_nowhere(), &d);
	diff_text(fuzz_nowhere(), &d, false);
	diff_deinit(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char from[160], to[160];
	struct world_error error;
	struct world w;
	unsigned moves = 0;
	snprintf(from, sizeof(from), "%s/trace", fuzz_folder());
	snprintf(to, sizeof(to), "%s/plain", fuzz_folder());
	archive_unpack(data, size, from);
	if (!world_open(&w, from, 0, NULL, &error)) {
		transitions_walk(&w, no_move, &moves);
		write_all(&w);
		compare(&w);
		world_close(&w);
		expand_trace(from, to);
	}
	fuzz_remove(to);
	fuzz_remove(from);
	return 0;
}
