// SPDX-License-Identifier: MIT
//
// Everything is read from the image, whose words are hostile: each number is bounded by the object
// that it lies in.
#include "find/objects.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"

enum { PHDRS_MAX = 64, DYNS_MAX = 256, ROWS_MAX = 1 << 23, NOTE_MAX = 4096, CHAIN_MAX = 4096 };

// ------------------------------------------------------------------- objects

static bool within(const struct object *o, uint64_t addr, uint64_t bytes)
{
	return addr >= o->lo && addr < o->hi && bytes <= o->hi - addr;
}

static void read_build_id(const struct image *im, struct object *o, const ElfW(Phdr) * p)
{
	union {
		char c[NOTE_MAX];
		ElfW(Nhdr) h;
	} n;
	uint64_t at = p->p_vaddr + o->bias;
	if (p->p_filesz > sizeof(n) || !within(o, at, p->p_filesz) || !image_read(im, at, &n, p->p_filesz))
		return;
	for (size_t i = 0; i + sizeof(ElfW(Nhdr)) <= p->p_filesz;) {
		ElfW(Nhdr) h;
		memcpy(&h, n.c + i, sizeof(h));
		size_t name = i + sizeof(h), desc = name + (((size_t)h.n_namesz + 3) & ~(size_t)3);
		if (h.n_namesz > p->p_filesz || h.n_descsz > p->p_filesz || desc + h.n_descsz > p->p_filesz)
			return;
		if (h.n_type == NT_GNU_BUILD_ID && h.n_namesz == 4 && !memcmp(n.c + name, "GNU", 4) &&
		    h.n_descsz <= OBJECT_BUILD_ID) {
			memcpy(o->build_id, n.c + desc, h.n_descsz);
			o->build_id_len = h.n_descsz;
			return;
		}
		i = desc + (((size_t)h.n_descsz + 3) & ~(size_t)3);
	}
}

static bool read_headers(const struct image *im, struct object *o)
{
	ElfW(Ehdr) eh;
	ElfW(Phdr) ph[PHDRS_MAX];
	bool first = true;
	if (!image_read(im, o->lo, &eh, sizeof(eh)) || memcmp(eh.e_ident, ELFMAG, SELFMAG) ||
	    eh.e_phentsize != sizeof(*ph) || eh.e_phnum > PHDRS_MAX ||
	    !within(o, o->lo + eh.e_phoff, eh.e_phnum * sizeof(*ph)) ||
	    !image_read(im, o->lo + eh.e_phoff, ph, eh.e_phnum * sizeof(*ph)))
		return false;
	for (unsigned i = 0; i < eh.e_phnum && first; i++)
		if (ph[i].p_type == PT_LOAD) {
			o->bias = o->lo - (ph[i].p_vaddr & ~4095ULL);
			first = false;
		}
	for (unsigned i = 0; i < eh.e_phnum && !first; i++) {
		uint64_t at = ph[i].p_vaddr + o->bias;
		if (ph[i].p_type == PT_DYNAMIC && within(o, at, 16))
			o->dynamic = at;
		if (ph[i].p_type == PT_GNU_EH_FRAME && within(o, at, 16))
			o->hdr = at;
		if (ph[i].p_type == PT_NOTE && !o->build_id_len)
			read_build_id(im, o, &ph[i]);
	}
	o->entry = eh.e_entry + o->bias;
	return !first;
}

int objects_read(struct objects *o, const struct image *im)
{
	*o = (struct objects){.image = im};
	for (size_t i = 0; i < im->nmaps; i++) {
		const struct maps_line *m = &im->maps[i];
		struct object *last = o->n ? &o->v[o->n - 1] : NULL;
		bool file = *m->path == '/' && m->ino, vdso = !strcmp(m->path, "[vdso]");
		if (file && last && !strcmp(last->path, m->path) && m->offset) {
			last->hi = m->hi;
			continue;
		}
		if ((!file && !vdso) || m->offset || m->perms[0] != 'r' || m->perms[3] != 'p')
			continue;
		if (GROW(o->v, o->n, o->capacity)) {
			objects_deinit(o);
			return -ENOMEM;
		}
		o->v[o->n++] = (struct object){.path = m->path, .lo = m->lo, .hi = m->hi};
	}
	size_t kept = 0;
	for (size_t i = 0; i < o->n; i++)
		if (read_headers(im, &o->v[i]))
			o->v[kept++] = o->v[i];
	o->n = kept;
	return 0;
}

void objects_deinit(struct objects *o)
{
	for (size_t i = 0; i < o->n; i++) {
		free(o->v[i].rows);
		free(o->v[i].lengths);
	}
	free(o->v);
	*o = (struct objects){0};
}

struct object *objects_at(const struct objects *o, uint64_t addr)
{
	size_t i = FIRST_NOT(o->n, k, o->v[k].hi <= addr);
	return i < o->n && o->v[i].lo <= addr ? &o->v[i] : NULL;
}

// ----------------------------------------------------------------- functions

