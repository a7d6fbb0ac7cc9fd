// SPDX-License-Identifier: MIT
//
// Pages that were never touched are told by pagemap and not read (reading would make them); in private
// mappings that the program cannot write only its own copies count: it may unprotect them again. But of a
// file that was changed since the program began they are read, from the file. Shared mappings are read
// whatever may be done with them here, and so are files that have no name: an untouched page shows
// what is in the file. But holes of shared memory are not, which would become memory by that.
#include "search/memory/memory_walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/search.h"

enum { UNSEEN_MOST = 256 << 20 }; // of shared memory of which nobody says what is in use
enum { PAGE = 4096, CHUNK = 1 << 20, WORD = 8 };

// A file without a name: what is in it can come from nobody but whoever maps it.
static bool nameless(const struct maps_line *m)
{
	static const char gone[] = " (deleted)";
	size_t n = strlen(m->path);
	return m->ino && n > sizeof(gone) && !strcmp(m->path + n - (sizeof(gone) - 1), gone);
}

// Behind the end of a mapped file there is nothing.
static bool may_end(const struct maps_line *m)
{
	bool device = !strncmp(m->path, "/dev/", 5) && strncmp(m->path, "/dev/shm/", 9) &&
		      strncmp(m->path, "/dev/zero", 9);
	bool secret = !strncmp(m->path, "/secretmem", 10);
	return (m->perms[3] == 's' || nameless(m)) && m->ino && *m->path == '/' && !device && !secret;
}

static int fail_late(struct memory_walk *w)
{
	snprintf(w->why, sizeof(w->why), "no time to look through all of its memory");
	return -EAGAIN;
}

// Whether a place of the mapping that is read is a hole of a file that is memory alone.
static bool in_hole(const struct memory_walk *w, const struct maps_line *m, uint64_t at)
{
	off_t off = (off_t)(m->offset + (at - m->lo));
	return w->sparse >= 0 && lseek(w->sparse, off, SEEK_DATA) != off;
}

// The first bytes of what follows. A page that was never touched is not read there, either: where pages
// before the end of a mapping were left out, they are such ones.
static void peek_behind(const struct memory_walk *w, const struct maps_line *of, uint64_t at, uint64_t end,
			unsigned char *to)
{
	const struct maps_line *m = at == of->hi ? memory_map(w->memory, at) : of;
	if (at < end)
		memory_peek(w->memory, at, to, WORD - 1, false);
	else if (at < of->hi && !w->nskip)
		return;
	else if (m && m->ino && !(at < of->hi && in_hole(w, of, at)))
		memory_peek(w->memory, at, to, WORD - 1, false);
	else
		memory_peek_touched(w->memory, at, to, WORD - 1);
}

// Reads [lo, hi), which the caller wants whole.
static int read_span(struct memory_walk *w, const struct maps_line *m, uint64_t lo, uint64_t hi)
{
	bool force = m->perms[0] != 'r';
	while (lo < hi) {
		size_t n = hi - lo < CHUNK ? (size_t)(hi - lo) : CHUNK;
		size_t got = memory_peek(w->memory, lo, w->buffer, n, force);
		if (got < n)
			got += memory_peek(w->memory, lo + got, w->buffer + got, n - got, true);
		if (got < n && !may_end(m)) {
			snprintf(w->why, sizeof(w->why), "memory at 0x%llx (%.60s) cannot be read",
				 (unsigned long long)(lo + got), *m->path ? m->path : "anonymous");
			return -EIO;
		}
		memset(w->buffer + got, 0, MEMORY_WALK_BEHIND);
		if (got == n) // a word may lie across, into another mapping
			peek_behind(w, m, lo + got, hi, w->buffer + got);
		w->piece(w->ctx, w->buffer, got, lo);
		w->bytes += got;
		if (got < n)
			lo = (lo + got + PAGE) & ~(uint64_t)(PAGE - 1);
		else
			lo += n < CHUNK ? n : n - (WORD - 1); // a word may lie across
		if (memory_late(w->memory))
			return fail_late(w);
	}
	return 0;
}

// Leaves out what is to be skipped.
static int read_around(struct memory_walk *w, const struct maps_line *m, uint64_t lo, uint64_t hi)
{
	size_t a = FIRST_NOT(w->nskip, i, w->skip[i].hi <= lo);
	for (; lo < hi; a++) {
		uint64_t end = a < w->nskip && w->skip[a].lo < hi ? w->skip[a].lo : hi;
		int e = end > lo ? read_span(w, m, lo, end) : 0;
		if (e)
			return e;
		lo = a < w->nskip && w->skip[a].lo < hi ? w->skip[a].hi : hi;
	}
	return 0;
}

// Bytes of [lo, hi) that are not to be skipped.
static uint64_t wanted_bytes(const struct memory_walk *w, uint64_t lo, uint64_t hi)
{
	uint64_t n = 0;
	for (size_t a = FIRST_NOT(w->nskip, i, w->skip[i].hi <= lo); lo < hi; a++) {
		bool skip = a < w->nskip && w->skip[a].lo < hi;
		n += skip && w->skip[a].lo <= lo ? 0 : (skip ? w->skip[a].lo : hi) - lo;
		lo = skip ? w->skip[a].hi : hi;
	}
	return n;
}

// [lo, hi) of a mapping, as the file has it: up to its end.
static int read_from_file(struct memory_walk *w, const struct maps_line *m, int file, uint64_t lo,
			  uint64_t hi)
{
	while (lo < hi) {
		size_t n = hi - lo < CHUNK ? (size_t)(hi - lo) : CHUNK;
		ssize_t got = pread(file, w->buffer, n, (off_t)(m->offset + (lo - m->lo)));
		if (got <= 0)
			return got < 0 ? -EIO : 0;
		memset(w->buffer + got, 0, MEMORY_WALK_BEHIND);
		w->piece(w->ctx, w->buffer, (size_t)got, lo);
		w->bytes += (size_t)got;
		lo += (size_t)got < CHUNK ? (size_t)got : CHUNK - (WORD - 1); // a word may lie across
		if (memory_late(w->memory))
			return fail_late(w);
	}
	return 0;
}

