// SPDX-License-Identifier: MIT
//
// The module table. An object is entered when the first address in it is recorded, with its
// build id, so that an address can be named after the process has ended and on another
// machine. A range that dlclose and dlopen gave to another object is entered again, with the
// first stack id for which that entry counts.
#include "preload/guest/modules.h"

#include "preload/guest/coredump_advise.h"

#include <elf.h>
#include <link.h>

static uint64_t noted; // last: coroutines mostly begin where the one before did
static char exe_path[sizeof(((struct ctp_module *)0)->path)];
extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

void modules_init(const char *exe)
{
	size_t n = strlen(exe);
	noted = 0;
	if (n < sizeof(exe_path))
		memcpy(exe_path, exe, n + 1);
}

// Copies the build id out of the object's notes, if they are mapped.
static void build_id(struct ctp_module *m)
{
	const ElfW(Ehdr) *eh = (const void *)m->start;
	if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	const ElfW(Phdr) *ph = (const void *)((const char *)eh + eh->e_phoff);
	uint64_t size = m->end - m->start;
	if (eh->e_phoff + eh->e_phnum * sizeof(*ph) > size)
		return;
	for (int i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		const char *p = (const char *)(m->base + ph[i].p_vaddr);
		const char *end = p + ph[i].p_memsz;
		while (p + sizeof(ElfW(Nhdr)) <= end) {
			const ElfW(Nhdr) *n = (const void *)p;
			const char *name = p + sizeof(*n), *desc = name + ((n->n_namesz + 3) & ~3u);
			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    n->n_descsz <= sizeof(m->build_id) && memcmp(name, "GNU", 4) == 0) {
				memcpy(m->build_id, desc, n->n_descsz);
				m->build_id_len = n->n_descsz;
				return;
			}
			p = desc + ((n->n_descsz + 3) & ~3u);
		}
	}
}

uint32_t modules_note_range(uint64_t base, uint64_t start, uint64_t end, const char *path)
{
	struct ctp_region *r = &ctp_tracer->region;
	if (!path || !*path)
		path = exe_path;
	uint32_t count = ctp_load32(&r->ext->module_count);
	for (uint32_t i = count < r->modules_max ? count : r->modules_max; i-- > 0;) {
		const struct ctp_module *m = &r->modules[i];
		if (!ctp_load32(&m->ready) || m->start >= end || m->end <= start)
			continue;
		if (m->start == start && m->end == end && strncmp(m->path, path, sizeof(m->path) - 1) == 0)
			return i + 1;
		break;
	}
	uint32_t at = ctp_add32(&r->ext->module_count, 1);
	if (at >= r->modules_max)
		return 0;
	coredump_advise_grow(COREDUMP_MODULES, at + 1);
	struct ctp_module *m = &r->modules[at];
	m->base = base;
	m->start = start;
	m->end = end;
	m->since = ctp_load32(&r->ext->stack_count) + 1;
	size_t n = strlen(path);
	if (n < sizeof(m->path))
		memcpy(m->path, path, n);
	build_id(m);
	ctp_store32(&m->ready, 1);
	return at + 1;
}

void modules_note(const struct dl_find_object *o)
{
	modules_note_range(o->dlfo_link_map->l_addr, (uint64_t)o->dlfo_map_start, (uint64_t)o->dlfo_map_end,
			   o->dlfo_link_map->l_name);
}

static int add_one(struct dl_phdr_info *info, size_t size, void *n)
{
	++*(uint32_t *)n;
	return 0;
}

uint32_t modules_loaded(void)
{
	uint32_t n = 0;
	dl_iterate_phdr(add_one, &n);
	return n;
}

void modules_note_pc(uint64_t pc)
{
	struct dl_find_object o;
	uint64_t now = pc ^ ctp_load64(&ctp_tracer->region.ext->dlcloses) << 48;
	if (ctp_load64(&noted) == now)
		return;
	if (_dl_find_object && _dl_find_object((void *)pc, &o) == 0)
		modules_note(&o);
	ctp_store64(&noted, now);
}
