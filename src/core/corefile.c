// SPDX-License-Identifier: MIT
//
// Finds the region by its magic among the segments. No offset of the file is used before it
// is bounded, by the file's size or by the caller. What a core file lacks reads as zeros,
// which in every table of a region means: not in use.
#include "core/corefile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/search.h"

#define REGION_MOST (1ULL << 42)
#define HOLE_LEAST (64u << 10)

static int refuse(struct corefile *c, const char *why)
{
	c->why = why;
	return -EPROTO;
}

bool corefile_is_elf(const unsigned char *head, size_t bytes)
{
	return bytes >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

// The kind of CPU that this program was built for.
static int own_machine(void)
{
	Elf64_Ehdr h = {.e_machine = EM_NONE};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &h, sizeof(h), 0) != sizeof(h))
		h.e_machine = EM_NONE;
	if (fd >= 0)
		close(fd);
	return h.e_machine;
}

static int check_elf(struct corefile *c, Elf *elf, size_t *nsegments)
{
	GElf_Ehdr h;
	unsigned char head[SELFMAG];
	if (pread(c->fd, head, sizeof(head), 0) != sizeof(head) || !corefile_is_elf(head, sizeof(head)))
		return refuse(c, "not a core file");
	if (!elf || elf_kind(elf) != ELF_K_ELF || !gelf_getehdr(elf, &h))
		return refuse(c, "an ELF file that is cut off or damaged");
	if (h.e_type != ET_CORE)
		return refuse(c, "an ELF file, but no core; give the core, not the program");
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(c, "the core of a 32-bit program, which ctp does not trace");
	if (own_machine() != EM_NONE && h.e_machine != own_machine())
		return refuse(c, "a core from another kind of CPU; read it on such a machine");
	return elf_getphdrnum(elf, nsegments) ? refuse(c, "a core whose segments cannot be read") : 0;
}

// ----------------------------------------------------------------- the notes

static void note(struct corefile *c, const GElf_Nhdr *n, const char *name, const char *desc)
{
	struct elf_prstatus status;
	struct elf_prpsinfo process;
	if (n->n_namesz != 5 || memcmp(name, "CORE", 5))
		return;
	if (n->n_type == NT_PRSTATUS && !c->tid && n->n_descsz == sizeof(status)) {
		memcpy(&status, desc, sizeof(status));
		c->tid = (uint32_t)status.pr_pid;
		c->signal = status.pr_cursig;
	} else if (n->n_type == NT_PRPSINFO && n->n_descsz == sizeof(process)) {
		memcpy(&process, desc, sizeof(process));
		c->pid = (uint32_t)process.pr_pid;
		memcpy(c->command, process.pr_psargs, ELF_PRARGSZ);
		for (size_t end = strlen(c->command); end && c->command[end - 1] == ' ';)
			c->command[--end] = '\0';
	} else if (n->n_type == NT_SIGINFO && !c->info.si_signo && n->n_descsz == sizeof(c->info)) {
		memcpy(&c->info, desc, sizeof(c->info));
	}
}

static void read_notes(struct corefile *c, Elf *elf, const GElf_Phdr *p)
{
	Elf_Data *d = elf_getdata_rawchunk(elf, (int64_t)p->p_offset, p->p_filesz,
					   ELF_T_NHDR); // NULL: behind the file's end
	GElf_Nhdr n;
	size_t name, desc;
	for (size_t at = 0; d && (at = gelf_getnote(d, at, &n, &name, &desc)) > 0;)
		note(c, &n, (const char *)d->d_buf + name, (const char *)d->d_buf + desc);
}

// ----------------------------------------------------------------- the memory

static int by_address(const void *a, const void *b)
{
	const struct corefile_part *x = a, *y = b;
	return (x->addr > y->addr) - (x->addr < y->addr);
}

static int add_part(struct corefile *c, const GElf_Phdr *p)
{
	if (!p->p_filesz || p->p_vaddr + p->p_filesz < p->p_vaddr)
		return 0;
	bool cut = p->p_offset > c->file_bytes || p->p_filesz > c->file_bytes - p->p_offset;
	int e = GROW(c->parts, c->n, c->capacity);
	if (!e)
		c->parts[c->n++] =
			(struct corefile_part){p->p_vaddr, p->p_filesz, cut ? COREFILE_CUT : p->p_offset};
	c->cut |= cut;
	return e;
}

static int read_segments(struct corefile *c, Elf *elf, size_t n)
{
	GElf_Phdr p;
	int e = 0;
	for (size_t i = 0; !e && i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &p))
			continue;
		if (p.p_type == PT_LOAD)
			e = add_part(c, &p);
		else if (p.p_type == PT_NOTE)
			read_notes(c, elf, &p);
	}
	if (!e && c->n)
		qsort(c->parts, c->n, sizeof(*c->parts), by_address);
	return e;
}

int corefile_open(struct corefile *c, const char *path)
{
	struct stat st;
	size_t n;
	*c = (struct corefile){.fd = file_open(AT_FDCWD, path, 0)};
	if (c->fd == -EMEDIUMTYPE)
		return refuse(c, "not a core file");
	if (c->fd < 0 || fstat(c->fd, &st))
		return c->fd < 0 ? c->fd : -errno;
	c->file_bytes = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(c->fd, ELF_C_READ, NULL);
	int e = check_elf(c, elf, &n);
	if (!e)
		e = read_segments(c, elf, n);
	if (elf)
		elf_end(elf);
	return e;
}

