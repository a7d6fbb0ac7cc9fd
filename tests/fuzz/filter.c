// SPDX-License-Identifier: MIT
//
// Files that a report is held against: an older report (the first byte is 'b') or suppressions.
#include <string.h>

#include "analyze/report/finding.h"
#include "builder.h"
#include "fuzz.h"

const char fuzz_name[] = "filter";

// A trace with a finding; once in each process.
static struct world *world(void)
{
	static struct world w;
	static struct builder b;
	struct world_error error;
	char path[160];
	if (w.path)
		return &w;
	snprintf(path, sizeof(path), "%s/trace", fuzz_folder());
	builder_begin(&b, path);
	builder_self(&b);
	struct ctp_state *c = builder_coroutine(&b, 41, CTP_SUSPENDED);
	builder_fd(&b, 7, 3, CTP_FD_OPEN);
	builder_wait(c, 7, 3, 1007);
	c->stack = builder_stack(&b, 1, (uint64_t[]){ (uint64_t)(uintptr_t)world + 5 });
	builder_close(&b, 7, 12, BUILDER_START + 2600000);
	builder_look(&b, c, 7, 3, BUILDER_START + 3000000000ULL, "++++++?", NULL);
	return builder_end(&b) || world_open(&w, path, 0, NULL, &error) ? NULL : &w;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct world *w = world();
	if (!size || !w)
		return 0;
	const char *file = fuzz_file("filter", data + 1, size - 1), *at;
	const struct report_settings settings = { .baseline = *data == 'b' ? file : NULL, .suppress = *data == 'b' ? NULL : file };
	static struct report r; // that of all: what it finds stays the same until a suppression takes it away
	if (!r.world && report_make(&r, w, &settings))
		return 0;
	report_filter(&r, &settings, &at);
	if (*data != 'b') {
		report_deinit(&r);
		r = (struct report){ 0 };
	}
	return 0;
}
