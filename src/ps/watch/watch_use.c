// SPDX-License-Identifier: MIT
//
// How deep a stack was used. A page of a stack is allocated when it is first touched, so
// nothing below the lowest allocated page was ever used. A page that was only read, as by a
// search for pointers, holds zeros: the lowest word that is not zero is the depth. It is an
// upper bound: memory that was used before, or filled in advance, counts as used.
#include "ps/watch/watch_use.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/living.h"

#define LARGEST (1ULL << 30) // of a stack that is looked at

enum { AT_ONCE = 512, PIECE = 16 << 10, READ_MOST = 1 << 20 };

void watch_use_open(struct watch_use *u, const struct found *f)
{
	char path[40];
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)living_of(f->pid));
	u->pid = f->pid;
	u->pagemap = open(path, O_RDONLY | O_CLOEXEC);
}

void watch_use_close(struct watch_use *u)
{
	if (u->pagemap >= 0)
		close(u->pagemap);
	u->pagemap = -1;
}

// The first address in [lo, hi) whose page is there, or hi. 0: not known.
static uint64_t first_there(const struct watch_use *u, uint64_t lo, uint64_t hi)
{
	uint64_t entries[AT_ONCE], size = (uint64_t)sysconf(_SC_PAGESIZE), page = lo / size,
				   end = (hi + size - 1) / size;
	while (page < end) {
		size_t want = end - page < AT_ONCE ? end - page : AT_ONCE;
		ssize_t n =
			pread(u->pagemap, entries, want * sizeof(*entries), (off_t)(page * sizeof(*entries)));
		if (n < (ssize_t)sizeof(*entries))
			return 0;
		for (size_t i = 0; i < (size_t)n / sizeof(*entries); i++, page++)
			if (entries[i] >> 62) // there, or swapped out
				return page * size > lo ? page * size : lo;
	}
	return hi;
}

int64_t watch_use_bytes(const struct watch_use *u, uint64_t lo, uint64_t hi)
{
	uint64_t words[PIECE / 8];
	if (u->pagemap < 0 || lo >= hi || hi - lo > LARGEST)
		return -1;
	uint64_t from = first_there(u, lo, hi);
	for (uint64_t at = from; from && at < hi;) {
		size_t want = hi - at < sizeof(words) ? hi - at : sizeof(words);
		struct iovec l = {words, want}, r = {(void *)(uintptr_t)at, want};
		ssize_t n = living_read(u->pid, &l, 1, &r, 1);
		if (n < 8)
			return (int64_t)(hi -
					 at); // a guard, or it may not be read: what is known is the page
		for (size_t i = 0; i < (size_t)n / 8; i++)
			if (words[i])
				return (int64_t)(hi - at - 8 * i);
		at += (uint64_t)n;
		if (at >= hi)
			return 0;
		if (at >= from + READ_MOST)
			return (int64_t)(hi - at);
	}
	return from ? 0 : -1;
}
