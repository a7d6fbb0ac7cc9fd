// SPDX-License-Identifier: MIT
#include "analyze/case/hub_name.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

const char *hub_name(const struct set_circle_wait *w, struct results *out)
{
	if (!w->name)
		return results_text(out, "0x%" PRIx64, w->hub);
	size_t n = strcspn(w->name, "+");
	char *symbol = strndup(w->name, n), *plain = symbol ? demangle(symbol) : NULL;
	const char *name = plain ? results_text(out, "%s%s", plain, w->name + n) : w->name;
	free(symbol);
	free(plain);
	return name;
}
