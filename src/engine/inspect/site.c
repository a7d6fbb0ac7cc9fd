// SPDX-License-Identifier: MIT
//
// The region is the program's to write: every number out of it is bounded by our own layout.
#include "engine/inspect/site.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "ctp/seq.h"

size_t site_pcs(const struct ctp_region *r, uint32_t stack, uint64_t *pcs, size_t max)
{
	uint32_t at = stack && stack < r->stacks_max ? ctp_load32(&r->stack_index[stack]) : 0;
	if (!at || at >= r->stack_words_max)
		return 0;
	size_t n = (uint32_t)r->stack_words[at - 1], room = r->stack_words_max - at; // the pcs follow
	n = n < room ? n : room;
	n = n < max ? n : max;
	memcpy(pcs, &r->stack_words[at], n * sizeof(*pcs));
	return n;
}

void site_name(const struct ctp_region *r, uint64_t pc, char *out, size_t bytes)
{
	uint32_t n = ctp_load32(&r->ext->module_count);
	*out = 0;
	for (uint32_t i = 0; pc && i < n && i < r->modules_max; i++) {
		const struct ctp_module *m = &r->modules[i];
		char path[sizeof(m->path)];
		if (!ctp_load32((uint32_t *)&m->ready) || pc < m->start || pc >= m->end)
			continue;
		snprintf(path, sizeof(path), "%.*s", (int)sizeof(m->path) - 1, m->path);
		snprintf(out, bytes, "%.100s+0x%" PRIx64, file_base(path), pc - m->base);
	}
}