void corefile_close(struct corefile *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->parts);
	*c = (struct corefile){.fd = -1};
}

// Goes past a hole of the file, and says how many bytes of data follow. Small reads are not worth the
// question.
static uint64_t skip_hole(const struct corefile *c, uint64_t *at, uint64_t end)
{
	if (end - *at < HOLE_LEAST)
		return end - *at;
	off_t data = lseek(c->fd, (off_t)*at, SEEK_DATA);
	if (data < 0 && errno == ENXIO && end <= c->file_bytes)
		*at = end;
	else if (data > (off_t)*at)
		*at = (uint64_t)data < end ? (uint64_t)data : end;
	off_t hole = lseek(c->fd, (off_t)*at, SEEK_HOLE);
	return hole > (off_t)*at && (uint64_t)hole < end ? (uint64_t)hole - *at : end - *at;
}

// Where there is a large hole in the file, `to` is left as it is.
static bool read_at(const struct corefile *c, void *to, uint64_t bytes, uint64_t offset)
{
	uint64_t at = offset, end = offset + bytes;
	while (at < end) {
		uint64_t here = skip_hole(c, &at, end);
		ssize_t n = here ? pread(c->fd, (char *)to + (at - offset), here, (off_t)at) : 0;
		if (here && n <= 0)
			return false;
		at += (uint64_t)n;
	}
	return true;
}

// The first part that ends above `addr`.
static size_t part_at(const struct corefile *c, uint64_t addr)
{
	return FIRST_NOT(c->n, i, c->parts[i].addr + c->parts[i].bytes <= addr);
}

bool corefile_read(const struct corefile *c, uint64_t addr, void *to, size_t bytes)
{
	memset(to, 0, bytes);
	return corefile_put(c, addr, to, bytes);
}

bool corefile_put(const struct corefile *c, uint64_t addr, void *to, size_t bytes)
{
	uint64_t end = addr + bytes;
	for (size_t i = part_at(c, addr); i < c->n && c->parts[i].addr < end; i++) {
		const struct corefile_part *p = &c->parts[i];
		uint64_t lo = p->addr > addr ? p->addr : addr,
			 hi = p->addr + p->bytes < end ? p->addr + p->bytes : end;
		if (lo < hi && (p->offset == COREFILE_CUT ||
				!read_at(c, (char *)to + (lo - addr), hi - lo, p->offset + (lo - p->addr))))
			return false;
	}
	return end >= addr;
}

bool corefile_holds(const struct corefile *c, uint64_t addr)
{
	size_t i = part_at(c, addr);
	return i < c->n && c->parts[i].addr <= addr && c->parts[i].offset != COREFILE_CUT;
}

uint64_t corefile_next(const struct corefile *c, uint64_t addr)
{
	for (size_t i = part_at(c, addr); i < c->n; i++)
		if (c->parts[i].offset != COREFILE_CUT)
			return c->parts[i].addr > addr ? c->parts[i].addr : addr;
	return UINT64_MAX;
}

size_t corefile_peek(const struct corefile *c, uint64_t addr, void *to, size_t bytes)
{
	size_t done = 0;
	for (size_t i = part_at(c, addr); done < bytes && i < c->n && corefile_holds(c, addr + done); i++) {
		const struct corefile_part *p = &c->parts[i];
		uint64_t in = addr + done - p->addr;
		size_t n = p->bytes - in < bytes - done ? (size_t)(p->bytes - in) : bytes - done;
		if (!read_at(c, (char *)to + done, n, p->offset + in))
			break;
		done += n;
	}
	return done;
}

// ---------------------------------------------------------------- the region

static bool begins_region(const struct corefile *c, const struct corefile_part *p, struct ctp_header *h)
{
	memset(h, 0, sizeof(*h));
	return p->bytes >= sizeof(*h) && p->offset != COREFILE_CUT && read_at(c, h, sizeof(*h), p->offset) &&
	       h->magic == CTP_MAGIC && h->ext.magic == CTP_EXT_MAGIC && h->ext.region_base == p->addr &&
	       h->ext.guest_pid;
}

int corefile_find_region(struct corefile *c)
{
	struct ctp_header h;
	for (size_t i = 0; i < c->n; i++) {
		if (!begins_region(c, &c->parts[i], &h))
			continue;
		c->base = c->parts[i].addr;
		c->bytes = h.ext.region_bytes;
		c->version = h.ext.version;
		return 0;
	}
	if (c->cut)
		return refuse(
			c,
			"a core that is cut off before ctp's tables; was there room, and is `ulimit -c` unlimited?");
	return refuse(
		c,
		"a core of a program that was not traced, or that leaves shared memory out: run it with ctp-run, "
		"with bit 1 of /proc/PID/coredump_filter set");
}

int corefile_check_region(struct corefile *c)
{
	if (c->bytes > REGION_MOST || c->bytes < sizeof(struct ctp_header))
		return refuse(c, "a core in which ctp's tables are damaged");
	for (size_t i = part_at(c, c->base); i < c->n && c->parts[i].addr < c->base + c->bytes; i++)
		if (c->parts[i].offset == COREFILE_CUT)
			return refuse(
				c,
				"a core that is cut off in ctp's tables; was there room, and is `ulimit -c` unlimited?");
	return 0;
}