// Of the pages from `at` on: the first that is not to be skipped as a whole; *end: up to where none is, hi at
// most.
static uint64_t pass_over(const struct memory_walk *w, uint64_t at, uint64_t hi, uint64_t *end)
{
	size_t a = FIRST_NOT(w->nskip, i, w->skip[i].hi < at + PAGE);
	if (a < w->nskip && w->skip[a].lo <= at) {
		at += ((w->skip[a].hi < hi ? w->skip[a].hi : hi) - at) / PAGE * PAGE;
		a++;
	}
	*end = a < w->nskip && w->skip[a].lo < hi ? (w->skip[a].lo + PAGE - 1) & ~(uint64_t)(PAGE - 1) : hi;
	return at;
}

// Of [lo, hi) only pages that the program has touched; of a file, where it may not write, its own copies.
static int read_touched(struct memory_walk *w, const struct maps_line *m, uint64_t lo, uint64_t hi)
{
	struct memory_pages pages;
	bool own = m->perms[1] != 'w';
	struct span touched = {lo, lo}; // not yet read
	for (uint64_t at = lo; at < hi; at = pages.end) {
		uint64_t next = memory_next(w->memory, at);
		if (next >= hi || hi - at < PAGE)
			break;
		at += (next - at) / PAGE * PAGE;
		at = pass_over(w, at, hi, &next);
		if (next - at < PAGE)
			break;
		if (!memory_touched(w->memory, &pages, at, at + (next - at) / PAGE * PAGE, own)) {
			snprintf(w->why, sizeof(w->why), "the kernel does not show its page map");
			return -EIO;
		}
		for (size_t i = 0; i < pages.n; i++) {
			if (touched.hi == pages.v[i].lo) {
				touched.hi = pages.v[i].hi;
				continue;
			}
			int e = read_around(w, m, touched.lo, touched.hi);
			if (e)
				return e;
			touched = pages.v[i];
		}
		if (memory_late(w->memory))
			return fail_late(w);
	}
	return read_around(w, m, touched.lo, touched.hi);
}

// What its file has; pages that the program has of its own have been read, too.
static int read_changed(struct memory_walk *w, const struct maps_line *m)
{
	int file = memory_open_changed(w->memory, m);
	int e = file >= 0 ? read_from_file(w, m, file, m->lo, m->hi) : file == -1 ? 0 : -EIO;
	if (e == -EIO)
		snprintf(w->why, sizeof(w->why), "%.100s, which it maps, cannot be read", m->path);
	if (file >= 0)
		close(file);
	return e;
}

// Where a file is memory alone, its holes hold zeros, and are not to be filled.
static int read_sparse(struct memory_walk *w, const struct maps_line *m, int file)
{
	int e = 0;
	for (uint64_t at = m->lo; !e && at < m->hi;) {
		off_t off = (off_t)(m->offset + (at - m->lo));
		off_t data = lseek(file, off, SEEK_DATA), hole = data < 0 ? -1 : lseek(file, data, SEEK_HOLE);
		uint64_t begins = data < 0 ? m->hi : at + ((uint64_t)(data - off) & ~(uint64_t)(PAGE - 1));
		uint64_t ends = hole < 0 ? m->hi :
					   (at + (uint64_t)(hole - off) + PAGE - 1) & ~(uint64_t)(PAGE - 1);
		begins = begins < m->hi ? begins : m->hi;
		ends = ends < m->hi ? ends : m->hi;
		if (begins > at)
			e = read_touched(w, m, at, begins);
		if (!e && ends > begins)
			e = read_around(w, m, begins, ends);
		at = ends > at ? ends : m->hi;
	}
	return e;
}

static int read_shared(struct memory_walk *w, const struct maps_line *m)
{
	int file = memory_open_sparse(w->memory, m);
	int e = 0;
	if (file >= 0) {
		w->sparse = file;
		e = read_sparse(w, m, file);
		w->sparse = -1;
		close(file);
		return e;
	}
	bool named = m->ino && *m->path == '/' && !nameless(m) && strncmp(m->path, "/dev/", 5);
	if (w->memory->core || named || wanted_bytes(w, m->lo, m->hi) <= UNSEEN_MOST)
		return read_around(w, m, m->lo, m->hi);
	e = read_touched(w, m, m->lo, m->hi);
	snprintf(w->why, sizeof(w->why),
		 "shared memory at 0x%llx is large, and what of it is in use is shown to root alone",
		 (unsigned long long)m->lo);
	return e ? e : -EIO;
}

static int read_map(struct memory_walk *w, const struct maps_line *m)
{
	if (!strncmp(m->path, "[v", 2))
		return 0; // vdso and its data
	if (m->perms[3] == 's' || nameless(m))
		return read_shared(w, m);
	int e = read_touched(w, m, m->lo, m->hi);
	return e ? e : read_changed(w, m);
}

int memory_walk(struct memory_walk *w)
{
	const struct memory *m = w->memory;
	w->buffer = malloc(CHUNK + MEMORY_WALK_BEHIND);
	if (!w->buffer)
		return -ENOMEM;
	w->bytes = 0;
	w->sparse = -1;
	int e = 0;
	for (size_t i = 0; !e && i < m->nmaps; i++)
		e = read_map(w, &m->maps[i]);
	free(w->buffer);
	return e;
}
