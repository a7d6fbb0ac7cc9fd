// SPDX-License-Identifier: MIT
//
// A core says neither which anonymous mapping is the heap nor which is the first thread's stack, and may
// leave out what files hold: those are read, if they still begin as they did.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/grow.h"
#include "base/search.h"
#include "find/image_own.h"

enum { PAGE = 4096 };

struct image_file {
	int fd; // -1: it cannot be used
	bool tried;
};

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

size_t image_peek_core(const struct image *im, uint64_t addr, void *to, size_t bytes)
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

// A core by gdb leaves out the program's code, but says which file was there.
static const char *file_at(const struct corenotes *n, uint64_t addr)
{
	size_t f = FIRST_NOT(n->nfiles, k, n->files[k].hi <= addr);
	return f < n->nfiles && n->files[f].lo <= addr ? n->files[f].path : NULL;
}

// The program's own heap: anonymous memory between the program and the first file behind it that is not
// the end of the program's data.
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
	return image_add_map(im, &l);
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
	image_set_maps(im);
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
	image_use_auxv(im, n->auxv, n->nauxv);
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

void image_close_files(struct image *im)
{
	for (size_t i = 0; im->files && i < im->notes.nfiles; i++)
		if (im->files[i].tried && im->files[i].fd >= 0)
			close(im->files[i].fd);
	free(im->files);
}
