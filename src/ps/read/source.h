// SPDX-License-Identifier: MIT
//
// source.h - the bytes of a process's region, copied piece by piece.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct corefile;

struct source {
	const struct corefile *core; // it lies in a core file; else NULL
	pid_t pid;                   // that maps it
	uint64_t base;               // there
	uint64_t bytes;
	int fd;   // the region's file, or -1: it is read through the process
	int file; // the same, + 1, to ask what of the region is memory at all; 0: unknown
};

// 0; -EPROTO outside of the region; -ESRCH, -EPERM, -EFAULT, -EIO.
int source_read(const struct source *s, uint64_t off, void *to, size_t bytes);

// The same of the program's other memory, by its address there.
int source_peek(const struct source *s, uint64_t addr, void *to, size_t bytes);

// The same for n pieces of equal size at `offs`, one behind the other in `to`.
int source_read_many(const struct source *s, const uint64_t *offs, size_t n, void *to, size_t bytes);

enum { SOURCE_UNSETTLED = 1, SOURCE_RECORD_MAX = 512 };

// A record that begins with a sequence (ctp/seq.h), as it was at one moment: 0;
// SOURCE_UNSETTLED if it was being written all the while (its writer may have
// been stopped there): *to holds it as it is; or -errno.
int source_read_record(const struct source *s, uint64_t off, void *to, size_t bytes);
