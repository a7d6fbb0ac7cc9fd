// SPDX-License-Identifier: MIT
//
// An object file with its debug information: functions, files and lines of addresses all over it.
#include <stdlib.h>

#include "fuzz.h"
#include "symbols/frames.h"

const char fuzz_name[] = "elf";

enum { BASE = 0x10000, LOOKS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_file("module", data, size);
	const struct symbols_module m = { .path = path, .base = BASE, .start = BASE, .end = BASE + (1 << 20) };
	char name[256];
	struct symbols *s;
	if (symbols_new(&s, &m, 1, NULL))
		return 0;
	for (uint64_t i = 0; i < LOOKS; i++) {
		struct frames f = { 0 };
		const uint64_t pc = BASE + (i < 48 ? 0x1000 + i * 16 : (i - 48) * 0x400);
		if (!frames_add(&f, s, &(struct frames_own){ 0 }, &pc, 1))
			for (size_t k = 0; k < f.n; k++) {
				frames_name(f.items[k], name, sizeof(name));
				frames_entry_name(f.items[k], NULL, name, sizeof(name));
				frames_place(f.items[k], name, sizeof(name));
				free(symbols_source_line(s, f.items[k]));
			}
		frames_deinit(&f);
	}
	symbols_free(s);
	return 0;
}
