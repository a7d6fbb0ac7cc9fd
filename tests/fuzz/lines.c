// SPDX-License-Identifier: MIT
//
// JSON lines, as a trace.
#include "analyze/format/format.h"
#include "fuzz.h"
#include "trace/transitions.h"

const char fuzz_name[] = "lines";

static int no_move(void *arg, const struct transition *m)
{
	++*(unsigned *)arg;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct report_settings settings = { 0 };
	struct world_error error;
	struct world w;
	unsigned moves = 0;
	char note[FORMAT_NOTE] = "";
	if (world_open(&w, fuzz_file("trace.jsonl", data, size), 0, NULL, &error))
		return 0;
	transitions_walk(&w, no_move, &moves);
	for (const struct format *f = formats; f->name; f++) {
		struct report r = { .world = &w };
		struct format_settings how = { .note = note };
		int e = f->is & FORMAT_REPORT ? report_make(&r, &w, &settings) : 0;
		if (!e && !(f->refuses && f->refuses(&w, &how)))
			f->write(fuzz_nowhere(), &r, &how);
		report_deinit(&r);
	}
	world_close(&w);
	return 0;
}
