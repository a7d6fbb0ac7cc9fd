// SPDX-License-Identifier: MIT
//
// Maps addresses of a program that ran to function, file and line. Each pc is looked up
// once: a trace has few places however long it is. A pc in no module, or in one whose file
// is missing, is still a frame: module and offset.
#include "symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/grow.h"
#include "base/idmap.h"
#include "base/living.h"
#include "symbols/module.h"
#include "symbols/source.h"

struct place {
	struct module_frames frames;
};

struct moved {
	uint64_t to;
	bool exact;
};

struct symbols {
	struct symbols_module *what;
	struct module **modules;
	size_t n;
	char *symfs;
	char *distrusted; // what lies below came with the trace; NULL: nothing
	struct place *places;
	size_t nplaces, capacity;
	struct idmap by_pc;
	uint32_t stack; // that addresses are of
	struct symbols_frame *given;
	uint64_t given_base;
	size_t ngiven;
	struct moved *moved;
	size_t nmoved, moved_room;
	struct idmap moved_by_pc;
};

bool symbols_root(pid_t pid, char out[SYMBOLS_ROOT])
{
	struct stat mine, its;
	snprintf(out, SYMBOLS_ROOT, "/proc/%d/ns/mnt", (int)living_of(pid));
	if (stat("/proc/self/ns/mnt", &mine) || stat(out, &its) || mine.st_ino == its.st_ino)
		return false;
	snprintf(out, SYMBOLS_ROOT, "/proc/%d/root", (int)living_of(pid));
	return true;
}

int symbols_new(struct symbols **out, const struct symbols_module *modules, size_t n, const char *symfs)
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
	free(s->given);
	free(s->moved);
	idmap_deinit(&s->moved_by_pc);
	idmap_deinit(&s->by_pc);
	free(s->modules);
	free(s->what);
	free(s->symfs);
	free(s->distrusted);
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

static int find_new(struct symbols *s, uint64_t pc, uint64_t address, size_t module,
		    struct module_frames *out)
{
	if (module < s->n)
		return module_find(s->modules[module], address, pc, out);
	int r = GROW(out->items, out->n, out->capacity);
	if (!r)
		out->items[out->n++] = (struct symbols_frame){.pc = pc, .offset = pc};
	return r;
}

int symbols_given(struct symbols *s, uint64_t base, const struct symbols_frame *frames, size_t n)
{
	struct symbols_frame *copy = calloc(n ? n : 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, frames, n * sizeof(*copy));
	free(s->given);
	s->given = copy;
	s->given_base = base;
	s->ngiven = n;
	return 0;
}

int symbols_moved(struct symbols *s, uint64_t pc, uint64_t to, bool exact)
{
	int r = GROW(s->moved, s->nmoved, s->moved_room);
	if (!r)
		r = idmap_set(&s->moved_by_pc, pc, (uint32_t)s->nmoved);
	if (!r)
		s->moved[s->nmoved++] = (struct moved){to, exact};
	return r;
}

static const struct moved *moved_at(const struct symbols *s, uint64_t pc)
{
	uint32_t at = s->nmoved ? idmap_get(&s->moved_by_pc, pc) : IDMAP_NONE;
	return at == IDMAP_NONE ? NULL : &s->moved[at];
}

bool symbols_near(const struct symbols *s, uint64_t pc)
{
	const struct moved *m = moved_at(s, pc);
	return m && !m->exact;
}

int symbols_find(struct symbols *s, uint64_t pc, bool is_return, struct symbols_place *out)
{
	if (pc - s->given_base < s->ngiven) {
		*out = (struct symbols_place){&s->given[pc - s->given_base], 1};
		return 0;
	}
	const struct moved *m = is_return ? moved_at(s, pc) : NULL;
	pc = m ? m->to : pc;
	uint64_t address = pc - (is_return && pc);
	size_t module = module_of(s, address);
	uint64_t key = (pc << 1 | is_return) ^ (uint64_t)module << 50;
	uint32_t at = idmap_get(&s->by_pc, key);
	if (at == IDMAP_NONE) {
		int r = GROW(s->places, s->nplaces, s->capacity);
		if (r)
			return r;
		struct place p = {0};
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

int symbols_declared(struct symbols *s, uint64_t pc)
{
	size_t module = module_of(s, pc);
	return module < s->n ? module_declared(s->modules[module], pc) : 0;
}

uint64_t symbols_awaits(struct symbols *s, uint64_t pc)
{
	size_t module = module_of(s, pc);
	return module < s->n ? module_awaits(s->modules[module], pc) : 0;
}

uint64_t symbols_promise(struct symbols *s, uint64_t pc)
{
	size_t module = module_of(s, pc);
	return module < s->n ? module_promise(s->modules[module], pc) : 0;
}

size_t symbols_coroutine(const struct symbols_place *p)
{
	for (size_t i = p->n; i-- > 1;)
		if (p->frames[i - 1].symbol && strstr(p->frames[i - 1].symbol, "await_suspend"))
			return i;
	return p->n ? p->n - 1 : 0;
}

const char *symbols_mismatch(const struct symbols *s, size_t i)
{
	for (size_t k = 0; k < s->n; k++)
		if (module_mismatch(s->modules[k]) && i-- == 0)
			return s->what[k].path;
	return NULL;
}

// Whose word is the frame's? It points to the path of its module.
static const struct module *module_told(const struct symbols *s, const struct symbols_frame *f)
{
	for (size_t i = 0; f->module && i < s->n; i++)
		if (s->what[i].path == f->module)
			return s->modules[i];
	return NULL;
}

static bool is_below(const char *path, const char *folder)
{
	size_t n = folder ? strlen(folder) : 0;
	return n && path && !strncmp(path, folder, n) && (path[n] == '/' || folder[n - 1] == '/');
}

char *symbols_source_line(const struct symbols *s, const struct symbols_frame *f)
{
	const struct module *m = module_told(s, f);
	struct source_teller by = {0};
	char *path = NULL, *line = NULL;
	if (!m || !f->file || *f->file != '/' || f->line <= 0 || !f->dir || !strcmp(f->dir, "/"))
		return NULL;
	by.trusted = module_owner(m, &by.owner) && !is_below(module_real_path(m), s->distrusted);
	if (s->symfs && asprintf(&path, "%s%s", s->symfs, f->file) >= 0)
		line = source_line(path, f->line, &by);
	free(path);
	return line ? line : source_line(f->file, f->line, &by);
}

int symbols_distrust(struct symbols *s, const char *folder)
{
	free(s->distrusted);
	s->distrusted = realpath(folder, NULL);
	return s->distrusted || errno != ENOMEM ? 0 : -ENOMEM;
}
