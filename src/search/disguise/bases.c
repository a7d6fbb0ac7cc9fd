// SPDX-License-Identifier: MIT
//
// Static storage of the program and of its own libraries is read, as far as it was touched. The C library's
// is not: what it points to is nobody's base. A program with more such pointers than there is room for has
// all of its mappings, and the first of those.
#include "search/disguise/bases.h"

#include <stdlib.h>
#include <string.h>

enum { READ_MOST = 4 << 20, CHUNK = 1 << 16 };

static void add(struct bases *b, uint64_t address)
{
	if (b->n < BASES_MOST && address && !(b->n && b->v[b->n - 1] == address))
		b->v[b->n++] = address;
}

static bool is_libc(const struct maps_line *m)
{
	return strstr(m->path, "/libc.so") || strstr(m->path, "/libc-") || strstr(m->path, "/ld-");
}

// Of a program or library, writable: its data; and of the program, which lies lowest, what adjoins them
// without a name, the rest of them. What adjoins a library's may as well be a thread's.
static bool is_static(const struct memory *m, size_t i)
{
	const struct maps_line *at = &m->maps[i], *before = i ? at - 1 : at;
	if (at->perms[1] != 'w' || at->perms[3] == 's')
		return false;
	if (at->ino)
		return *at->path == '/' && !is_libc(at);
	return i && !*at->path && before->hi == at->lo && before->ino && before->perms[1] == 'w' &&
	       !strcmp(before->path, m->maps->path);
}

bool bases_is_static(const struct memory *m, uint64_t addr)
{
	const struct maps_line *at = memory_map(m, addr);
	return at && is_static(m, (size_t)(at - m->maps));
}

bool bases_is_libc(const struct memory *m, uint64_t addr)
{
	const struct maps_line *at = memory_map(m, addr);
	return at && is_libc(at);
}

static void words(struct bases *b, const struct memory *m, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *to = v[i] % sizeof(*v) ? NULL : memory_map(m, v[i]);
		if (to && to->perms[1] == 'w')
			add(b, v[i]);
	}
}

static void read_static(struct bases *b, const struct memory *m, const struct maps_line *at)
{
	static _Alignas(uint64_t) uint64_t chunk[CHUNK / sizeof(uint64_t)];
	uint64_t end = at->hi - at->lo > READ_MOST ? at->lo + READ_MOST : at->hi;
	for (uint64_t lo = at->lo; lo < end && !memory_late(m); lo += CHUNK) {
		size_t n = end - lo < CHUNK ? (size_t)(end - lo) : CHUNK;
		n = memory_peek_touched(m, lo, chunk, n);
		words(b, m, chunk, n / sizeof(*chunk));
	}
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

void bases_find(struct bases *b, const struct memory *m)
{
	b->n = 0;
	for (size_t i = 0; i < m->nmaps && b->n < BASES_MOST / 2; i++)
		if (m->maps[i].perms[1] == 'w')
			add(b, m->maps[i].lo);
	for (size_t i = 0; i < m->nmaps; i++)
		if (is_static(m, i))
			read_static(b, m, &m->maps[i]);
	if (b->n)
		qsort(b->v, b->n, sizeof(*b->v), by_value);
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		if (!n || b->v[n - 1] != b->v[i])
			b->v[n++] = b->v[i];
	b->n = n;
}
