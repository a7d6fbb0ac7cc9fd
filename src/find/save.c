// SPDX-License-Identifier: MIT
//
// The core is one as the kernel writes: notes of the process and of each thread, then memory. Pages
// that were never touched are holes in the file. Of mapped files only the first page is taken, and
// what the process has changed.
#include "find/save.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/grow.h"
#include "base/living.h"
#include "find/save_tables.h"

enum { PAGE = 4096, CHUNK = 1 << 20, NOTE_ALIGN = 4 };

struct notes {
	unsigned char *bytes;
	size_t n, capacity;
	bool failed;
};

struct segment {
	const struct maps_line *map;
	uint64_t bytes, offset; // that the file holds
};

// ------------------------------------------------------------------------- notes

static void put(struct notes *s, const void *bytes, size_t n)
{
	while (!s->failed && s->capacity - s->n < n) {
		size_t want = s->capacity ? 2 * s->capacity : 4096;
		unsigned char *more = realloc(s->bytes, want);
		s->failed = !more;
		s->bytes = more ? more : s->bytes;
		s->capacity = more ? want : s->capacity;
	}
	if (s->failed)
		return;
	if (bytes)
		memcpy(s->bytes + s->n, bytes, n);
	else
		memset(s->bytes + s->n, 0, n);
	s->n += n;
}

static void put_note(struct notes *s, uint32_t type, const void *bytes, size_t n)
{
	const ElfW(Nhdr) h = {.n_namesz = 5, .n_descsz = (uint32_t)n, .n_type = type};
	put(s, &h, sizeof(h));
	put(s, "CORE\0\0\0", 8);
	put(s, bytes, n);
	put(s, NULL, (NOTE_ALIGN - n % NOTE_ALIGN) % NOTE_ALIGN);
}

static void put_regs(struct user_regs_struct *u, const struct image_thread *t)
{
#if defined(__x86_64__)
	u->rip = t->regs[CTP_REG_PC];
	u->rsp = t->regs[CTP_REG_SP];
	u->rbp = t->regs[CTP_REG_FP];
	u->rbx = t->regs[CTP_REG_S0];
	u->r12 = t->regs[CTP_REG_S1];
	u->r13 = t->regs[CTP_REG_S2];
	u->r14 = t->regs[CTP_REG_S3];
	u->r15 = t->regs[CTP_REG_S4];
	u->rdi = t->args[0];
	u->rsi = t->args[1];
	u->rdx = t->args[2];
	u->r10 = t->args[3];
	u->r8 = t->args[4];
	u->r9 = t->args[5];
	u->orig_rax = (unsigned long long)t->nr;
	u->rax = t->nr < 0 ? t->scratch[0] : (unsigned long long)-EINTR; // it still waits
	u->rcx = t->scratch[1];
	u->r11 = t->scratch[2];
#endif
}

static void put_thread(struct notes *s, const struct image *im, const struct image_thread *t)
{
	struct elf_prstatus status = {.pr_pid = t->tid, .pr_pgrp = getpgid(im->pid)};
	struct user_regs_struct regs = {0};
	put_regs(&regs, t);
	memcpy(&status.pr_reg, &regs, sizeof(regs));
	put_note(s, NT_PRSTATUS, &status, sizeof(status));
}

static size_t read_small(pid_t pid, const char *name, char *to, size_t bytes)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)(strcmp(name, "comm") ? living_of(pid) : pid), name);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(to, 1, bytes, f) : 0;
	if (f)
		fclose(f);
	return n;
}

