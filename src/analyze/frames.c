// SPDX-License-Identifier: MIT
//
// Stacks of an image as frames with names. What a reader never wants is left
// out here, for every format: the frames of libctp.so, which are not the
// program's and would change fingerprints with each version of ctp.
#include "analyze/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/grow.h"

int frames_symbols(struct symbols **out, const struct image *m, const char *symfs)
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
			.path = from->path, .base = from->base, .start = from->start, .end = from->end,
			.build_id = from->build_id,
			.build_id_len = from->build_id_len <= sizeof(from->build_id) ?
						from->build_id_len : 0,
		};
	}
	int r = symbols_new(out, all, n, symfs);
	free(all);
	return r;
}

static bool is_ours(const struct image *m, const struct symbols_frame *f)
{
	return (f->pc >= m->ext.self_base && f->pc < m->ext.self_end) ||
	       (f->module && !strncmp(file_base(f->module), "libctp.so", 9));
}

int frames_read(struct frames *f, struct symbols *s, const struct image *m, uint32_t stack)
{
	unsigned n;
	const uint64_t *pcs = image_stack(m, stack, &n, &f->flags);
	f->captured = n > 0;
	for (unsigned i = 0; i < n; i++) {
		struct symbols_place place;
		int r = symbols_find(s, pcs[i], true, &place);
		for (size_t k = 0; !r && k < place.n; k++) {
			if (is_ours(m, &place.frames[k]))
				continue;
			r = GROW(f->items, f->n, f->capacity);
			if (!r)
				f->items[f->n++] = &place.frames[k];
		}
		if (r)
			return r;
	}
	return 0;
}

void frames_deinit(struct frames *f)
{
	free(f->items);
	*f = (struct frames){ 0 };
}

const struct symbols_frame *frames_entry(struct symbols *s, uint64_t pc)
{
	struct symbols_place place;
	if (!pc || symbols_find(s, pc, false, &place) || !place.n)
		return NULL;
	return &place.frames[place.n - 1];
}

// Where a C++ function's argument list begins: the last top-level parentheses,
// with nothing but qualifiers behind them. A plain C name has none.
static size_t without_arguments(const char *name)
{
	size_t n = strlen(name), depth = 0;
	for (size_t i = n; i-- > 0;) {
		if (name[i] == ')')
			depth++;
		else if (name[i] == '(' && depth && !--depth)
			return i ? i : n; // "(anonymous namespace)::f"
		else if (!depth && (name[i] == '>' || name[i] == ':'))
			return n;
	}
	return n;
}

const char *frames_name(const struct symbols_frame *f, char *buf, size_t bytes)
{
	if (!f)
		snprintf(buf, bytes, "?");
	else if (f->symbol)
		snprintf(buf, bytes, "%.*s", (int)without_arguments(f->symbol), f->symbol);
	else if (f->module)
		snprintf(buf, bytes, "%s+0x%" PRIx64, file_base(f->module), f->offset);
	else
		snprintf(buf, bytes, "0x%" PRIx64, f->pc);
	return buf;
}

bool frames_is_library(const struct symbols_frame *f)
{
	static const char *const known[] = { "libc.so", "libc-", "libpthread", "ld-linux", "ld-musl",
					     "libstdc++", "libgcc_s", "libasan", "libtsan", "[vdso]" };
	const char *base = f->module ? file_base(f->module) : "";
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(base, known[i], strlen(known[i])))
			return true;
	return false;
}
