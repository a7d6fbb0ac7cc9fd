// SPDX-License-Identifier: MIT
//
// A core file, as ctp-analyze reads it: the region, its tables, a report of them.
#include "analyze/format/format.h"
#include "fuzz.h"

const char fuzz_name[] = "core";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct report_settings settings = { .minimum = VERDICT_INCONCLUSIVE };
	struct world_error error;
	struct world w;
	char note[FORMAT_NOTE] = "";
	struct format_settings how = { .full = true, .note = note };
	if (world_open(&w, fuzz_file("core", data, size), 0, NULL, &error))
		return 0;
	struct report r = { .world = &w };
	if (!report_make(&r, &w, &settings)) {
		format_text(fuzz_nowhere(), &r, &how);
		format_json(fuzz_nowhere(), &r, &how);
	}
	report_deinit(&r);
	world_close(&w);
	return 0;
}
