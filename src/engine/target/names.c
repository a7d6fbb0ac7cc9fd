// SPDX-License-Identifier: MIT
//
// Static storage is a module's writable mapping, and the anonymous memory that follows it up to the
// end that its program headers give. Anonymous memory beyond that end is ordinary memory that the
// kernel placed there. If the file cannot be read, all of the adjoining memory counts as static.
#include "engine/target/names.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/living.h"

// The mapping at or below `addr`, all adjoining, that is backed by a file.
static const struct maps_line *backing(const struct proc_maps *maps, const struct maps_line *m)
{
	if (*m->path == '/' && m->ino)
		return m;
	if (*m->path && strcmp(m->path, "[heap]") && strncmp(m->path, "[anon", 5))
		return NULL;
	m -= m->nameless; // a program may have a stack in each
	bool on = m > maps->v && m[-1].hi == m->lo && *m[-1].path == '/' && m[-1].ino;
	return on && m[-1].perms[3] == 'p' ? m - 1 : NULL;
}

static const struct maps_line *first_of(const struct proc_maps *maps, const struct maps_line *m)
{
	const struct maps_line *first = m;
	for (const struct maps_line *p = m; p >= maps->v && m - p < 64; p--)
		if (p->ino == m->ino && !strcmp(p->path, m->path))
			first = p;
	return first;
}

// Load bias and end of memory. False if the file has no loadable part.
static bool extent(Elf *e, const struct maps_line *first, uint64_t *bias, uint64_t *end)
{
	size_t n;
	bool any = false;
	*end = 0;
	if (elf_getphdrnum(e, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(e, (int)i, &p) || p.p_type != PT_LOAD)
			continue;
		if (!any)
			*bias = first->lo - (p.p_vaddr & ~4095ULL);
		any = true;
		if (*bias + p.p_vaddr + p.p_memsz > *end)
			*end = *bias + p.p_vaddr + p.p_memsz;
	}
	return any;
}

static bool symbol_in(Elf *e, GElf_Word type, uint64_t addr, char *out, size_t bytes)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(e, s));) {
		GElf_Shdr h;
		Elf_Data *d;
		if (!gelf_getshdr(s, &h) || h.sh_type != type || !h.sh_entsize || !(d = elf_getdata(s, NULL)))
			continue;
		for (size_t i = 0; i < h.sh_size / h.sh_entsize; i++) {
			GElf_Sym y;
			if (!gelf_getsym(d, (int)i, &y) || GELF_ST_TYPE(y.st_info) != STT_OBJECT ||
			    addr < y.st_value || addr >= y.st_value + y.st_size)
				continue;
			const char *name = elf_strptr(e, h.sh_link, y.st_name);
			if (!name || !*name)
				continue;
			if (addr == y.st_value)
				snprintf(out, bytes, "%.120s", name);
			else
				snprintf(out, bytes, "%.120s+0x%llx", name,
					 (unsigned long long)(addr - y.st_value));
			return true;
		}
	}
	return false;
}

static int open_module(pid_t pid, const struct maps_line *m)
{
	char path[512];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", living_of(pid),
		 (unsigned long long)m->lo, (unsigned long long)m->hi);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", living_of(pid), m->path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : open(m->path, O_RDONLY | O_CLOEXEC);
}

bool names_static(pid_t pid, const struct proc_maps *maps, uint64_t addr, char *symbol, size_t bytes)
{
	const struct maps_line *m = proc_maps_find(maps, addr);
	const struct maps_line *file = m ? backing(maps, m) : NULL;
	if (!file)
		return false;
	const char *base = strrchr(file->path, '/') + 1;
	bool inside = true;
	uint64_t bias = 0, end = 0;
	if (symbol)
		snprintf(symbol, bytes, "0x%llx in %.80s", (unsigned long long)addr, base);
	elf_version(EV_CURRENT);
	int fd = open_module(pid, file);
	Elf *e = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL) : NULL;
	if (e && elf_kind(e) == ELF_K_ELF && extent(e, first_of(maps, file), &bias, &end)) {
		inside = addr < ((end + 4095) & ~4095ULL);
		if (inside && symbol && !symbol_in(e, SHT_SYMTAB, addr - bias, symbol, bytes))
			symbol_in(e, SHT_DYNSYM, addr - bias, symbol, bytes);
	}
	if (e)
		elf_end(e);
	if (fd >= 0)
		close(fd);
	return inside || file == m; // a mapped data file is as static as it gets
}

void names_of(pid_t pid, uint64_t addr, char *symbol, size_t bytes)
{
	struct proc_maps maps = {0};
	*symbol = 0;
	if (!proc_maps_read(pid, &maps) && !names_static(pid, &maps, addr, symbol, bytes))
		*symbol = 0;
	proc_maps_deinit(&maps);
}
