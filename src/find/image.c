// SPDX-License-Identifier: MIT
//
// Of a live process nothing is stopped: a thread that sleeps in a system call has its stack pointer
// in /proc/PID/task/TID/syscall, one that runs has none.
#include "find/image.h"

#include <ctype.h>
#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/living.h"
#include "base/search.h"

enum { PAGE = 4096, AT_ONCE = 512 };

struct image_file {
	int fd; // -1: it cannot be used
	bool tried;
};

// ------------------------------------------------------------------ mappings

// Most of it is a hole, and none of it the program's.
bool image_is_region(const struct maps_line *l)
{
	return !strcmp(l->path, IMAGE_REGION);
}

static int add_map(void *arg, const struct maps_line *l)
{
	struct image *im = arg;
	if (image_is_region(l))
		return 0;
	int e = GROW(im->maps, im->nmaps, im->maps_capacity);
	char *path = e ? NULL : strdup(l->path);
	if (!path)
		return -ENOMEM;
	im->maps[im->nmaps] = *l;
	im->maps[im->nmaps++].path = path;
	return 0;
}

static void set_maps(struct image *im)
{
	im->memory.maps = im->maps;
	im->memory.nmaps = im->nmaps;
}

const struct maps_line *image_map(const struct image *im, uint64_t addr)
{
	return memory_map(&im->memory, addr);
}

bool image_is_code(const struct image *im, uint64_t addr)
{
	const struct maps_line *m = image_map(im, addr);
	return m && m->perms[2] == 'x';
}

// ------------------------------------------------------------------ a process

static bool task_file(pid_t pid, int tid, const char *name, char *to, size_t bytes)
{
	char path[80];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, tid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, to, bytes - 1) : -1;
	if (fd >= 0)
		close(fd);
	to[n > 0 ? n : 0] = 0;
	return n > 0;
}

static void read_thread(const struct image *im, int tid, struct image_thread *t)
{
	char text[256];
	unsigned long long a[6], sp, pc;
	long long nr;
	*t = (struct image_thread){.tid = tid, .nr = -1};
	if (!task_file(im->pid, tid, "syscall", text, sizeof(text)))
		return;
	t->on_cpu = !strncmp(text, "running", 7);
	if (sscanf(text, "%lld %llx %llx %llx %llx %llx %llx %llx %llx", &nr, a, a + 1, a + 2, a + 3, a + 4,
		   a + 5, &sp, &pc) == 9) {
		t->nr = (long)nr;
		for (int i = 0; i < 6; i++)
			t->args[i] = a[i];
	} else if (sscanf(text, "%lld %llx %llx", &nr, &sp, &pc) != 3 || nr != -1) {
		return;
	}
	t->placed = sp != 0;
	t->regs[CTP_REG_SP] = sp;
	t->regs[CTP_REG_PC] = pc;
}

// Most threads that are on a CPU sleep again soon. Of one that does not, nothing is known.
static void await_sleep(struct image *im)
{
	enum { TRIES = 10, THREADS_MOST = 64, WAIT_NS = 300000 };
	size_t n = 1;
	for (int i = 0; n && i < TRIES; i++) {
		n = 0;
		for (size_t k = 0; k < im->nthreads; k++)
			n += im->threads[k].on_cpu;
		if (!n || n > THREADS_MOST)
			return;
		nanosleep(&(struct timespec){.tv_nsec = WAIT_NS}, NULL);
		for (size_t k = 0; k < im->nthreads; k++)
			if (im->threads[k].on_cpu)
				read_thread(im, im->threads[k].tid, &im->threads[k]);
	}
}

int image_read_threads(struct image *im)
{
	char path[40];
	int e = 0;
	if (im->core.file_bytes)
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)im->pid);
	DIR *d = opendir(path);
	if (!d)
		return -errno;
	im->nthreads = 0;
	// One that has ended is shown only if it was the first.
	int ended = living_of(im->pid) != im->pid ? (int)im->pid : 0;
	for (struct dirent *x; !e && (x = readdir(d));) {
		if (!isdigit((unsigned char)*x->d_name) || atoi(x->d_name) == ended)
			continue;
		e = GROW(im->threads, im->nthreads, im->threads_capacity);
		if (!e)
			read_thread(im, atoi(x->d_name), &im->threads[im->nthreads++]);
	}
	closedir(d);
	await_sleep(im);
	return e;
}

