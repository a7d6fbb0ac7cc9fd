// SPDX-License-Identifier: MIT
//
// A core holds the region's tables as they were (preload/dump.c): present state, no
// history, and nothing could be asked of the kernel. The region is found by its magic
// among the segments, and its parts are put where they lay into a sparse copy, so that
// the same checks hold as for a live one (ctp_region_open): whatever stands in a file,
// no offset of it is used before it is bounded. What the copy lacks reads as zeros, which in
// every table means: not in use.
#include "trace/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gelf.h>
#include <libelf.h>

#include "ctp/seq.h"
#include "ctp/tables.h"

enum { PAGE = 4096 };
#define REGION_MOST (1ULL << 42)

struct core {
	struct world_error *error;
	int fd;
	Elf *elf;
	size_t nsegments;
	uint64_t file_bytes;
	uint64_t base, bytes; // of the region, in the program
	unsigned char *copy;
	bool cut; // a segment ends behind the file's end
	struct ctp_region region;
	// of the notes
	uint32_t pid, tid; // tid: the thread that comes first, as the one that died does
	int signal;
	siginfo_t info;
	char command[ELF_PRARGSZ + 1];
};

static int refuse(struct core *c, const char *why)
{
	snprintf(c->error->text, sizeof(c->error->text), "%s", why);
	return -EPROTO;
}

bool core_is_elf(const unsigned char *head, size_t bytes)
{
	return bytes >= SELFMAG && !memcmp(head, ELFMAG, SELFMAG);
}

// ------------------------------------------------------------------ the file

// The kind of CPU that this program was built for.
static int own_machine(void)
{
	Elf64_Ehdr h = { .e_machine = EM_NONE };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && pread(fd, &h, sizeof(h), 0) != sizeof(h))
		h.e_machine = EM_NONE;
	if (fd >= 0)
		close(fd);
	return h.e_machine;
}

static int open_elf(struct core *c, const char *path)
{
	struct stat st;
	GElf_Ehdr h;
	c->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (c->fd < 0 || fstat(c->fd, &st))
		return -errno;
	c->file_bytes = (uint64_t)st.st_size;
	elf_version(EV_CURRENT);
	c->elf = elf_begin(c->fd, ELF_C_READ, NULL);
	if (!c->elf || elf_kind(c->elf) != ELF_K_ELF || !gelf_getehdr(c->elf, &h))
		return refuse(c, "an ELF file that is cut off or damaged");
	if (h.e_type != ET_CORE)
		return refuse(c, "an ELF file, but no core; give a trace directory, JSON lines, or a core file");
	if (h.e_ident[EI_CLASS] != ELFCLASS64)
		return refuse(c, "the core of a 32-bit program, which ctp does not trace");
	if (own_machine() != EM_NONE && h.e_machine != own_machine())
		return refuse(c, "a core from another kind of CPU; read it with ctp-analyze on such a machine");
	return elf_getphdrnum(c->elf, &c->nsegments) ? refuse(c, "a core whose segments cannot be read") : 0;
}

// Segment i, if it is memory: as much of it as the file says it holds.
static bool segment(struct core *c, size_t i, GElf_Phdr *p)
{
	if (!gelf_getphdr(c->elf, (int)i, p) || p->p_type != PT_LOAD || !p->p_filesz || p->p_vaddr + p->p_filesz < p->p_vaddr)
		return false;
	if (p->p_offset <= c->file_bytes && p->p_filesz <= c->file_bytes - p->p_offset)
		return true;
	c->cut = true;
	return false;
}

static bool read_at(const struct core *c, void *to, uint64_t bytes, uint64_t offset)
{
	for (uint64_t done = 0; done < bytes;) {
		ssize_t n = pread(c->fd, (char *)to + done, bytes - done, (off_t)(offset + done));
		if (n <= 0)
			return false;
		done += (uint64_t)n;
	}
	return true;
}

// ---------------------------------------------------------------- the region

static bool begins_region(const struct core *c, const GElf_Phdr *p, struct ctp_header *h)
{
	return p->p_filesz >= sizeof(*h) && read_at(c, h, sizeof(*h), p->p_offset) && h->magic == CTP_MAGIC &&
	       h->ext.magic == CTP_EXT_MAGIC && h->ext.region_base == p->p_vaddr && h->ext.guest_pid;
}

static int find_region(struct core *c)
{
	struct ctp_header h;
	GElf_Phdr p;
	for (size_t i = 0; i < c->nsegments; i++) {
		if (!segment(c, i, &p) || !begins_region(c, &p, &h))
			continue;
		if (world_layout(c->error, "a core with tables ", h.ext.version))
			return -EPROTO;
		if (h.ext.region_bytes > REGION_MOST || h.ext.region_bytes < sizeof(h))
			return refuse(c, "a core in which ctp's tables are damaged");
		c->base = p.p_vaddr;
		c->bytes = h.ext.region_bytes;
		return 0;
	}
	if (c->cut)
		return refuse(c, "a core that is cut off before ctp's tables; was there room, and is `ulimit -c` unlimited?");
	return refuse(c, "a core of a program that was not traced, or that leaves shared memory out: run it with ctp-run, "
			 "with bit 1 of /proc/PID/coredump_filter set");
}

