// SPDX-License-Identifier: MIT
//
// ctp-analyze's command line: words, each ended by a newline.
#include "analyze/settings.h"

#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

const char fuzz_name[] = "settings";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { WORDS = 64 };
	char *words[WORDS + 1] = { "ctp-analyze" }, *text = malloc(size + 1), *rest, why[256];
	static struct settings s;
	int n = 1;
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = 0;
	for (char *w = strtok_r(text, "\n", &rest); w && n < WORDS; w = strtok_r(NULL, "\n", &rest))
		words[n++] = w;
	memset(&s, 0, sizeof(s));
	struct options_result r = settings_read(&s, n, words);
	if (r.error)
		options_say(&r, fuzz_nowhere());
	else if (!settings_wrong(&s, why, sizeof(why)))
		settings_idle(&s);
	free(text);
	return 0;
}