// A core does not say which mapping is the first thread's stack: the kernel's random bytes lie there.
static void name_stack(struct image *im, uint64_t addr)
{
	for (size_t i = 0; i < im->nmaps; i++)
		if (addr >= im->maps[i].lo && addr < im->maps[i].hi) {
			free((char *)im->maps[i].path);
			im->maps[i].path = strdup("[stack]");
			return;
		}
}

// The random bytes that the kernel gave it: the second word is glibc's pointer guard.
static void use_auxv(struct image *im, const uint64_t *v, size_t n)
{
	uint64_t words[2];
	for (size_t i = 0; i + 1 < n && v[i] != AT_NULL; i += 2) {
		if (v[i] == AT_ENTRY)
			im->entry = v[i + 1];
		if (v[i] == AT_RANDOM && im->core.file_bytes)
			name_stack(im, v[i + 1]);
		if (v[i] == AT_RANDOM && image_read(im, v[i + 1], words, sizeof(words)))
			im->guard = words[1];
	}
}

static int may_read(const struct image *im)
{
	char c;
	for (size_t i = 0; i < im->nmaps; i++) {
		if (im->maps[i].perms[0] != 'r' || im->maps[i].path[0] != '/')
			continue;
		struct iovec l = {&c, 1}, r = {(void *)(uintptr_t)im->maps[i].lo, 1};
		return living_read(im->pid, &l, 1, &r, 1) == 1 ? 0 : -errno;
	}
	return im->nmaps ? 0 : -ESRCH;
}

static int begin_process(struct image *im, pid_t pid)
{
	uint64_t auxv[128];
	char path[40];
	int e = maps_each(pid, add_map, im);
	set_maps(im);
	if (!e)
		e = may_read(im);
	if (!e)
		e = image_read_threads(im);
	if (e)
		return e == -ENOENT ? -ESRCH : e;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)living_of(pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, auxv, sizeof(auxv)) : 0;
	if (fd >= 0)
		close(fd);
	use_auxv(im, auxv, n > 0 ? (size_t)n / sizeof(*auxv) : 0);
	return 0;
}

int image_of_process(struct image *im, pid_t pid, uint64_t deadline_ns)
{
	*im = (struct image){.pid = pid, .core = {.fd = -1}};
	memory_of_process(&im->memory, pid);
	im->memory.deadline_ns = deadline_ns;
	int e = begin_process(im, pid);
	if (e)
		image_close(im);
	return e;
}

// -------------------------------------------------------------------- a core

// What the file has at this place of the core's first page of it must be what the process had.
static int open_file(const struct image *im, size_t at)
{
	unsigned char then[PAGE], now[PAGE];
	const struct corenotes_file *f = &im->notes.files[at];
	const struct corenotes_file *first = f;
	for (const struct corenotes_file *x = im->notes.files; x < f; x++)
		if (!x->offset && !strcmp(x->path, f->path))
			first = x;
	int fd = *f->path == '/' ? file_open(AT_FDCWD, f->path, 0) : -1;
	size_t had = corefile_peek(&im->core, first->lo, then, sizeof(then));
	if (fd >= 0 && had && !first->offset &&
	    (pread(fd, now, had, 0) != (ssize_t)had || memcmp(then, now, had))) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -1 : fd;
}

static size_t peek_file(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	const struct corenotes *n = &im->notes;
	size_t i = FIRST_NOT(n->nfiles, k, n->files[k].hi <= addr);
	if (i == n->nfiles || n->files[i].lo > addr)
		return 0;
	struct image_file *f = &im->files[i];
	if (!f->tried) {
		f->tried = true;
		f->fd = open_file(im, i);
	}
	uint64_t left = n->files[i].hi - addr;
	ssize_t got = f->fd < 0 ? -1 :
				  pread(f->fd, to, left < bytes ? left : bytes,
					(off_t)(n->files[i].offset + (addr - n->files[i].lo)));
	return got > 0 ? (size_t)got : 0;
}

