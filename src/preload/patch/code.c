// SPDX-License-Identifier: MIT
//
// A large piece of code is looked through in its file: to read that costs a third of having the kernel map
// each of its pages, and the process does not grow by them. What is found there is compared where it is
// mapped, so a file that has been replaced since can show nothing that is not there.
#include "preload/patch/code.h"

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "preload/guest/exit.h"
#include "preload/guest/guest.h"

enum { LARGE = 256 << 10, PIECE = 64 << 10, HEAD = 4096, ACROSS = 32 };

static uint8_t piece[PIECE]; // the loader's lock is held

static long read_at(int fd, void *to, uint64_t bytes, uint64_t off)
{
	return guest_syscall(SYS_pread64, fd, (long)to, (long)bytes, (long)off, 0, 0);
}

int code_open(const struct object *o)
{
	const char *path = o->program ? "/proc/thread-self/exe" : o->map->l_name;
	const ElfW(Phdr) *first = o->ph;
	while (first < o->ph + o->nph && first->p_type != PT_LOAD)
		first++;
	if (first == o->ph + o->nph || first->p_offset || !(first->p_flags & PF_R) || (first->p_flags & PF_W))
		return -1;
	int fd = (int)guest_syscall(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0, 0,
				    0);
	if (fd < 0)
		return -1;
	uint64_t head = first->p_filesz < HEAD ? first->p_filesz : HEAD;
	if (read_at(fd, piece, head, 0) == (long)head &&
	    memcmp(piece, (const void *)(o->base + first->p_vaddr), head) == 0)
		return fd;
	guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return -1;
}

// False: it cannot be read.
static bool in_file(int fd, uint64_t off, uint8_t *lo, uint8_t *hi, struct match *out, size_t most, size_t *n)
{
	for (uint64_t at = 0, size = (uint64_t)(hi - lo); at < size;) {
		uint64_t left = size - at, want = left < PIECE ? left : PIECE;
		if (read_at(fd, piece, want, off + at) != (long)want)
			return false;
		*n = match_copy(piece, want, lo + at, lo, hi, out, *n, most);
		at += want < left ? want - ACROSS : want;
	}
	return true;
}

size_t code_matches(const struct object *o, bool by_file, struct match *out, size_t most)
{
	size_t n = 0;
	uint8_t *lo, *hi;
	int fd = -1;
	for (unsigned i = 0; object_code(o, &i, &lo, &hi);) {
		size_t was = n;
		bool large = by_file && hi - lo >= LARGE;
		if (large && fd < 0)
			fd = code_open(o);
		if (!large || fd < 0 || !in_file(fd, o->ph[i - 1].p_offset, lo, hi, out, most, &n))
			n = was + match_all(lo, hi, out + was, most - was);
	}
	if (fd >= 0)
		guest_syscall(SYS_close, fd, 0, 0, 0, 0, 0);
	return n;
}
