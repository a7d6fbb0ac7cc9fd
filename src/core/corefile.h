// SPDX-License-Identifier: MIT
//
// corefile.h - a core file of a traced process: its memory, the kernel's notes, and where the
// region is.
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/procfs.h>

#include "ctp/ctp.h"

struct corefile_part { // of the program's memory, as much as the file holds of it
	uint64_t addr, bytes;
	uint64_t offset; // COREFILE_CUT: it lies behind the file's end
};
#define COREFILE_CUT UINT64_MAX

struct corefile {
	const char *why; // it cannot be used, after -EPROTO
	int fd;
	uint64_t file_bytes;
	struct corefile_part *parts; // by address
	size_t n, capacity;
	bool cut;             // some of it lies behind the file's end
	uint64_t base, bytes; // of the region, in the program; 0: not found
	uint32_t version;     // of its layout
	// of the notes
	uint32_t pid, tid; // tid: the thread that comes first, as the one that died does
	int signal;
	siginfo_t info;
	char command[ELF_PRARGSZ + 1];
};

// Does an ELF file begin so?
bool corefile_is_elf(const unsigned char *head, size_t bytes);
// 0; -EPROTO: `why`; -errno. To be closed in any case.
int corefile_open(struct corefile *c, const char *path);
void corefile_close(struct corefile *c);
// Fills in base, bytes, version. 0; -EPROTO: `why`. Whether this version can be read is for the caller to
// check before he calls corefile_check_region, which does not believe `bytes`.
int corefile_find_region(struct corefile *c);
int corefile_check_region(struct corefile *c);
// The memory at `addr`: what the file lacks reads as zeros. False: it cannot be read.
bool corefile_read(const struct corefile *c, uint64_t addr, void *to, size_t bytes);
// Bytes read from `addr` on: less than asked at the first that the file does not hold.
size_t corefile_peek(const struct corefile *c, uint64_t addr, void *to, size_t bytes);
bool corefile_holds(const struct corefile *c, uint64_t addr);
// The first address, at or above this one, that is in the file; UINT64_MAX: none is.
uint64_t corefile_next(const struct corefile *c, uint64_t addr);
// The same as corefile_read into memory that holds zeros already: where the file has holes, it is not
// touched.
bool corefile_put(const struct corefile *c, uint64_t addr, void *to, size_t bytes);
