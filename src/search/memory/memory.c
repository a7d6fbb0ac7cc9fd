// SPDX-License-Identifier: MIT
//
// A page of a private mapping without a file holds zeros until it is touched, and
// /proc/PID/pagemap tells which pages have been. process_vm_readv(2) of one that was not
// maps a page of zeros there for good: the program has done nothing, and yet has one page
// table entry more. Therefore such pages are never read.
#include "search/memory/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/living.h"
#include "base/search.h"
#include "core/corefile.h"

enum { PAGE = 4096 };

// By the clock on the wall; 0 if that cannot be told.
static int64_t began(pid_t pid)
{
	char path[40], text[1024];
	struct timespec wall, boot;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = 0;
	const char *at = strrchr(text, ')');
	for (int field = 2; at && field < 22; field++) // to the 22nd, its start in ticks since boot
		at = strchr(at + 1, ' ');
	if (!at || clock_gettime(CLOCK_REALTIME, &wall) || clock_gettime(CLOCK_BOOTTIME, &boot))
		return 0;
	return wall.tv_sec - boot.tv_sec +
	       (int64_t)(strtoull(at + 1, NULL, 10) / (uint64_t)sysconf(_SC_CLK_TCK));
}

void memory_of_process(struct memory *m, pid_t pid)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", living_of(pid));
	*m = (struct memory){.pid = pid, .page_map = open(path, O_RDONLY | O_CLOEXEC), .began_s = began(pid)};
}

void memory_of_core(struct memory *m, const struct corefile *core)
{
	*m = (struct memory){.core = core, .page_map = -1};
}

void memory_close(struct memory *m)
{
	if (m->pid && m->page_map >= 0)
		close(m->page_map);
	*m = (struct memory){.page_map = -1};
}

bool memory_late(const struct memory *m)
{
	return (m->cancelled && m->cancelled(m->ctx)) || clock_mono_ns() > m->deadline_ns;
}

const struct maps_line *memory_map(const struct memory *m, uint64_t addr)
{
	size_t i = FIRST_NOT(m->nmaps, k, m->maps[k].hi <= addr);
	return i < m->nmaps && m->maps[i].lo <= addr ? &m->maps[i] : NULL;
}

int memory_open_changed(const struct memory *m, const struct maps_line *map)
{
	char path[4200];
	struct stat st;
	if (m->core || !map->ino || *map->path != '/')
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/root%s", living_of(m->pid), map->path);
	if (stat(path, &st) || !S_ISREG(st.st_mode) || st.st_ctim.tv_sec + 2 < m->began_s)
		return -1;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 ? fd : errno == ENOENT ? -1 : -errno - 1;
}

int memory_open_sparse(const struct memory *m, const struct maps_line *map)
{
	char paths[2][4200];
	struct stat st;
	struct statfs fs;
	if (m->core || !map->ino)
		return -1;
	snprintf(paths[0], sizeof(paths[0]), "/proc/%d/map_files/%llx-%llx", living_of(m->pid),
		 (unsigned long long)map->lo,
		 (unsigned long long)map->hi); // root's
	snprintf(paths[1], sizeof(paths[1]), "/proc/%d/root%s", living_of(m->pid), map->path);
	for (int i = 0; i < 2; i++) {
		if (stat(paths[i], &st) || !S_ISREG(st.st_mode) || st.st_ino != map->ino)
			continue;
		int fd = open(paths[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
		if (fd >= 0 && !fstat(fd, &st) && st.st_ino == map->ino && !fstatfs(fd, &fs) &&
		    fs.f_type == TMPFS_MAGIC)
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -1;
}

// What process_vm_readv refuses: pages that the program itself may not read.
static size_t peek_file(pid_t pid, uint64_t addr, void *to, size_t bytes)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/mem", living_of(pid));
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size_t n = 0;
	while (n < bytes) {
		ssize_t k = pread(fd, (char *)to + n, bytes - n, (off_t)(addr + n));
		if (k <= 0)
			break;
		n += (size_t)k;
	}
	close(fd);
	return n;
}

size_t memory_peek_process(pid_t pid, uint64_t addr, void *to, size_t bytes, bool force)
{
	struct iovec here = {.iov_base = to, .iov_len = bytes};
	struct iovec there = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t n = living_read(pid, &here, 1, &there, 1);
	size_t got = n > 0 ? (size_t)n : 0;
	if (got < bytes && force)
		got += peek_file(pid, addr + got, (char *)to + got, bytes - got);
	return got;
}

size_t memory_peek(const struct memory *m, uint64_t addr, void *to, size_t bytes, bool force)
{
	return m->core ? corefile_peek(m->core, addr, to, bytes) :
			 memory_peek_process(m->pid, addr, to, bytes, force);
}

uint64_t memory_next(const struct memory *m, uint64_t addr)
{
	return m->core ? corefile_next(m->core, addr) : addr;
}

size_t memory_page_entries(const struct memory *m, uint64_t first, uint64_t *entries, size_t n)
{
	if (m->core) {
		for (size_t i = 0; i < n; i++)
			entries[i] = corefile_holds(m->core, (first + i) * PAGE) ? MEMORY_PRESENT : 0;
		return n;
	}
	ssize_t got = m->page_map < 0 ? 0 :
					pread(m->page_map, entries, n * sizeof(*entries),
					      (off_t)(first * sizeof(*entries)));
	return got > 0 ? (size_t)got / sizeof(*entries) : 0;
}

size_t memory_peek_touched(const struct memory *m, uint64_t addr, void *to, size_t bytes)
{
	uint64_t at = addr, end = addr + bytes;
	char *out = to;
	while (at < end) {
		struct memory_pages pages;
		if (!memory_touched(m, &pages, at & ~(uint64_t)(PAGE - 1),
				    (end + PAGE - 1) & ~(uint64_t)(PAGE - 1), false))
			return at - addr + memory_peek(m, at, out + (at - addr), end - at, false);
		uint64_t told = pages.end < end ? pages.end : end;
		for (size_t i = 0; i < pages.n; i++) {
			uint64_t lo = pages.v[i].lo > at ? pages.v[i].lo : at;
			uint64_t hi = pages.v[i].hi < end ? pages.v[i].hi : end;
			memset(out + (at - addr), 0, lo - at);
			if (memory_peek(m, lo, out + (lo - addr), hi - lo, false) != hi - lo)
				return lo - addr;
			at = hi;
		}
		memset(out + (at - addr), 0, told - at);
		at = told;
	}
	return bytes;
}
