// SPDX-License-Identifier: MIT
//
// Texts of the program's and the kernel's: names, mappings, what is shown of them.
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/maps.h"
#include "base/text.h"
#include "base/uri.h"
#include "engine/target/proc.h"
#include "fuzz.h"
#include "symbols/demangle.h"
#include "symbols/frames.h"
#include "symbols/name.h"
#include "symbols/source.h"

const char fuzz_name[] = "text";

static void names(char *s)
{
	char small[40], large[300];
	const struct symbols_frame f = { .symbol = s, .module = s, .file = s, .dir = "/a/b", .line = 1 };
	free(demangle(s));
	frames_name(&f, small, sizeof(small));
	frames_whole_name(&f, large, sizeof(large));
	frames_entry_name(&f, NULL, large, sizeof(large));
	frames_place(&f, large, sizeof(large));
	text_fit(small, sizeof(small), s, 20);
	uri_of_path(s, small, sizeof(small));
	free(file_join("/a/../b", s));
	free(file_join(NULL, s));
	source_is_name(s);
	text_show(fuzz_nowhere(), s, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct maps_line line;
	char *s = malloc(size + 1), *again = malloc(size + 1);
	if (s && again) {
		memcpy(s, data, size);
		s[size] = 0;
		memcpy(again, s, size + 1);
		proc_field(s, "SigCgt:", 16);
		names(s);
		name_shorten(s);
		text_clean(s);
		maps_parse(again, &line);
	}
	free(again);
	free(s);
	return 0;
}