static size_t peek_core(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	size_t done = 0;
	while (done < bytes) {
		size_t n = corefile_peek(&im->core, addr + done, (char *)to + done, bytes - done);
		if (!n) // up to the next page, as the core may have that
			n = peek_file(im, addr + done, (char *)to + done,
				      bytes - done < PAGE - (addr + done) % PAGE ?
					      bytes - done :
					      PAGE - (addr + done) % PAGE);
		if (!n)
			break;
		done += n;
	}
	return done;
}

void image_take_regs(struct image_thread *t, const struct user_regs_struct *u)
{
#if defined(__x86_64__)
	const uint64_t regs[CTP_REGS] = {
		[CTP_REG_PC] = u->rip, [CTP_REG_SP] = u->rsp, [CTP_REG_FP] = u->rbp, [CTP_REG_S0] = u->rbx,
		[CTP_REG_S1] = u->r12, [CTP_REG_S2] = u->r13, [CTP_REG_S3] = u->r14, [CTP_REG_S4] = u->r15};
	const uint64_t args[6] = {u->rdi, u->rsi, u->rdx, u->r10, u->r8, u->r9};
	memcpy(t->regs, regs, sizeof(regs));
	const uint64_t scratch[3] = {u->rax, u->rcx, u->r11};
	memcpy(t->args, args, sizeof(args));
	memcpy(t->scratch, scratch, sizeof(scratch));
	t->nr = (long)u->rax < 0 ? (long)u->orig_rax : -1; // else it has been woken: the call gives something
	t->placed = t->whole = true;
#endif
}

// The program's own heap: anonymous memory between the program and the first file behind it that is not
// the end of the program's data.
// A core by gdb leaves out the program's code, but says which file was there.
static const char *file_at(const struct corenotes *n, uint64_t addr)
{
	size_t f = FIRST_NOT(n->nfiles, k, n->files[k].hi <= addr);
	return f < n->nfiles && n->files[f].lo <= addr ? n->files[f].path : NULL;
}

static void name_heap(struct image *im)
{
	const char *program = NULL;
	for (size_t i = 0; i < im->nmaps; i++) {
		struct maps_line *m = &im->maps[i];
		bool entry = im->entry >= m->lo && im->entry < m->hi;
		program = entry                         ? m->path :
			  !program && m->lo > im->entry ? file_at(&im->notes, im->entry) :
							  program;
		if (!program || entry || (*m->path && !strcmp(m->path, program)))
			continue;
		if (*m->path)
			return;
		if (m->perms[1] == 'w' && i && im->maps[i - 1].hi != m->lo) {
			free((char *)m->path);
			m->path = strdup("[heap]");
			return;
		}
	}
}

// Files have no inodes there: each path gets a number.
static uint64_t inode(const struct corenotes *n, size_t file)
{
	size_t i = 0;
	while (i < file && strcmp(n->files[i].path, n->files[file].path))
		i++;
	return i + 1;
}

static int add_core_map(struct image *im, uint64_t lo, uint64_t hi, const char *perms, size_t file)
{
	const struct corenotes *n = &im->notes;
	struct maps_line l = {.lo = lo, .hi = hi, .path = ""};
	memcpy(l.perms, perms, sizeof(l.perms));
	if (file < n->nfiles) {
		l.ino = inode(n, file);
		l.offset = n->files[file].offset + (lo - n->files[file].lo);
		l.path = n->files[file].path;
	}
	return add_map(im, &l);
}

static int by_address(const void *a, const void *b)
{
	const struct maps_line *x = a, *y = b;
	return (x->lo > y->lo) - (x->lo < y->lo);
}

