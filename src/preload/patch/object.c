// SPDX-License-Identifier: MIT
//
// Reads an ELF object where the loader has mapped it. The loader may not have relocated it yet:
// the pointers of its dynamic section are taken with the load bias or without.
#include "preload/patch/object.h"

#include <elf.h>
#include <string.h>
#include <sys/auxv.h>

#include "preload/guest/page.h"

static bool take_headers(struct object *o)
{
	const ElfW(Ehdr) *eh = (const void *)o->base;
	if (o->program) {
		o->ph = (const void *)getauxval(AT_PHDR);
		o->nph = (unsigned)getauxval(AT_PHNUM);
		return o->ph != NULL;
	}
	if (!o->base || o->base % PAGE_BYTES || !page_readable(o->base / PAGE_BYTES) ||
	    memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 || eh->e_phentsize != sizeof(*o->ph) ||
	    eh->e_phoff + eh->e_phnum * sizeof(*o->ph) > PAGE_BYTES)
		return false;
	o->ph = (const void *)(o->base + eh->e_phoff);
	o->nph = eh->e_phnum;
	return true;
}

bool object_read(struct object *o, const struct link_map *m)
{
	*o = (struct object){.map = m, .base = m->l_addr, .program = m->l_prev == NULL && !*m->l_name};
	if (!take_headers(o))
		return false;
	for (unsigned i = 0; i < o->nph; i++) {
		if (o->ph[i].p_type != PT_LOAD)
			continue;
		if (!o->end)
			o->start = (o->base + o->ph[i].p_vaddr) & ~(uint64_t)(PAGE_BYTES - 1);
		o->end = o->base + o->ph[i].p_vaddr + o->ph[i].p_memsz;
	}
	return o->end > o->start;
}

bool object_code(const struct object *o, unsigned *at, uint8_t **lo, uint8_t **hi)
{
	enum { CODE = PF_R | PF_X };
	for (; *at < o->nph; ++*at) {
		const ElfW(Phdr) *p = &o->ph[*at];
		if (p->p_type != PT_LOAD || (p->p_flags & CODE) != CODE)
			continue;
		*lo = (uint8_t *)(o->base + p->p_vaddr);
		*hi = *lo + p->p_filesz;
		++*at;
		return true;
	}
	return false;
}

bool object_in_code(const struct object *o, uint64_t at)
{
	for (unsigned i = 0; i < o->nph; i++) {
		const ElfW(Phdr) *p = &o->ph[i];
		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && at - (o->base + p->p_vaddr) < p->p_filesz)
			return true;
	}
	return false;
}

static const void *dynamic(const struct object *o, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = o->map->l_ld; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return (const void *)(d->d_un.d_ptr < o->base ? o->base + d->d_un.d_ptr :
									d->d_un.d_ptr);
	return NULL;
}

bool object_tells_exports(const struct object *o)
{
	return dynamic(o, DT_GNU_HASH) && dynamic(o, DT_SYMTAB) && dynamic(o, DT_STRTAB);
}

uint8_t *object_export(const struct object *o, const char *name)
{
	const uint32_t *table = dynamic(o, DT_GNU_HASH);
	const ElfW(Sym) *symbols = dynamic(o, DT_SYMTAB);
	const char *names = dynamic(o, DT_STRTAB);
	uint32_t h = 5381;
	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	if (!table || !symbols || !names || !table[0])
		return NULL;
	uint32_t buckets_count = table[0], first = table[1], words = table[2];
	const uint32_t *buckets = (const uint32_t *)((const uint64_t *)(table + 4) + words);
	const uint32_t *chain = buckets + buckets_count;
	for (uint32_t i = buckets[h % buckets_count]; i >= first; i++) {
		const ElfW(Sym) *s = &symbols[i];
		if ((chain[i - first] | 1) == (h | 1) && strcmp(names + s->st_name, name) == 0 &&
		    s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC)
			return (uint8_t *)(o->base + s->st_value);
		if (chain[i - first] & 1)
			break;
	}
	return NULL;
}

static bool mapped(const struct object *o, uint64_t at, uint64_t bytes)
{
	for (unsigned i = 0; i < o->nph; i++) {
		const ElfW(Phdr) *p = &o->ph[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_R && at >= p->p_vaddr &&
		    at - p->p_vaddr <= p->p_filesz && bytes <= p->p_filesz - (at - p->p_vaddr))
			return true;
	}
	return false;
}

static bool note_build_id(const uint8_t *at, const uint8_t *end, struct object_id *id)
{
	enum { NAME = 4 }; // "GNU" and its zero
	while (end - at >= (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *h = (const void *)at;
		uint64_t name = (h->n_namesz + 3ULL) & ~3ULL, desc = (h->n_descsz + 3ULL) & ~3ULL;
		at += sizeof(*h);
		if (name > (uint64_t)(end - at) || desc > (uint64_t)(end - at) - name)
			return false;
		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == NAME && !memcmp(at, ELF_NOTE_GNU, NAME) &&
		    h->n_descsz && h->n_descsz <= sizeof(id->id)) {
			id->bytes = h->n_descsz;
			memcpy(id->id, at + name, h->n_descsz);
			return true;
		}
		at += name + desc;
	}
	return false;
}

bool object_build_id(const struct object *o, struct object_id *id)
{
	*id = (struct object_id){0};
	for (unsigned i = 0; i < o->nph; i++) {
		const ElfW(Phdr) *p = &o->ph[i];
		const uint8_t *at = (const uint8_t *)(o->base + p->p_vaddr);
		if (p->p_type == PT_NOTE && p->p_align <= 4 && mapped(o, p->p_vaddr, p->p_filesz) &&
		    note_build_id(at, at + p->p_filesz, id))
			return true;
	}
	return false;
}
