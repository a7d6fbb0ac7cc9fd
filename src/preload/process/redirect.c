// SPDX-License-Identifier: MIT
//
// An object calls a function of another one through a word that the loader has filled (the System V ABI's
// global offset table, or a pointer in its data). Its relocations say where these words are and whose they
// are. A word that does not hold the real function, nor the object's own way to look it up, is somebody
// else's hook, and stays.
//
// Nothing is remembered for the way back: a word that holds our hook gets the real function, which is what
// the loader would write. So an object that was unloaded meanwhile costs nothing.
#include "preload/process/redirect.h"

#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "preload/guest/guest.h"
#include "preload/guest/real.h"

#if defined(__x86_64__)
enum { SLOT = R_X86_64_JUMP_SLOT, ENTRY = R_X86_64_GLOB_DAT, POINTER = R_X86_64_64 };
#else
enum { SLOT = R_AARCH64_JUMP_SLOT, ENTRY = R_AARCH64_GLOB_DAT, POINTER = R_AARCH64_ABS64 };
#endif

struct object {
	uint64_t base, lo, hi; // added to its addresses; where it is mapped
	const ElfW(Sym) * symbols;
	const char *names;
	const ElfW(Rela) * tables[2];
	uint64_t bytes[2];
	uint64_t relro_lo, relro_hi; // read-only since it was relocated
};

struct pass {
	bool on;
	uint32_t written;
	uint64_t own; // our own base
};

// Dynamic entries are addresses where the loader could write them, else offsets.
static uint64_t address(const struct object *o, uint64_t value)
{
	return value < o->base ? o->base + value : value;
}

static bool describe(struct object *o, const struct dl_phdr_info *info)
{
	const ElfW(Dyn) *dynamic = NULL;
	*o = (struct object){.base = info->dlpi_addr, .lo = UINT64_MAX};
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t at = o->base + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)at;
		if (p->p_type == PT_GNU_RELRO) {
			o->relro_lo = at & ~4095ULL;
			o->relro_hi = (at + p->p_memsz) & ~4095ULL;
		}
		if (p->p_type == PT_LOAD) {
			o->lo = at < o->lo ? at : o->lo;
			o->hi = at + p->p_memsz > o->hi ? at + p->p_memsz : o->hi;
		}
	}
	for (const ElfW(Dyn) *d = dynamic; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			o->symbols = (const void *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_STRTAB)
			o->names = (const void *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_JMPREL)
			o->tables[0] = (const void *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_RELA)
			o->tables[1] = (const void *)address(o, d->d_un.d_ptr);
		else if (d->d_tag == DT_PLTRELSZ)
			o->bytes[0] = d->d_un.d_val;
		else if (d->d_tag == DT_RELASZ)
			o->bytes[1] = d->d_un.d_val;
	}
	return o->symbols && o->names;
}

static long set_protection(uint64_t at, int protection)
{
	return cpu_syscall(SYS_mprotect, (long)(at & ~4095ULL), 4096, protection, 0, 0, 0);
}

static bool write_word(const struct object *o, uint64_t *at, void *value)
{
	bool closed = (uint64_t)at >= o->relro_lo && (uint64_t)at < o->relro_hi;
	if (closed && set_protection((uint64_t)at, PROT_READ | PROT_WRITE))
		return false;
	ctp_store_ptr((void **)at, value);
	if (closed)
		set_protection((uint64_t)at, PROT_READ);
	return true;
}

// What the word is to hold now; NULL: what it holds.
static void *wanted(const struct pass *p, const struct object *o, const struct real_hook *h, const void *is,
		    bool slot)
{
	if (!p->on)
		return is == h->hook ? ctp_load_ptr((void **)h->slot) : NULL;
	const void *real = ctp_load_ptr((void **)h->slot);
	bool lazy = slot && (uint64_t)is >= o->lo && (uint64_t)is < o->hi;
	return is == real || lazy ? h->hook : NULL;
}

static void relocate(struct pass *p, const struct object *o, const ElfW(Rela) * r)
{
	uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info), symbol = (uint32_t)ELF64_R_SYM(r->r_info);
	if ((type != SLOT && type != ENTRY && (type != POINTER || r->r_addend)) || !symbol)
		return;
	const ElfW(Sym) *s = &o->symbols[symbol];
	struct real_hook h;
	uint64_t *at = (uint64_t *)(o->base + r->r_offset);
	if (s->st_shndx != SHN_UNDEF || (uint64_t)at < o->lo || (uint64_t)at >= o->hi ||
	    !real_hook_of(o->names + s->st_name, &h))
		return;
	void *to = wanted(p, o, &h, ctp_load_ptr((void **)at), type == SLOT);
	p->written += to && write_word(o, at, to);
}

static int each(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct pass *p = arg;
	struct object o;
	(void)bytes;
	if (info->dlpi_addr == p->own || strstr(info->dlpi_name, "linux-vdso") ||
	    strstr(info->dlpi_name, "/ld-linux") || !describe(&o, info))
		return 0;
	for (int t = 0; t < 2; t++)
		for (uint64_t i = 0; o.tables[t] && i < o.bytes[t] / sizeof(ElfW(Rela)); i++)
			relocate(p, &o, &o.tables[t][i]);
	return 0;
}

uint32_t redirect_all(bool on)
{
	struct dl_find_object own;
	struct pass p = {.on = on};
	if (_dl_find_object((void *)redirect_all, &own))
		return 0;
	struct real_hook any;
	p.own = own.dlfo_link_map->l_addr;
	real_hook_of("close", &any); // looks all names up, which must not be done below the loader's lock
	dl_iterate_phdr(each, &p);
	return p.written;
}
