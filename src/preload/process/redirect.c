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
#include "preload/guest/page.h"
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
	uint64_t relative; // so many of tables[1] come first that name nothing
	struct redirect_relro closed;
};

// Of the loader's list. It does not change while the loader's lock is held; but the list's own is held for a
// moment only: a child that is forked meanwhile would find it locked for ever.
struct listed {
	uint64_t base;
	const char *name;
	const ElfW(Phdr) * ph;
	unsigned nph;
};

enum { BATCH = 64 };

struct batch {
	size_t skip, n;
	struct listed v[BATCH];
};

struct pass {
	bool on;
	bool (*only)(uint64_t base); // NULL: all
	bool (*hook_of)(const char *name, struct real_hook *h);
	uint32_t written;
	uint64_t own; // our own base; of redirect_calls, that of the object
};

static bool hooked; // the last pass through all objects was on

// Entries of libraries that only some objects see, so that nobody knows the real function (real.c): what they
// held, for the way back.
static struct {
	uint64_t *at;
	void *was, *hook;
} kept[64];
static unsigned nkept;

// Dynamic entries are addresses where the loader could write them, else offsets.
static uint64_t address(const struct object *o, uint64_t value)
{
	return value < o->base ? o->base + value : value;
}

static bool describe(struct object *o, const struct listed *l)
{
	const ElfW(Dyn) *dynamic = NULL;
	*o = (struct object){.base = l->base, .lo = UINT64_MAX};
	o->closed = redirect_relro(o->base, l->ph, l->nph);
	for (unsigned i = 0; i < l->nph; i++) {
		const ElfW(Phdr) *p = &l->ph[i];
		uint64_t at = o->base + p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			dynamic = (const void *)at;
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
		else if (d->d_tag == DT_RELACOUNT)
			o->relative = d->d_un.d_val;
	}
	return o->symbols && o->names;
}

static long set_protection(uint64_t at, int protection)
{
	return cpu_syscall(SYS_mprotect, (long)(at & ~4095ULL), 4096, protection, 0, 0, 0);
}

struct redirect_relro redirect_relro(uint64_t base, const ElfW(Phdr) * ph, unsigned n)
{
	struct redirect_relro r = {0, 0};
	for (unsigned i = 0; i < n; i++)
		if (ph[i].p_type == PT_GNU_RELRO)
			r = (struct redirect_relro){(base + ph[i].p_vaddr) & ~4095ULL,
						    (base + ph[i].p_vaddr + ph[i].p_memsz) & ~4095ULL};
	return r;
}

bool redirect_write(const struct redirect_relro *r, uint64_t *at, uint64_t value)
{
	// An object that is being relocated is closed when that is done, and not by us.
	bool closed = (uint64_t)at - r->lo < r->hi - r->lo && !page_writable((uint64_t)at / PAGE_BYTES);
	if (closed && set_protection((uint64_t)at, PROT_READ | PROT_WRITE))
		return false;
	ctp_store64(at, value);
	if (closed)
		set_protection((uint64_t)at, PROT_READ);
	return true;
}

static bool keep(uint64_t *at, void *was, void *hook)
{
	unsigned i = 0;
	while (i < nkept && kept[i].at != at)
		i++;
	if (i == sizeof(kept) / sizeof(kept[0]))
		return false;
	kept[i].at = at;
	kept[i].was = was;
	kept[i].hook = hook;
	nkept += i == nkept;
	return true;
}

static void *kept_of(const uint64_t *at, const void *hook)
{
	for (unsigned i = 0; i < nkept; i++)
		if (kept[i].at == at && kept[i].hook == hook)
			return kept[i].was;
	return NULL;
}

// What the word at `at` is to hold now; NULL: what it holds.
static void *wanted(const struct pass *p, const struct object *o, const struct real_hook *h, uint64_t *at,
		    bool slot)
{
	void *is = ctp_load_ptr((void **)at), *real = ctp_load_ptr((void **)h->slot);
	bool unknown = real == h->resolver;
	if (!p->on) {
		void *was = is == h->hook && unknown ? kept_of(at, h->hook) : NULL;
		return was ? was : is == h->hook ? real : NULL;
	}
	bool lazy = slot && (uint64_t)is >= o->lo && (uint64_t)is < o->hi;
	if (unknown && is && is != h->hook)
		return keep(at, is, h->hook) ? h->hook : NULL;
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
	    !p->hook_of(o->names + s->st_name, &h))
		return;
	void *to = wanted(p, o, &h, at, type == SLOT);
	p->written += to && redirect_write(&o->closed, at, (uint64_t)to);
}

static void go_through(struct pass *p, const struct object *o)
{
	for (int t = 0; t < 2; t++)
		for (uint64_t i = t ? o->relative : 0; o->tables[t] && i < o->bytes[t] / sizeof(ElfW(Rela));
		     i++)
			relocate(p, o, &o->tables[t][i]);
}

static void each(struct pass *p, const struct listed *l)
{
	struct object o;
	if (l->base == p->own || (p->only && !p->only(l->base)) || strstr(l->name, "linux-vdso") ||
	    strstr(l->name, "/ld-linux") || !describe(&o, l))
		return;
	go_through(p, &o);
}

static int list(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	struct batch *b = arg;
	(void)bytes;
	if (b->skip) {
		b->skip--;
		return 0;
	}
	b->v[b->n++] = (struct listed){info->dlpi_addr, info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum};
	return b->n == BATCH;
}

static void for_each(struct pass *p, void (*visit)(struct pass *p, const struct listed *l))
{
	struct batch b;
	size_t from = 0;
	do {
		b.skip = from;
		b.n = 0;
		dl_iterate_phdr(list, &b);
		for (size_t i = 0; i < b.n; i++)
			visit(p, &b.v[i]);
		from += b.n;
	} while (b.n == BATCH);
}

static uint32_t run(struct pass *p)
{
	struct dl_find_object own;
	if (_dl_find_object((void *)redirect_all, &own))
		return 0;
	p->own = own.dlfo_link_map->l_addr;
	for_each(p, each);
	return p->written;
}

uint32_t redirect_all(bool on)
{
	struct pass p = {.on = on, .hook_of = real_hook_of};
	hooked = on;
	return run(&p);
}

void redirect_again(bool (*only)(uint64_t base))
{
	struct pass p = {.on = true, .only = only, .hook_of = real_hook_of};
	if (hooked)
		run(&p);
}

static void one(struct pass *p, const struct listed *l)
{
	struct object o;
	if (l->base == p->own && describe(&o, l))
		go_through(p, &o);
}

void redirect_calls(uint64_t base, bool (*hook_of)(const char *name, struct real_hook *h))
{
	struct pass p = {.on = true, .hook_of = hook_of, .own = base};
	for_each(&p, one);
}