static void put_process(struct notes *s, const struct image *im)
{
	struct elf_prpsinfo p = {.pr_sname = 'S', .pr_pid = im->pid};
	char auxv[2048];
	size_t n = read_small(im->pid, "comm", p.pr_fname, sizeof(p.pr_fname) - 1);
	p.pr_fname[strcspn(p.pr_fname, "\n")] = 0;
	n = read_small(im->pid, "cmdline", p.pr_psargs, sizeof(p.pr_psargs) - 1);
	for (size_t i = 0; i + 1 < n; i++)
		if (!p.pr_psargs[i])
			p.pr_psargs[i] = ' ';
	put_note(s, NT_PRPSINFO, &p, sizeof(p));
	n = read_small(im->pid, "auxv", auxv, sizeof(auxv));
	put_note(s, NT_AUXV, auxv, n);
}

static void put_files(struct notes *s, const struct segment *v, size_t n)
{
	struct notes d = {0};
	uint64_t head[2] = {0, PAGE}, row[3];
	for (size_t i = 0; i < n; i++)
		head[0] += *v[i].map->path == '/';
	put(&d, head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		const struct maps_line *m = v[i].map;
		if (*m->path != '/')
			continue;
		row[0] = m->lo;
		row[1] = m->hi;
		row[2] = m->offset / PAGE;
		put(&d, row, sizeof(row));
	}
	for (size_t i = 0; i < n; i++)
		if (*v[i].map->path == '/')
			put(&d, v[i].map->path, strlen(v[i].map->path) + 1);
	if (!d.failed)
		put_note(s, NT_FILE, d.bytes, d.n);
	s->failed |= d.failed;
	free(d.bytes);
}

// The main thread first, as a debugger expects.
static void put_all(struct notes *s, const struct image *im, const struct segment *v, size_t n)
{
	put_process(s, im);
	for (size_t i = 0; i < im->nthreads; i++)
		if (im->threads[i].tid == im->pid)
			put_thread(s, im, &im->threads[i]);
	for (size_t i = 0; i < im->nthreads; i++)
		if (im->threads[i].tid != im->pid)
			put_thread(s, im, &im->threads[i]);
	put_files(s, v, n);
}

// ------------------------------------------------------------------------ memory