// What of segment p lies in the region, into the copy.
static bool put_segment(const struct core *c, const GElf_Phdr *p)
{
	uint64_t lo = p->p_vaddr > c->base ? p->p_vaddr : c->base;
	uint64_t end = p->p_vaddr + p->p_filesz, hi = end < c->base + c->bytes ? end : c->base + c->bytes;
	if (lo >= hi)
		return true;
	uint64_t from = (lo - c->base) & ~(PAGE - 1ULL);
	if (mprotect(c->copy + from, hi - c->base - from, PROT_READ | PROT_WRITE))
		return false;
	return read_at(c, c->copy + (lo - c->base), hi - lo, p->p_offset + (lo - p->p_vaddr));
}

static int copy_region(struct core *c)
{
	GElf_Phdr p;
	c->cut = false;
	void *copy = mmap(NULL, c->bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (copy == MAP_FAILED)
		return -errno;
	c->copy = copy;
	for (size_t i = 0; i < c->nsegments; i++) {
		if (segment(c, i, &p) && !put_segment(c, &p))
			return -EIO;
		if (c->cut && p.p_vaddr < c->base + c->bytes && p.p_vaddr + p.p_memsz > c->base)
			return refuse(c, "a core that is cut off in ctp's tables; was there room, and is `ulimit -c` unlimited?");
		c->cut = false;
	}
	return ctp_region_open(&c->region, c->copy, c->bytes) ? refuse(c, "a core in which ctp's tables are damaged") : 0;
}

// ----------------------------------------------------------------- the notes

static void note(struct core *c, const GElf_Nhdr *n, const char *name, const char *desc)
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

static void read_notes(struct core *c)
{
	GElf_Phdr p;
	for (size_t i = 0; i < c->nsegments; i++) {
		if (!gelf_getphdr(c->elf, (int)i, &p) || p.p_type != PT_NOTE || p.p_offset > c->file_bytes ||
		    p.p_filesz > c->file_bytes - p.p_offset)
			continue;
		Elf_Data *d = elf_getdata_rawchunk(c->elf, (int64_t)p.p_offset, p.p_filesz, ELF_T_NHDR);
		GElf_Nhdr n;
		size_t name, desc;
		for (size_t at = 0; d && (at = gelf_getnote(d, at, &n, &name, &desc)) > 0;)
			note(c, &n, (const char *)d->d_buf + name, (const char *)d->d_buf + desc);
	}
}

// ---------------------------------------------------------------- the tables

// Rows are counted, then put into memory that table_close gives back.
struct rows {
	struct table *table;
	const struct ctp_table_shape *shape;
	unsigned char *to; // NULL: only counted
};

static void put_row(void *arg, uint64_t index, const void *row)
{
	struct rows *r = arg;
	unsigned char *to = r->to ? r->to + r->table->n * r->table->row_bytes : NULL;
	r->table->n++;
	if (to && r->shape->indexed)
		memcpy(to, &index, sizeof(index));
	if (to)
		memcpy(to + (r->shape->indexed ? 8 : 0), row, r->shape->bytes);
}

static int make_room(struct rows *r)
{
	size_t bytes = r->table->n * r->table->row_bytes;
	void *p = bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : NULL;
	if (p == MAP_FAILED)
		return -ENOMEM;
	r->table->map = (struct file_map){ .data = p, .bytes = bytes };
	r->table->rows = r->to = p;
	return 0;
}

static int copy_table(const struct core *c, enum ctp_table which, struct table *t)
{
	const struct ctp_table_shape *shape = &ctp_table_shapes[which];
	struct rows r = { t, shape, NULL };
	uint64_t n;
	*t = (struct table){ .row_bytes = shape->bytes + (shape->indexed ? 8 : 0), .indexed = shape->indexed };
	if (which < CTP_TABLES_BY_ROW) {
		ctp_table_rows(&c->region, which, put_row, &r);
		int e = make_room(&r);
		t->n = 0;
		if (!e && r.to)
			ctp_table_rows(&c->region, which, put_row, &r);
		return e;
	}
	const void *rows = ctp_table_whole(&c->region, which, &n);
	t->n = n;
	int e = make_room(&r);
	if (!e && r.to)
		memcpy(r.to, rows, n * shape->bytes);
	return e;
}

static int copy_tables(const struct core *c, struct image *m)
{
	struct table *all[CTP_TABLES] = {
		[CTP_TABLE_STATIONS] = &m->stations, [CTP_TABLE_THREADS] = &m->threads, [CTP_TABLE_FDS] = &m->fds,
		[CTP_TABLE_CANDS] = &m->cands, [CTP_TABLE_MODULES] = &m->modules, [CTP_TABLE_INCIDENTS] = &m->incidents,
		[CTP_TABLE_STACK_INDEX] = &m->stack_index, [CTP_TABLE_STACK_WORDS] = &m->stack_words,
		[CTP_TABLE_SITES] = &m->sites, [CTP_TABLE_NAMES] = &m->names, [CTP_TABLE_EXT] = &m->ext_table,
	};
	int r = 0;
	for (unsigned i = 0; !r && i < CTP_TABLES; i++)
		r = copy_table(c, i, all[i]);
	m->ext = *c->region.ext;
	return r;
}

// ----------------------------------------------------------------- the world

// What is not noted by the program itself, the kernel's notes say in part: which thread,
// and so who ran; not where.
static void mend_crash(const struct core *c, struct image *m)
{
	struct ctp_crash *to = &m->ext.crash;
	if (to->ready == 1 || !c->signal || c->info.si_signo != c->signal)
		return;
	*to = (struct ctp_crash){ .ready = 1, .signal = c->signal, .code = c->info.si_code, .tid = c->tid,
				  .armed = to->armed, .thread = UINT32_MAX };
	to->addr = c->info.si_code > 0 ? (uint64_t)c->info.si_addr : 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		if (t->tid == c->tid && t->life == CTP_THREAD_LIVE) {
			to->who = t->current;
			to->thread = (uint32_t)table_index(&m->threads, i);
		}
	}
}

