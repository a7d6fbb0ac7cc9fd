// SPDX-License-Identifier: MIT
//
// A core file, as ctp-ps reads it: stacks are walked in what it holds of the memory.
#include "fuzz.h"
#include "ps/model/report.h"

const char fuzz_name[] = "core_ps";

static void show(struct found *f, const struct report_wants *wants)
{
	struct report r;
	if (report_make(&r, f, wants))
		return;
	text_write(fuzz_nowhere(), &r, false);
	json_write(fuzz_nowhere(), &r);
	report_deinit(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct found f;
	const char *why = NULL;
	if (find_core(fuzz_file("core", data, size), &f, &why))
		return 0;
	show(&f, &(struct report_wants){ .all = true, .whole = true, .why = true });
	show(&f, &(struct report_wants){ .tree = true });
	find_release(&f);
	return 0;
}
