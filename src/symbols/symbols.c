// SPDX-License-Identifier: MIT
//
// Addresses of a program that ran -> function, file, line. Each pc is looked
// up once: a trace has few places however long it is. A pc in no module, or
// in one whose file is not here, is still a frame: module and offset.
#include "symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "symbols/module.h"

struct place {
	struct module_frames frames;
};

struct symbols {
	struct symbols_module *what;
	struct module **modules;
	size_t n;
	char *symfs;
	struct place *places;
	size_t nplaces, capacity;
	struct idmap by_pc;
	uint32_t stack; // that addresses are of
};

int symbols_new(struct symbols **out, const struct symbols_module *modules, size_t n,
		const char *symfs)
{
	struct symbols *s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	int r = 0;
	s->stack = SYMBOLS_LAST;
	s->what = calloc(n ? n : 1, sizeof(*s->what));
	s->modules = calloc(n ? n : 1, sizeof(*s->modules));
	s->symfs = symfs ? strdup(symfs) : NULL;
	if (!s->what || !s->modules || (symfs && !s->symfs))
		r = -ENOMEM;
	for (size_t i = 0; !r && i < n; i++) {
		s->what[i] = modules[i];
		r = module_new(&s->modules[i], &modules[i], symfs);
		s->n++;
	}
	if (r)
		symbols_free(s);
	else
		*out = s;
	return r;
}

void symbols_free(struct symbols *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n; i++)
		module_free(s->modules[i]);
	for (size_t i = 0; i < s->nplaces; i++)
		module_frames_deinit(&s->places[i].frames);
	free(s->places);
	idmap_deinit(&s->by_pc);
	free(s->modules);
	free(s->what);
	free(s->symfs);
	free(s);
}

void symbols_as_of(struct symbols *s, uint32_t stack)
{
	s->stack = stack;
}

// The module mapped last before the stack was taken: what it replaced was unmapped before. s->n: none.
static size_t module_of(const struct symbols *s, uint64_t address)
{
	for (size_t i = s->n; i-- > 0;)
		if (address >= s->what[i].start && address < s->what[i].end && s->what[i].since <= s->stack)
			return i;
	return s->n;
}

static int find_new(struct symbols *s, uint64_t pc, uint64_t address, size_t module, struct module_frames *out)
{
	if (module < s->n)
		return module_find(s->modules[module], address, pc, out);
	int r = GROW(out->items, out->n, out->capacity);
	if (!r)
		out->items[out->n++] = (struct symbols_frame){ .pc = pc, .offset = pc };
	return r;
}

int symbols_find(struct symbols *s, uint64_t pc, bool is_return, struct symbols_place *out)
{
	uint64_t address = pc - (is_return && pc);
	size_t module = module_of(s, address);
	uint64_t key = (pc << 1 | is_return) ^ (uint64_t)module << 50;
	uint32_t at = idmap_get(&s->by_pc, key);
	if (at == IDMAP_NONE) {
		int r = GROW(s->places, s->nplaces, s->capacity);
		if (r)
			return r;
		struct place p = { 0 };
		r = find_new(s, pc, address, module, &p.frames);
		if (!r)
			r = idmap_set(&s->by_pc, key, (uint32_t)s->nplaces);
		if (r) {
			module_frames_deinit(&p.frames);
			return r;
		}
		at = (uint32_t)s->nplaces;
		s->places[s->nplaces++] = p;
	}
	out->frames = s->places[at].frames.items;
	out->n = s->places[at].frames.n;
	return 0;
}

const char *symbols_mismatch(const struct symbols *s, size_t i)
{
	for (size_t k = 0; k < s->n; k++)
		if (module_mismatch(s->modules[k]) && i-- == 0)
			return s->what[k].path;
	return NULL;
}

char *symbols_source_line(const struct symbols *s, const struct symbols_frame *f)
{
	char *path = NULL, *line = NULL;
	if (!f->file || f->line <= 0 ||
	    asprintf(&path, "%s%s%s", s->symfs ? s->symfs : "", s->symfs ? "/" : "", f->file) < 0)
		return NULL;
	FILE *file = fopen(path, "re");
	if (!file && s->symfs)
		file = fopen(f->file, "re");
	free(path);
	size_t room = 0;
	ssize_t n = -1;
	for (int i = 0; file && i < f->line; i++)
		if ((n = getline(&line, &room, file)) < 0)
			break;
	if (file)
		fclose(file);
	while (n > 0 && strchr(" \t\r\n", line[n - 1]))
		line[--n] = 0;
	size_t skip = n > 0 ? strspn(line, " \t") : 0;
	char *out = n > 0 ? strdup(line + skip) : NULL;
	free(line);
	return out;
}
