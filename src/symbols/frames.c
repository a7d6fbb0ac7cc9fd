// SPDX-License-Identifier: MIT
//
// Turns stacks into frames with names. Frames of libctp.so are left out here for every
// format: they are not the program's, and would change fingerprints with each version.
#include "symbols/frames.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "symbols/name.h"

static bool is_ours(const struct frames_own *own, const struct symbols_frame *f)
{
	return (f->pc >= own->start && f->pc < own->end) ||
	       (f->module && !strncmp(file_base(f->module), "libctp.so", 9));
}

int frames_add(struct frames *f, struct symbols *s, const struct frames_own *own, const uint64_t *pcs,
	       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct symbols_place place;
		int r = symbols_find(s, pcs[i], true, &place);
		size_t first = f->flags & FRAMES_OUTERMOST && !r ? symbols_coroutine(&place) : 0;
		size_t end = f->flags & FRAMES_OUTERMOST && first < place.n ? first + 1 : place.n;
		for (size_t k = first; !r && k < end; k++) {
			if (is_ours(own, &place.frames[k]))
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
	*f = (struct frames){0};
}

const struct symbols_frame *frames_entry(struct symbols *s, uint64_t pc)
{
	struct symbols_place place;
	if (!pc || symbols_find(s, pc, false, &place) || !place.n)
		return NULL;
	return &place.frames[symbols_coroutine(&place)];
}

// Is it the "()" of "operator()" itself, which no argument list follows?
static bool is_call_operator(const char *name, size_t at)
{
	return !strcmp(name + at, "()") && at >= 8 && !memcmp(name + at - 8, "operator", 8);
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
			return i == 0 || is_call_operator(name, i) ? n : i; // "(anonymous namespace)::f"
		else if (!depth && (name[i] == '>' || name[i] == ':'))
			return n;
	}
	return n;
}

const char *frames_name(const struct symbols_frame *f, char *buf, size_t bytes)
{
	char *name = f && f->symbol ? strndup(f->symbol, without_arguments(f->symbol)) : NULL;
	if (!name)
		return frames_whole_name(f, buf, bytes);
	name_shorten(name);
	snprintf(buf, bytes, "%s", name);
	free(name);
	return buf;
}

const char *frames_whole_name(const struct symbols_frame *f, char *buf, size_t bytes)
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
	static const char *const known[] = {"libc.so",   "libc-",     "libpthread", "ld-linux", "ld-musl",
					    "libstdc++", "libgcc_s",  "libasan",    "libtsan",  "libboost_",
					    "libst.so",  "libpth.so", "[vdso]"};
	const char *base = f->module ? file_base(f->module) : "";
	if (f->file && (!strncmp(f->file, "/usr/include/", 13) || !strncmp(f->file, "/usr/lib/gcc/", 13)))
		return true; // instantiated in the program's own object
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(base, known[i], strlen(known[i])))
			return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_place(const struct symbols_frame *a, const struct symbols_frame *b)
{
	bool named = a->symbol && b->symbol;
	return named ? !strcmp(a->symbol, b->symbol) && a->line == b->line && same_text(a->file, b->file) :
		       a->pc == b->pc;
}

size_t frames_cycle(const struct frames *f, size_t at, size_t *period)
{
	enum { PERIOD_MOST = 6, TIMES_LEAST = 3 };
	for (size_t p = 1; p <= PERIOD_MOST; p++) {
		size_t same = 0;
		while (at + p + same < f->n && same_place(f->items[at + same], f->items[at + p + same]))
			same++;
		if (same / p + 1 >= TIMES_LEAST) {
			*period = p;
			return same / p + 1;
		}
	}
	*period = 1;
	return 1;
}

const struct symbols_frame *frames_first_own(const struct frames *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (!frames_is_library(f->items[i]))
			return f->items[i];
	return f->n ? f->items[0] : NULL;
}

const char *frames_path(const struct symbols_frame *f)
{
	static const char *const none = "";
	char here[4096];
	size_t n;
	if (!f->file)
		return none;
	if (getcwd(here, sizeof(here)) && (n = strlen(here)) > 1 && !strncmp(f->file, here, n) &&
	    f->file[n] == '/')
		return f->file + n + 1;
	if (f->dir && (n = strlen(f->dir)) > 1 && !strncmp(f->file, f->dir, n) && f->file[n] == '/')
		return f->file + n + 1;
	return f->file;
}

const char *frames_place(const struct symbols_frame *f, char *buf, size_t bytes)
{
	enum { PATH_COLUMNS = 40 };
	const char *path = frames_path(f), *cut = path;
	while (strlen(cut) > PATH_COLUMNS && strchr(cut + 1, '/'))
		cut = strchr(cut + 1, '/');
	const char *mark = cut == path ? "" : "…"; // what is left of it begins at no root
	if (f->file)
		snprintf(buf, bytes, "%s%s:%d", mark, cut, f->line);
	else
		*buf = 0;
	return buf;
}
