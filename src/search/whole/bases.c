// SPDX-License-Identifier: MIT
//
// Static storage of the program and of its own libraries is read, as far as it was touched. The C library's
// is not: what it points to is nobody's base. A program with more such pointers than there is room for has
// all of its mappings, and the first of those.
#include "search/whole/bases.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { READ_MOST = 4 << 20, CHUNK = 1 << 16, AUXV_MOST = 64, ADDRESS = 47, PAGE = 4096 };

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

static bool is_runtime(const struct maps_line *m)
{
	static const char *const names[] = {"/libc.so",     "/libc-",   "/ld-",      "/libstdc++.so",
					    "/libgcc_s.so", "/libm.so", "/libctp.so"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (strstr(m->path, names[i]))
			return true;
	return false;
}

// Where the static storage of a library ends, which its mappings of `path` begin, by its program headers.
static uint64_t static_end(const struct memory *m, const char *path)
{
	Elf64_Ehdr head;
	Elf64_Phdr h;
	uint64_t end = 0;
	size_t i = 0;
	while (i < m->nmaps && strcmp(m->maps[i].path, path) != 0)
		i++;
	if (i == m->nmaps || m->maps[i].offset ||
	    memory_peek(m, m->maps[i].lo, &head, sizeof(head), false) != sizeof(head) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return 0;
	for (unsigned k = 0; k < head.e_phnum; k++)
		if (memory_peek(m, m->maps[i].lo + head.e_phoff + k * sizeof(h), &h, sizeof(h), false) ==
			    sizeof(h) &&
		    h.p_type == PT_LOAD && m->maps[i].lo + h.p_vaddr + h.p_memsz > end)
			end = m->maps[i].lo + h.p_vaddr + h.p_memsz;
	return end;
}

// A mapping of such a library that is, or whose static storage goes on, at this address; NULL: of none.
static const struct maps_line *runtime_at(const struct memory *m, uint64_t addr)
{
	const struct maps_line *at = memory_map(m, addr), *before = at && at > m->maps ? at - 1 : at;
	if (!at || *at->path)
		return at && is_runtime(at) ? at : NULL;
	return before->hi == at->lo && *before->path == '/' && is_runtime(before) &&
			       addr < static_end(m, before->path) ?
		       before :
		       NULL;
}

uint64_t bases_runtime_end(const struct memory *m, const struct maps_line *at)
{
	const struct maps_line *of = runtime_at(m, at->lo);
	uint64_t end = !of ? at->lo : of == at ? at->hi : static_end(m, of->path);
	return end < at->hi ? end : at->hi;
}

bool bases_is_runtime(const struct memory *m, uint64_t addr)
{
	return runtime_at(m, addr);
}

bool bases_is_loader(const struct memory *m, uint64_t addr)
{
	const struct maps_line *at = runtime_at(m, addr);
	return at && strstr(at->path, "/ld-");
}

// From this tag to that which ends the list: the name of the program and 16 random bytes lie above.
static bool are_tags(const uint64_t *v, size_t n, const struct maps_line *stack)
{
	unsigned above = 0;
	for (; n >= 2 && v[0] && v[0] < AUXV_MOST; v += 2, n -= 2)
		above += (v[0] == AT_RANDOM || v[0] == AT_EXECFN) && v[1] - stack->lo < stack->hi - stack->lo;
	return n >= 2 && !v[0] && above == 2;
}

// The list that has a tag at v[i], from its first one on.
static bool is_list(const uint64_t *v, size_t n, size_t i, const struct maps_line *stack)
{
	while (i >= 2 && v[i - 2] && v[i - 2] < AUXV_MOST)
		i -= 2;
	return i < n && are_tags(v + i, n - i, stack);
}

bool bases_is_auxv(const struct memory *m, uint64_t addr)
{
	uint64_t v[4 * AUXV_MOST + 2];
	const struct maps_line *at = memory_map(m, addr);
	if (!at || strcmp(at->path, "[stack]") != 0)
		return false;
	uint64_t word = addr & ~7ULL, most = 2 * AUXV_MOST * sizeof(*v);
	uint64_t lo = word - at->lo > most ? word - most : at->lo;
	size_t n = memory_peek_touched(m, lo, v, sizeof(v)) / sizeof(*v),
	       i = (size_t)(word - lo) / sizeof(*v);
	return is_list(v, n, i, at) || (i && is_list(v, n, i - 1, at));
}

// Some runtimes count from the begin of a page that need not be mapped, so that no address is zero.
static bool is_round(uint64_t word)
{
	return word > UINT32_MAX && !(word & (PAGE - 1)) && word >> ADDRESS == 0;
}

static void words(struct bases *b, const struct memory *m, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *to = v[i] % sizeof(*v) ? NULL : memory_map(m, v[i]);
		if ((to && to->perms[1] == 'w') || is_round(v[i]))
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
	if (m->nmaps && *m->maps->path == '/')
		add(b, m->maps->lo); // the program itself, which lies lowest
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
