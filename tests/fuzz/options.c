// SPDX-License-Identifier: MIT
//
// ctp-run's command line: words, each ended by a newline.
#include "engine/start/options.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char fuzz_name[] = "options";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { WORDS = 64 };
	char *words[WORDS + 1] = { "ctp-run" }, *text = malloc(size + 1), *rest;
	int n = 1;
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	for (char *w = strtok_r(text, "\n", &rest); w && n < WORDS; w = strtok_r(NULL, "\n", &rest))
		words[n++] = w;
	struct options o = { 0 };
	options_parse(&o, n, words);
	options_deinit(&o);
	free(text);
	return 0;
}