// From ticks to ns: by the pair from the start, and the latest that there is.
static void set_clock(struct manifest *m, const struct ctp_ext *e)
{
	bool noted = e->crash.ready == 1 && e->crash.time_ns;
	m->ticks0 = e->clock_ticks0;
	m->ns0 = e->clock_ns0;
	m->ticks1 = noted ? e->crash.time : e->clock_ticks1;
	m->ns1 = noted ? e->crash.time_ns : e->clock_ns1;
	m->ticks_are_ns = e->clock_kind != CTP_CLOCK_TSC || m->ticks1 <= m->ticks0 || m->ns1 <= m->ns0;
}

// When it was made: nothing is later than its last word.
static uint64_t latest_ns(const struct manifest *clock, const struct image *m)
{
	uint64_t ticks = m->ext.crash.time;
	for (size_t i = 0; i < m->stations.n; i++)
		ticks = image_state(m, i)->since > ticks ? image_state(m, i)->since : ticks;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct ctp_thread *t = table_row(&m->threads, i);
		ticks = t->wait_since > ticks ? t->wait_since : ticks;
	}
	uint64_t ns = manifest_ns(clock, ticks);
	return m->ext.crash.ready == 1 || ns > m->ext.clock_ns1 ? ns : m->ext.clock_ns1;
}

static int fill_world(const struct core *c, struct world *w)
{
	struct image *m = w->images = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	w->nimages = w->processes = 1;
	w->form = WORLD_CORE;
	w->has_last_tables = w->manifest.complete = true;
	m->pid = c->pid ? c->pid : c->region.ext->guest_pid;
	int r = copy_tables(c, m);
	if (r)
		return r;
	mend_crash(c, m);
	m->ended_signal = m->ext.crash.ready == 1 ? m->ext.crash.signal : -1;
	set_clock(&w->manifest, &m->ext);
	m->snapshot_reason = "core";
	m->snapshot_ns = w->snapshot_ns = w->manifest.snapshot_ns = latest_ns(&w->manifest, m);
	w->manifest.ended_signal = m->ended_signal;
	m->ext_table.time = m->ext.crash.time;
	w->start_ns = m->ext.attached_ns;
	w->duration_ns = w->snapshot_ns > w->start_ns ? w->snapshot_ns - w->start_ns : 0;
	return image_settle(m);
}

static int sum_up(const struct core *c, struct world *w)
{
	const struct image *m = &w->images[0];
	w->counts = m->counts;
	w->coroutines = m->counts.created + m->counts.suspended + m->counts.running + m->counts.finished + m->counts.destroyed;
	w->lost = m->counts.lost;
	for (size_t i = 0; i < m->threads.n; i++)
		w->threads += ((const struct ctp_thread *)table_row(&m->threads, i))->head > 0;
	int r = world_cover(w, "a core file: the tables as they were, no history, and nothing could be asked of the kernel or "
			    "of other processes");
	if (!r && *c->command)
		r = world_cover(w, "process %" PRIu64 ": %s", m->pid, c->command);
	return r;
}

int core_read(struct world *w, struct world_error *error)
{
	struct core c = { .error = error, .fd = -1 };
	int r = open_elf(&c, w->path);
	if (!r)
		r = find_region(&c);
	if (!r)
		r = copy_region(&c);
	if (!r) {
		read_notes(&c);
		r = fill_world(&c, w);
	}
	if (!r)
		r = sum_up(&c, w);
	if (c.copy)
		munmap(c.copy, c.bytes);
	if (c.elf)
		elf_end(c.elf);
	if (c.fd >= 0)
		close(c.fd);
	return r;
}
