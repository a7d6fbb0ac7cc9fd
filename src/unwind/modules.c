// SPDX-License-Identifier: MIT
//
// Finds the objects of a process: their ranges in /proc/PID/maps, read once, and their unwind
// tables by the program headers in memory. No file is opened, so a program that was replaced
// on disk, or runs in a container, unwinds like any other. The memory is the program's: every
// number is bounded by the object's own range.
#include "unwind/modules.h"

#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/maps.h"
#include "base/search.h"

enum { PHDRS_MAX = 64 };

struct reading {
	struct modules *m;
	uint64_t ino;
	uint32_t major, minor;
};

static int add(void *arg, const struct maps_line *l)
{
	struct reading *r = arg;
	struct modules *m = r->m;
	bool file = *l->path == '/' && l->ino, vdso = !strcmp(l->path, "[vdso]");
	struct modules_entry *last = m->n ? &m->items[m->n - 1] : NULL;
	if (file && last && r->ino == l->ino && r->major == l->major && r->minor == l->minor && l->offset) {
		last->hi = l->hi;
		return 0;
	}
	if ((!file && !vdso) || l->offset || l->perms[0] != 'r' || l->perms[3] != 'p')
		return 0;
	if (GROW(m->items, m->n, m->capacity))
		return -ENOMEM;
	m->items[m->n++] = (struct modules_entry){.lo = l->lo, .hi = l->hi};
	*r = (struct reading){m, l->ino, l->major, l->minor};
	return 0;
}

int modules_read(struct modules *m, pid_t pid)
{
	struct reading r = {.m = m};
	return maps_each(pid, add, &r);
}

int modules_of(struct modules *m, const struct maps_line *maps, size_t n)
{
	struct reading r = {.m = m};
	int e = 0;
	for (size_t i = 0; !e && i < n; i++)
		e = add(&r, &maps[i]);
	return e;
}

void modules_deinit(struct modules *m)
{
	free(m->items);
	*m = (struct modules){0};
}

static struct modules_entry *entry_of(const struct modules *m, uint64_t addr)
{
	size_t lo = FIRST_NOT(m->n, i, m->items[i].hi <= addr);
	return lo < m->n && m->items[lo].lo <= addr ? &m->items[lo] : NULL;
}

// Address of .eh_frame_hdr, or 0.
static uint64_t header_of(const struct modules_entry *e, modules_peek *peek, void *arg)
{
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph[PHDRS_MAX];
	uint64_t first = UINT64_MAX, hdr = 0;
	if (!peek(arg, e->lo, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > PHDRS_MAX || eh.e_phoff > e->hi - e->lo ||
	    !peek(arg, e->lo + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return 0;
	for (unsigned i = 0; i < eh.e_phnum; i++) {
		if (ph[i].p_type == PT_LOAD && first == UINT64_MAX)
			first = ph[i].p_vaddr & ~4095ULL;
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			hdr = ph[i].p_vaddr;
	}
	if (first == UINT64_MAX || !hdr)
		return 0;
	hdr += e->lo - first;
	return hdr >= e->lo && hdr < e->hi ? hdr : 0;
}

// The header in the form that all linkers write: counts of four bytes, rows relative to it.
static void look(struct modules_entry *e, modules_peek *peek, void *arg)
{
	struct {
		uint8_t version, frame_enc, count_enc, table_enc;
		int32_t frame;
		uint32_t count;
	} h;
	uint64_t hdr = header_of(e, peek, arg);
	e->looked = true;
	if (!hdr || !peek(arg, hdr, &h, sizeof(h)) || h.version != 1 || h.frame_enc != 0x1b ||
	    h.count_enc != 0x03 || h.table_enc != 0x3b || h.count > (e->hi - hdr) / 8)
		return;
	e->hdr = hdr;
	e->table = hdr + sizeof(h);
	e->rows = h.count;
}

const struct modules_entry *modules_find(struct modules *m, uint64_t addr, modules_peek *peek, void *arg)
{
	struct modules_entry *e = entry_of(m, addr);
	if (e && !e->looked)
		look(e, peek, arg);
	return e;
}

bool modules_has(const struct modules *m, uint64_t addr)
{
	return entry_of(m, addr) != NULL;
}