static int begin_core(struct image *im)
{
	const struct corenotes *n = &im->notes;
	int e = 0;
	im->files = calloc(n->nfiles + 1, sizeof(*im->files));
	if (!im->files)
		return -ENOMEM;
	for (size_t i = 0; !e && i < n->nmaps; i++) {
		size_t f = FIRST_NOT(n->nfiles, k, n->files[k].hi <= n->maps[i].lo);
		bool file = f < n->nfiles && n->files[f].lo <= n->maps[i].lo;
		e = add_core_map(im, n->maps[i].lo, n->maps[i].hi, n->maps[i].perms, file ? f : n->nfiles);
	}
	for (size_t f = 0; !e && f < n->nfiles; f++) { // what some debuggers leave out: it is as in the file
		size_t i = FIRST_NOT(n->nmaps, k, n->maps[k].hi <= n->files[f].lo);
		if (i == n->nmaps || n->maps[i].lo >= n->files[f].hi)
			e = add_core_map(im, n->files[f].lo, n->files[f].hi, "r-xp", f);
	}
	if (im->nmaps)
		qsort(im->maps, im->nmaps, sizeof(*im->maps), by_address);
	set_maps(im);
	for (size_t i = 0; !e && i < n->nthreads; i++) {
		e = GROW(im->threads, im->nthreads, im->threads_capacity);
		if (e)
			break;
		struct image_thread *t = &im->threads[im->nthreads++];
		*t = (struct image_thread){.tid = (int)n->threads[i].tid, .nr = -1};
		image_take_regs(t, &n->threads[i].regs);
	}
	if (!e && !im->nthreads) {
		im->why =
			"a core that is cut off before it says what its threads did; was there room, and is "
			"`ulimit -c` unlimited?";
		return -EPROTO;
	}
	use_auxv(im, n->auxv, n->nauxv);
	name_heap(im);
	return e;
}

int image_of_core(struct image *im, const char *path, uint64_t deadline_ns)
{
	*im = (struct image){.core = {.fd = -1}};
	int e = corefile_open(&im->core, path);
	im->why = im->core.why;
	if (!e) {
		memory_of_core(&im->memory, &im->core);
		im->memory.deadline_ns = deadline_ns;
		e = corenotes_read(&im->notes, im->core.fd);
	}
	im->pid = (pid_t)(im->notes.pid ? im->notes.pid : im->core.pid);
	im->memory.pid = im->pid;
	if (!e)
		e = begin_core(im);
	if (e) {
		const char *why = im->why;
		image_close(im);
		im->why = why ? why : "a core whose notes cannot be read";
	}
	return e;
}

void image_close(struct image *im)
{
	if (im->core.fd >= 0 || im->core.parts)
		im->memory.pid = 0; // it has no page map to close
	memory_close(&im->memory);
	for (size_t i = 0; i < im->nmaps; i++)
		free((char *)im->maps[i].path);
	for (size_t i = 0; im->files && i < im->notes.nfiles; i++)
		if (im->files[i].tried && im->files[i].fd >= 0)
			close(im->files[i].fd);
	free(im->files);
	free(im->maps);
	free(im->threads);
	corenotes_deinit(&im->notes);
	corefile_close(&im->core);
	*im = (struct image){.core = {.fd = -1}};
}

// -------------------------------------------------------------------- memory

size_t image_peek(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return im->memory.core ? peek_core(im, addr, to, bytes) :
				 memory_peek(&im->memory, addr, to, bytes, false);
}

size_t image_peek_touched(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return im->memory.core ? peek_core(im, addr, to, bytes) :
				 memory_peek_touched(&im->memory, addr, to, bytes);
}

bool image_read(const struct image *im, uint64_t addr, void *to, size_t bytes)
{
	return image_peek(im, addr, to, bytes) == bytes;
}

bool image_word(const struct image *im, uint64_t addr, uint64_t *to)
{
	return image_read(im, addr, to, sizeof(*to));
}

// One call for up to AT_ONCE pieces. It ends at the first that cannot be read: how many were tried.
static size_t read_some(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, char *to,
			bool *got)
{
	struct iovec l[AT_ONCE], r[AT_ONCE];
	n = n < AT_ONCE ? n : AT_ONCE;
	for (size_t i = 0; i < n; i++) {
		l[i] = (struct iovec){to + i * bytes, bytes};
		r[i] = (struct iovec){(void *)(uintptr_t)addrs[i], bytes};
	}
	ssize_t all = living_read(im->pid, l, n, r, n);
	size_t whole = all > 0 ? (size_t)all / bytes : 0;
	for (size_t i = 0; i < n && i <= whole; i++)
		got[i] = i < whole;
	return whole < n ? whole + 1 : n;
}

void image_read_many(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, void *to,
		     bool *got)
{
	char *out = to;
	for (size_t at = 0; at < n;) {
		if (!im->memory.core) {
			at += read_some(im, addrs + at, n - at, bytes, out + at * bytes, got + at);
			continue;
		}
		got[at] = image_read(im, addrs[at], out + at * bytes, bytes);
		at++;
	}
}
