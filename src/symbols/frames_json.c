// SPDX-License-Identifier: MIT
//
// Frames as JSON, the same in every report. Keys may be added; none changes or is removed.
#include "symbols/frames_json.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/json.h"

json_t *frames_json_one(const struct symbols_frame *f)
{
	char pc[24], offset[24];
	if (!f)
		return json_null();
	snprintf(pc, sizeof(pc), "0x%" PRIx64, f->pc);
	snprintf(offset, sizeof(offset), "0x%" PRIx64, f->offset);
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:s, s:b}", "pc", pc, "module", json_text(f->module),
			 "symbol", json_text(f->symbol), "file", json_text(f->file), "line",
			 f->line ? json_integer(f->line) : json_null(), "offset", offset, "inlined",
			 f->inlined);
}

json_t *frames_json(const struct frames *f)
{
	if (!f->captured)
		return json_null();
	json_t *a = json_array();
	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(a, frames_json_one(f->items[i]));
	return a;
}
