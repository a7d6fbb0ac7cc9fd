// SPDX-License-Identifier: MIT
//
// A page of a private mapping without a file holds zeros until it is touched,
// and pagemap tells which have been. process_vm_readv of one that was not maps
// a page of zeros there for good: the program has done nothing, and yet has one
// page table entry more. So such pages are never asked for.
#include "engine/memory/pages.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, AT_ONCE = 128 };
#define TOUCHED (3ULL << 62) // present, or swapped out

void pages_open(struct pages *p, pid_t pid)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	*p = (struct pages){pid, open(path, O_RDONLY | O_CLOEXEC)};
}

void pages_close(struct pages *p)
{
	if (p->map >= 0)
		close(p->map);
	p->map = -1;
}

size_t pages_peek(const struct pages *p, uint64_t addr, void *to, size_t bytes)
{
	uint64_t entries[AT_ONCE], at = addr, end = addr + bytes;
	char *out = to;
	while (at < end) {
		uint64_t first = at / PAGE, n = (end - 1) / PAGE - first + 1;
		n = n < AT_ONCE ? n : AT_ONCE;
		ssize_t got = p->map < 0 ? 0 : pread(p->map, entries, n * 8, (off_t)(first * 8));
		if (got < 8) // not told: by the usual way
			return at - addr + proc_peek(p->pid, at, out + (at - addr), end - at, false);
		bool touched = entries[0] & TOUCHED;
		for (n = 1; n < (uint64_t)got / 8 && !(entries[n] & TOUCHED) == !touched;)
			n++;
		uint64_t to_here = (first + n) * PAGE < end ? (first + n) * PAGE : end, want = to_here - at;
		if (!touched)
			memset(out + (at - addr), 0, want);
		else if (proc_peek(p->pid, at, out + (at - addr), want, false) != want)
			return at - addr;
		at = to_here;
	}
	return bytes;
}