// The table in the form that all linkers write: counts of four bytes, rows relative to it.
static void read_rows(const struct image *im, struct object *o)
{
	struct {
		uint8_t version, frame_enc, count_enc, table_enc;
		int32_t frame;
		uint32_t count;
	} h;
	o->looked = true;
	if (!o->hdr || !image_read(im, o->hdr, &h, sizeof(h)) || h.version != 1 || h.count_enc != 0x03 ||
	    h.table_enc != 0x3b || h.count > ROWS_MAX || !within(o, o->hdr + sizeof(h), 8ULL * h.count))
		return;
	o->rows = malloc(8ULL * h.count + 1);
	if (!o->rows || !image_read(im, o->hdr + sizeof(h), o->rows, 8ULL * h.count)) {
		free(o->rows);
		o->rows = NULL;
		return;
	}
	o->nrows = h.count;
	o->lengths = calloc(h.count + 1, sizeof(*o->lengths));
}

// How long the function of a row is; 0: not known.
static uint32_t length_of(const struct image *im, struct object *o, size_t row)
{
	uint32_t fde[4]; // length, CIE, where it begins, how long it is
	uint64_t at = o->hdr + (uint64_t)(int64_t)o->rows[2 * row + 1];
	if (o->lengths && o->lengths[row])
		return o->lengths[row];
	if (!within(o, at, sizeof(fde)) || !image_read(im, at, fde, sizeof(fde)))
		return 0;
	if (o->lengths)
		o->lengths[row] = fde[3];
	return fde[3];
}

bool objects_function(const struct objects *objects, uint64_t addr, struct span *out)
{
	struct object *o = objects_at(objects, addr);
	if (!o)
		return false;
	if (!o->looked)
		read_rows(objects->image, o);
	size_t i = FIRST_NOT(o->nrows, k, o->hdr + (uint64_t)(int64_t)o->rows[2 * k] <= addr);
	if (!i)
		return false;
	uint64_t lo = o->hdr + (uint64_t)(int64_t)o->rows[2 * i - 2];
	uint32_t length = length_of(objects->image, o, i - 1);
	if (addr - lo >= length)
		return false;
	*out = (struct span){lo, lo + length};
	return true;
}

// -------------------------------------------------------------------- symbols

// The loader has made addresses of these in most objects, but not in all.
static uint64_t pointer(const struct object *o, uint64_t v)
{
	return within(o, v, 1) ? v : within(o, v + o->bias, 1) ? v + o->bias : 0;
}

static void read_dynamic(const struct image *im, struct object *o)
{
	ElfW(Dyn) d[DYNS_MAX];
	o->dyn = true;
	size_t n = o->dynamic ? image_peek(im, o->dynamic, d, sizeof(d)) / sizeof(*d) : 0;
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		if (d[i].d_tag == DT_SYMTAB)
			o->symtab = pointer(o, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRTAB)
			o->strtab = pointer(o, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRSZ)
			o->strsz = d[i].d_un.d_val;
		else if (d[i].d_tag == DT_GNU_HASH)
			o->hash = pointer(o, d[i].d_un.d_ptr);
	}
}

static uint64_t try_symbol(const struct image *im, const struct object *o, uint32_t index, const char *name)
{
	ElfW(Sym) s;
	char text[64];
	size_t n = strlen(name) + 1;
	uint64_t at = o->symtab + (uint64_t)index * sizeof(s);
	if (n > sizeof(text) || !within(o, at, sizeof(s)) || !image_read(im, at, &s, sizeof(s)) ||
	    s.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(s.st_info) != STT_FUNC || !s.st_value ||
	    !within(o, o->strtab + s.st_name, n) || !image_read(im, o->strtab + s.st_name, text, n) ||
	    memcmp(text, name, n))
		return 0;
	return within(o, s.st_value + o->bias, 1) ? s.st_value + o->bias : 0;
}

uint64_t objects_symbol(const struct objects *objects, struct object *o, const char *name)
{
	const struct image *im = objects->image;
	uint32_t head[4], h = 5381, bucket, word; // buckets, first symbol, bloom words, shift
	if (!o->dyn)
		read_dynamic(im, o);
	if (!o->hash || !o->symtab || !o->strtab || !image_read(im, o->hash, head, sizeof(head)) || !head[0])
		return 0;
	for (const char *p = name; *p; p++)
		h = h * 33 + (unsigned char)*p;
	uint64_t buckets = o->hash + sizeof(head) + 8ULL * head[2], chains = buckets + 4ULL * head[0];
	if (!image_read(im, buckets + 4ULL * (h % head[0]), &bucket, 4) || bucket < head[1])
		return 0;
	for (uint32_t i = bucket, steps = 0; steps < CHAIN_MAX; i++, steps++) {
		if (!image_read(im, chains + 4ULL * (i - head[1]), &word, 4))
			return 0;
		uint64_t found = (word | 1) == (h | 1) ? try_symbol(im, o, i, name) : 0;
		if (found || (word & 1))
			return found;
	}
	return 0;
}
