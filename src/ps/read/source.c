// SPDX-License-Identifier: MIT
//
// The region is never mapped: a malicious program could shorten its file under the mapping,
// and reading a page that was never used would allocate it. Copies are made from the process
// that maps it (process_vm_readv), which needs no engine, or from the file, where the kernel
// lets only a parent read a process. A copy is not atomic. So a record counts if two
// consecutive copies are equal and published: its words did not change in between, and its
// sequence number says that the record is complete.
#include "ps/read/source.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/living.h"
#include "core/corefile.h"

enum { TRIES = 200, AT_ONCE = 256, PAGE = 4096 };

// How many of the bytes at `off` are memory: to read others through the process would make them so.
// *zeros: that many before those are not. Page by page: SEEK_HOLE takes as long as all pages up to the hole.
static size_t there(const struct source *s, uint64_t off, size_t bytes, size_t *zeros)
{
	off_t end = (off_t)(off + bytes), data = lseek(s->file - 1, (off_t)off, SEEK_DATA), to;
	*zeros = 0;
	if ((data < 0 && errno == ENXIO) || data >= end) {
		*zeros = bytes;
		return 0;
	}
	if (data < 0)
		return bytes;
	*zeros = (size_t)(data - (off_t)off);
	for (to = (data | (PAGE - 1)) + 1; to < end && lseek(s->file - 1, to, SEEK_DATA) == to; to += PAGE)
		;
	return (size_t)((to < end ? to : end) - data);
}

static bool all_there(const struct source *s, const struct iovec *r, size_t pieces)
{
	size_t zeros;
	for (size_t i = 0; s->file && i < pieces; i++)
		if (there(s, (uint64_t)(uintptr_t)r[i].iov_base - s->base, r[i].iov_len, &zeros) !=
		    r[i].iov_len)
			return false;
	return true;
}

int source_read(const struct source *s, uint64_t off, void *to, size_t bytes)
{
	if (off > s->bytes || bytes > s->bytes - off)
		return -EPROTO;
	if (s->core)
		return corefile_read(s->core, s->base + off, to, bytes) ? 0 : -EIO;
	for (size_t done = 0; done < bytes;) {
		char *at = (char *)to + done;
		size_t left = bytes - done, zeros;
		if (s->file && s->fd < 0) {
			left = there(s, off + done, left, &zeros);
			memset(at, 0, zeros);
			done += zeros;
			at += zeros;
			if (!left)
				continue;
		}
		struct iovec l = {.iov_base = at, .iov_len = left};
		struct iovec r = {.iov_base = (void *)(uintptr_t)(s->base + off + done), .iov_len = left};
		ssize_t n = s->fd >= 0 ? pread(s->fd, at, left, (off_t)(off + done)) :
					 living_read(s->pid, &l, 1, &r, 1);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return -EIO;
		done += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int source_peek(const struct source *s, uint64_t addr, void *to, size_t bytes)
{
	if (s->core)
		return corefile_read(s->core, addr, to, bytes) ? 0 : -EIO;
	struct iovec l = {.iov_base = to, .iov_len = bytes};
	struct iovec r = {.iov_base = (void *)(uintptr_t)addr, .iov_len = bytes};
	ssize_t n = living_read(s->pid, &l, 1, &r, 1);
	return n == (ssize_t)bytes ? 0 : n < 0 ? -errno : -EFAULT;
}

// What lies side by side is one piece: the kernel takes hold of its pages once.
static size_t side_by_side(const struct source *s, const uint64_t *offs, size_t n, size_t bytes,
			   struct iovec *r)
{
	size_t pieces = 0;
	for (size_t i = 0; i < n; i++)
		if (i && offs[i] == offs[i - 1] + bytes)
			r[pieces - 1].iov_len += bytes;
		else
			r[pieces++] = (struct iovec){.iov_base = (void *)(uintptr_t)(s->base + offs[i]),
						     .iov_len = bytes};
	return pieces;
}

int source_read_many(const struct source *s, const uint64_t *offs, size_t n, void *to, size_t bytes)
{
	struct iovec r[AT_ONCE];
	int e = 0;
	for (size_t at = 0, some; !e && at < n; at += some) {
		char *piece = (char *)to + at * bytes;
		bool inside = s->fd < 0 && !s->core;
		some = n - at < AT_ONCE ? n - at : AT_ONCE;
		for (size_t i = 0; i < some; i++)
			inside &= offs[at + i] <= s->bytes && bytes <= s->bytes - offs[at + i];
		struct iovec l = {.iov_base = piece, .iov_len = some * bytes};
		size_t pieces = side_by_side(s, offs + at, some, bytes, r);
		if (inside && all_there(s, r, pieces) &&
		    living_read(s->pid, &l, 1, r, pieces) == (ssize_t)(some * bytes))
			continue;
		for (size_t i = 0; !e && i < some; i++) // one by one, to say why
			e = source_read(s, offs[at + i], piece + i * bytes, bytes);
	}
	return e;
}

int source_read_record(const struct source *s, uint64_t off, void *to, size_t bytes)
{
	unsigned char before[SOURCE_RECORD_MAX];
	uint32_t seq;
	int r = bytes > sizeof(before) ? -EINVAL : source_read(s, off, before, bytes);
	for (int tries = s->core ? TRIES - 1 : 0; !r && tries < TRIES; tries++) {
		r = source_read(s, off, to, bytes);
		memcpy(&seq, to, sizeof(seq));
		if (!r && !(seq & 1) && !memcmp(before, to, bytes))
			return 0;
		if (!r)
			memcpy(before, to, bytes);
	}
	return r ? r : SOURCE_UNSETTLED;
}
