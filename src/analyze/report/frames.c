// SPDX-License-Identifier: MIT
//
// The stacks of an image as frames.
#include "analyze/report/frames.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

// The functions of scripts that the image's stacks have.
static int give_scripts(struct symbols *s, const struct image *m)
{
	struct symbols_frame *all = m->scripts.n ? calloc(m->scripts.n, sizeof(*all)) : NULL;
	if (!all)
		return m->scripts.n ? -ENOMEM : 0;
	for (size_t i = 0; i < m->scripts.n; i++) {
		const struct script_frame *f = &m->scripts.v[i];
		all[i] = (struct symbols_frame){.pc = f->at,
						.offset = f->at,
						.symbol = f->name,
						.file = f->file,
						.line = (int)f->line};
	}
	int r = symbols_given(s, SCRIPT_PC, all, m->scripts.n);
	free(all);
	return r;
}

int frames_symbols(struct symbols **out, const struct world *w, const struct image *m, const char *symfs)
{
	size_t n = 0;
	struct symbols_module *all = calloc(m->modules.n ? m->modules.n : 1, sizeof(*all));
	if (!all)
		return -ENOMEM;
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct ctp_module *from = table_row(&m->modules, i);
		if (!memchr(from->path, 0, sizeof(from->path)))
			continue;
		all[n++] = (struct symbols_module){
			.path = from->path,
			.base = from->base,
			.start = from->start,
			.end = from->end,
			.since = from->since,
			.build_id = from->build_id,
			.build_id_len = from->build_id_len <= sizeof(from->build_id) ? from->build_id_len : 0,
		};
	}
	int r = symbols_new(out, all, n, symfs);
	free(all);
	if (r)
		return r;
	r = w->form == WORLD_DIRECTORY ? symbols_distrust(*out, w->path) : 0;
	r = r ? r : give_scripts(*out, m);
	if (r) {
		symbols_free(*out);
		*out = NULL;
	}
	return r;
}

_Static_assert(SLICES_OUTERMOST == FRAMES_OUTERMOST, "one flag");

int frames_read(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack)
{
	const struct frames_own own = {m->ext.self_base, m->ext.self_end};
	unsigned n;
	const uint64_t *pcs = image_stack(m, stack, &n, &f->flags);
	f->captured = n > 0;
	symbols_as_of(s, stack);
	int r = frames_add(f, s, &own, pcs, n);
	symbols_as_of(s, SYMBOLS_LAST);
	return r;
}
