// SPDX-License-Identifier: MIT
//
// Reads the notes of a core file, and its segments, also those whose memory the file does not
// hold. A note that is cut off or whose counts do not fit its size is left out.
#include "core/corenotes.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include <gelf.h>
#include <libelf.h>

#include "base/grow.h"

static int add_thread(struct corenotes *n, const char *desc, size_t bytes)
{
	struct elf_prstatus s;
	if (bytes != sizeof(s))
		return 0;
	int e = GROW(n->threads, n->nthreads, n->threads_capacity);
	if (e)
		return e;
	memcpy(&s, desc, sizeof(s));
	struct corenotes_thread *t = &n->threads[n->nthreads++];
	t->tid = (uint32_t)s.pr_pid;
	memcpy(&t->regs, &s.pr_reg, sizeof(t->regs));
	return 0;
}

static int by_lo(const void *a, const void *b)
{
	const struct corenotes_file *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

// NT_FILE: a count, the size of a page, that many (start, end, page offset), then as many names.
static int read_files(struct corenotes *n, const char *desc, size_t bytes)
{
	uint64_t head[2], row[3];
	if (n->files || bytes < sizeof(head))
		return 0;
	memcpy(head, desc, sizeof(head));
	if (head[0] > (bytes - sizeof(head)) / sizeof(row) || !head[1] || head[1] > (1 << 20))
		return 0;
	size_t at = sizeof(head) + head[0] * sizeof(row), left = bytes - at;
	n->files = calloc(head[0] + 1, sizeof(*n->files));
	n->names = malloc(left + 1);
	if (!n->files || !n->names)
		return -ENOMEM;
	memcpy(n->names, desc + at, left);
	n->names[left] = 0;
	const char *name = n->names, *end = n->names + left;
	for (uint64_t i = 0; i < head[0] && name < end; i++) {
		memcpy(row, desc + sizeof(head) + i * sizeof(row), sizeof(row));
		if (row[1] > row[0])
			n->files[n->nfiles++] =
				(struct corenotes_file){row[0], row[1], row[2] * head[1], name};
		name += strlen(name) + 1;
	}
	qsort(n->files, n->nfiles, sizeof(*n->files), by_lo);
	return 0;
}

static int read_auxv(struct corenotes *n, const char *desc, size_t bytes)
{
	if (n->auxv || !bytes)
		return 0;
	n->auxv = malloc(bytes);
	if (!n->auxv)
		return -ENOMEM;
	memcpy(n->auxv, desc, bytes);
	n->nauxv = bytes / sizeof(uint64_t);
	return 0;
}

static int note(struct corenotes *n, const GElf_Nhdr *h, const char *name, const char *desc)
{
	struct elf_prpsinfo process;
	if (h->n_namesz != 5 || memcmp(name, "CORE", 5))
		return 0;
	switch (h->n_type) {
	case NT_PRSTATUS:
		return add_thread(n, desc, h->n_descsz);
	case NT_FILE:
		return read_files(n, desc, h->n_descsz);
	case NT_AUXV:
		return read_auxv(n, desc, h->n_descsz);
	case NT_PRPSINFO:
		if (h->n_descsz == sizeof(process)) {
			memcpy(&process, desc, sizeof(process));
			n->pid = (uint32_t)process.pr_pid;
		}
		return 0;
	default:
		return 0;
	}
}

static int read_notes(struct corenotes *n, Elf *elf, const GElf_Phdr *p)
{
	Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz, ELF_T_NHDR);
	GElf_Nhdr h;
	size_t name, desc;
	int e = 0;
	for (size_t at = 0; !e && d && (at = gelf_getnote(d, at, &h, &name, &desc)) > 0;)
		e = note(n, &h, (const char *)d->d_buf + name, (const char *)d->d_buf + desc);
	return e;
}

static int add_map(struct corenotes *n, const GElf_Phdr *p)
{
	if (!p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
		return 0;
	int e = GROW(n->maps, n->nmaps, n->maps_capacity);
	if (e)
		return e;
	struct corenotes_map *m = &n->maps[n->nmaps++];
	*m = (struct corenotes_map){.lo = p->p_vaddr, .hi = p->p_vaddr + p->p_memsz, .perms = "---p"};
	m->perms[0] = p->p_flags & PF_R ? 'r' : '-';
	m->perms[1] = p->p_flags & PF_W ? 'w' : '-';
	m->perms[2] = p->p_flags & PF_X ? 'x' : '-';
	return 0;
}

static int map_by_lo(const void *a, const void *b)
{
	const struct corenotes_map *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

int corenotes_read(struct corenotes *n, int fd)
{
	size_t segments = 0;
	GElf_Phdr p;
	*n = (struct corenotes){0};
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	int e = elf && elf_kind(elf) == ELF_K_ELF && !elf_getphdrnum(elf, &segments) ? 0 : -EPROTO;
	for (size_t i = 0; !e && i < segments; i++) {
		if (!gelf_getphdr(elf, (int)i, &p))
			continue;
		if (p.p_type == PT_LOAD)
			e = add_map(n, &p);
		else if (p.p_type == PT_NOTE)
			e = read_notes(n, elf, &p);
	}
	if (n->nmaps)
		qsort(n->maps, n->nmaps, sizeof(*n->maps), map_by_lo);
	if (elf)
		elf_end(elf);
	if (e)
		corenotes_deinit(n);
	return e;
}

void corenotes_deinit(struct corenotes *n)
{
	free(n->threads);
	free(n->maps);
	free(n->files);
	free(n->names);
	free(n->auxv);
	*n = (struct corenotes){0};
}