static bool starts(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

// Has the process pages of its own there? The loader has, in what it protects once it has relocated it.
static bool is_changed(const struct image *im, const struct maps_line *m)
{
	enum { AT_ONCE = 512 };
	uint64_t entries[AT_ONCE], pages = (m->hi - m->lo) / PAGE;
	for (uint64_t at = 0; at < pages; at += AT_ONCE) {
		size_t n = pages - at < AT_ONCE ? (size_t)(pages - at) : AT_ONCE;
		n = memory_page_entries(&im->memory, m->lo / PAGE + at, entries, n);
		if (!n)
			return true; // it is not known
		for (size_t i = 0; i < n; i++)
			if ((entries[i] & (MEMORY_PRESENT | MEMORY_SWAPPED)) && !(entries[i] & MEMORY_FILE))
				return true;
	}
	return false;
}

// How much of a mapping the core holds.
static uint64_t held_bytes(const struct image *im, const struct maps_line *m)
{
	bool device = starts(m->path, "/dev/") && !starts(m->path, "/dev/shm/") &&
		      !starts(m->path, "/dev/zero");
	bool nameless = starts(m->path, "/memfd:") || starts(m->path, "/dev/zero") ||
			starts(m->path, "/SYSV");
	if (m->perms[0] != 'r' || device || starts(m->path, "[v"))
		return 0;
	if (m->perms[3] == 's')
		return !m->ino || nameless ? m->hi - m->lo : 0;
	if (m->perms[1] == 'w' || !m->ino)
		return m->hi - m->lo;
	return is_changed(im, m) ? m->hi - m->lo : m->offset ? 0 : PAGE;
}

static int write_at(int fd, const void *bytes, size_t n, uint64_t at)
{
	const char *p = bytes;
	while (n) {
		ssize_t k = pwrite(fd, p, n, (off_t)at);
		if (k < 0)
			return -errno;
		p += k;
		at += (uint64_t)k;
		n -= (size_t)k;
	}
	return 0;
}

static bool all_zero(const char *p, size_t n)
{
	return !*p && !memcmp(p, p + 1, n - 1);
}

// A private mapping of no file, and ctp's tables: what was never touched is a hole. What vanishes meanwhile
// reads as zeros.
static int write_segment(int fd, const struct image *im, const struct segment *s, char *buffer)
{
	int e = 0;
	for (uint64_t at = 0; !e && at < s->bytes; at += CHUNK) {
		size_t n = s->bytes - at < CHUNK ? (size_t)(s->bytes - at) : CHUNK;
		bool sparse = (s->map->perms[3] == 'p' && !s->map->ino) || image_is_region(s->map);
		size_t got = sparse ? image_peek_touched(im, s->map->lo + at, buffer, n) :
				      image_peek(im, s->map->lo + at, buffer, n);
		for (size_t k = 0; !e && k < got; k += PAGE) {
			size_t some = got - k < PAGE ? got - k : PAGE;
			if (!all_zero(buffer + k, some))
				e = write_at(fd, buffer + k, some, s->offset + at + k);
		}
	}
	return e;
}

static int write_core(int fd, const struct image *im, const struct notes *notes, struct segment *s, size_t n)
{
	ElfW(Ehdr) eh = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_CORE,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(ElfW(Phdr)),
			 .e_phnum = (uint16_t)(n + 1)};
	uint64_t at = sizeof(eh) + (n + 1) * sizeof(ElfW(Phdr));
	ElfW(Phdr) p = {.p_type = PT_NOTE, .p_offset = at, .p_filesz = notes->n, .p_align = NOTE_ALIGN};
	char *buffer = malloc(CHUNK);
	int e = buffer ? write_at(fd, &eh, sizeof(eh), 0) : -ENOMEM;
	if (!e)
		e = write_at(fd, &p, sizeof(p), sizeof(eh));
	if (!e)
		e = write_at(fd, notes->bytes, notes->n, at);
	at = (at + notes->n + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	for (size_t i = 0; !e && i < n; i++) {
		const struct maps_line *m = s[i].map;
		s[i].offset = at;
		p = (ElfW(Phdr)){.p_type = PT_LOAD,
				 .p_offset = at,
				 .p_vaddr = m->lo,
				 .p_filesz = s[i].bytes,
				 .p_memsz = m->hi - m->lo,
				 .p_align = PAGE,
				 .p_flags = (m->perms[0] == 'r' ? PF_R : 0u) |
					    (m->perms[1] == 'w' ? PF_W : 0u) |
					    (m->perms[2] == 'x' ? PF_X : 0u)};
		e = write_at(fd, &p, sizeof(p), sizeof(eh) + (i + 1) * sizeof(p));
		if (!e)
			e = write_segment(fd, im, &s[i], buffer);
		at += s[i].bytes;
	}
	if (!e && ftruncate(fd, (off_t)at))
		e = -errno;
	free(buffer);
	return e;
}

static int save_core(int folder, const struct image *im, const struct maps_line *tables, size_t ntables)
{
	struct notes notes = {0};
	struct segment *s = calloc(im->nmaps + ntables + 1, sizeof(*s));
	size_t n = 0;
	int fd = openat(folder, "core", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	int e = fd < 0 ? -errno : s ? 0 : -ENOMEM;
	for (size_t i = 0; !e && i < im->nmaps && n < PN_XNUM - 2; i++)
		if (!starts(im->maps[i].path, "[vsyscall"))
			s[n++] = (struct segment){&im->maps[i], held_bytes(im, &im->maps[i]), 0};
	for (size_t i = 0; !e && i < ntables && n < PN_XNUM - 2; i++)
		s[n++] = (struct segment){&tables[i], tables[i].hi - tables[i].lo, 0};
	if (!e)
		put_all(&notes, im, s, n);
	if (!e)
		e = notes.failed ? -ENOMEM : write_core(fd, im, &notes, s, n);
	if (fd >= 0 && close(fd) && !e)
		e = -errno;
	free(notes.bytes);
	free(s);
	return e;
}

// ------------------------------------------------------------------ the kernel's part

static int copy_file(pid_t pid, int folder, const char *name)
{
	char path[320], buffer[16384];
	int e = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0)
		return 0; // it is not there (any more)
	int to = openat(folder, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	e = to < 0 ? -errno : 0;
	uint64_t at = 0;
	for (ssize_t n; !e && (n = read(from, buffer, sizeof(buffer))) > 0; at += (uint64_t)n)
		e = write_at(to, buffer, (size_t)n, at);
	close(from);
	if (to >= 0)
		close(to);
	return e;
}

static int save_descriptors(pid_t pid, int folder)
{
	char path[64], name[300], link[4096];
	int e = 0;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *d = opendir(path);
	for (struct dirent *x; !e && d && (x = readdir(d));) {
		if (!isdigit((unsigned char)*x->d_name))
			continue;
		ssize_t n = readlinkat(dirfd(d), x->d_name, link, sizeof(link) - 1);
		snprintf(name, sizeof(name), "fd/%s", x->d_name);
		link[n > 0 ? n : 0] = 0;
		if (n > 0 && symlinkat(link, folder, name))
			e = -errno;
		snprintf(name, sizeof(name), "fdinfo/%s", x->d_name);
		if (!e)
			e = copy_file(pid, folder, name);
	}
	if (d)
		closedir(d);
	return e;
}

static int save_kernel(int folder, const struct image *im)
{
	static const char *const folders[] = {"fd", "fdinfo", "net"};
	static const char *const files[] = {"net/tcp",  "net/tcp6", "net/udp", "net/udp6",
					    "net/unix", "timers",   "comm",    "status"};
	int e = 0;
	for (size_t i = 0; !e && i < sizeof(folders) / sizeof(*folders); i++)
		e = mkdirat(folder, folders[i], 0700) ? -errno : 0;
	if (!e)
		e = save_descriptors(living_of(im->pid), folder);
	for (size_t i = 0; !e && i < sizeof(files) / sizeof(*files); i++)
		e = copy_file(strchr(files[i], '/') ? living_of(im->pid) : im->pid, folder, files[i]);
	return e;
}

static int save_partial(int folder, const struct image *im)
{
	int fd = openat(folder, "partial", O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
	if (!f) {
		int e = -errno;
		if (fd >= 0)
			close(fd);
		return e;
	}
	for (size_t i = 0; i < im->nthreads; i++)
		if (!im->threads[i].whole)
			fprintf(f, "%d %d %ld\n", im->threads[i].tid, im->threads[i].placed,
				im->threads[i].nr);
	return fclose(f) ? -errno : 0;
}

static int take_away(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

int save_process(const struct image *im, bool tables, const char *path)
{
	struct maps_line *parts = NULL;
	size_t nparts = 0;
	if (mkdir(path, 0700))
		return -errno;
	int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int e = folder < 0 ? -errno : 0;
	if (!e)
		e = save_kernel(folder, im);
	if (!e)
		e = tables ? save_tables_find(im->pid, &parts, &nparts) : 0;
	if (!e)
		e = save_core(folder, im, parts, nparts);
	if (!e)
		e = save_partial(folder, im);
	if (folder >= 0)
		close(folder);
	free(parts);
	if (e)
		nftw(path, take_away, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
	return e;
}

void save_read_partial(struct image *im, const char *folder)
{
	char path[4200];
	int tid, placed;
	long nr;
	snprintf(path, sizeof(path), "%s/partial", folder);
	FILE *f = fopen(path, "re");
	while (f && fscanf(f, "%d %d %ld", &tid, &placed, &nr) == 3)
		for (size_t i = 0; i < im->nthreads; i++)
			if (im->threads[i].tid == tid) {
				im->threads[i].whole = false;
				im->threads[i].placed = placed;
				im->threads[i].nr = nr;
			}
	if (f)
		fclose(f);
}
