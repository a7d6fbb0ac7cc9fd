// SPDX-License-Identifier: MIT
//
// placed.h - the tables of tables.h with stacks whose frames have names: each pc of a stack is the number of a frame.
#pragma once

#include "analyze/facts/place.h"
#include "tables.h"

enum { PLACED_STACKS = 16, PLACED_FRAMES = 8 };

struct placed {
	struct tables t;
	struct report r;
	uint32_t indices[PLACED_STACKS];
	uint64_t words[PLACED_STACKS][1 + PLACED_FRAMES];
	struct ctp_site sites[PLACED_STACKS];
};

static inline void placed_init(struct placed *p, const struct symbols_frame *frames, size_t n)
{
	memset(p, 0, sizeof(*p));
	tables_init(&p->t);
	p->t.image.stack_index = TABLES_OF(p->indices, PLACED_STACKS);
	p->t.image.stack_index.indexed = false;
	p->t.image.stack_words = (struct table){.rows = (const void *)p->words, .n = sizeof(p->words) / 8, .row_bytes = 8};
	p->t.image.sites = TABLES_OF(p->sites, PLACED_STACKS);
	p->t.image.sites.indexed = false;
	p->r = (struct report){.world = &p->t.world};
	assert(!report_symbols(&p->r, NULL) && !p->r.symbols[0]); // of an image without tables there are none
	p->t.image.has_tables = true;
	assert(!frames_symbols(&p->r.symbols[0], &p->t.world, &p->t.image, NULL));
	assert(!symbols_given(p->r.symbols[0], SCRIPT_PC, frames, n));
}

// Stack `id` has these frames, innermost first; 0 ends them.
static inline void placed_stack(struct placed *p, uint32_t id, const uint64_t frames[PLACED_FRAMES])
{
	uint32_t n = 0;
	while (n < PLACED_FRAMES && frames[n]) {
		p->words[id][1 + n] = SCRIPT_PC + frames[n];
		n++;
	}
	p->words[id][0] = n;
	p->indices[id] = 1 + id * (1 + PLACED_FRAMES);
}

static inline void placed_close(struct placed *p)
{
	free(p->r.shared);
	results_deinit(&p->r.results);
	symbols_free(p->r.symbols[0]);
	free(p->r.symbols);
	tables_close(&p->t);
}
