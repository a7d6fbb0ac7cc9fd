// SPDX-License-Identifier: MIT
//
// corenotes.h - what a core file says of the process besides its memory: threads with their
// registers, mappings and their files, the auxiliary vector.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

struct corenotes_thread {
	uint32_t tid;
	struct user_regs_struct regs;
};

struct corenotes_map {
	uint64_t lo, hi;
	char perms[5];
};

struct corenotes_file { // mapped at [lo, hi)
	uint64_t lo, hi, offset;
	const char *path;
};

struct corenotes {
	uint32_t pid;
	struct corenotes_thread *threads;
	size_t nthreads, threads_capacity;
	struct corenotes_map *maps; // by address
	size_t nmaps, maps_capacity;
	struct corenotes_file *files; // by address
	size_t nfiles;
	char *names;    // of the files
	uint64_t *auxv; // pairs of type and value
	size_t nauxv;   // words
};

// Of an open core file; its own numbers are not believed. 0, -EPROTO if it is none, -ENOMEM.
int corenotes_read(struct corenotes *n, int fd);
void corenotes_deinit(struct corenotes *n);
