// SPDX-License-Identifier: MIT
//
// image.h - a process or a core file as the search sees it: mappings, threads, memory. What a core
// leaves out of a mapped file is read from that file, if it still begins as it did.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/corefile.h"
#include "core/corenotes.h"
#include "ctp/ctp.h"
#include "search/memory/memory.h"
#include "search/memory/span.h"

struct image_thread {
	int tid;
	bool on_cpu;             // it runs: nothing else is known of it
	bool placed;             // sp and pc are known
	bool whole;              // so are all of regs
	long nr;                 // the system call that it sleeps in; -1: none, or not known
	uint64_t args[6];        // of that call
	uint64_t scratch[3];     // other registers that may hold a pointer, of one that was stopped
	uint64_t regs[CTP_REGS]; // by enum ctp_reg
};

struct image {
	struct memory memory; // its `maps` are these
	struct maps_line *maps;
	size_t nmaps, maps_capacity;
	struct image_thread *threads;
	size_t nthreads, threads_capacity;
	pid_t pid;
	uint64_t guard; // with which glibc disguises the addresses in a jmp_buf; 0: not known
	uint64_t entry; // where the program begins; 0: not known
	// of a core
	struct corefile core;
	struct corenotes notes;
	struct image_file *files; // of notes.files
	const char *why;          // it cannot be used, after -EPROTO
	// Set by the caller after it was opened.
	const struct span *skip; // memory in which no coroutine lies, and that keeps none; sorted, disjoint
	size_t nskip;
};

// 0, -EPERM or -EACCES (it may not be looked at), -ESRCH, -errno. To be closed after success alone.
int image_of_process(struct image *im, pid_t pid, uint64_t deadline_ns);
// 0, -EPROTO with `why`, -errno.
int image_of_core(struct image *im, const char *path, uint64_t deadline_ns);
void image_close(struct image *im);
// Threads and their system calls anew; of a core nothing changes. 0 or -errno.
int image_read_threads(struct image *im);
// All of its registers, as the kernel or a core has them.
void image_take_regs(struct image_thread *t, const struct user_regs_struct *u);
// Bytes read from `addr` on: less than asked at the first that are not there.
size_t image_peek(const struct image *im, uint64_t addr, void *to, size_t bytes);
// The same without pages that the program never touched: these read as zeros.
size_t image_peek_touched(const struct image *im, uint64_t addr, void *to, size_t bytes);
bool image_read(const struct image *im, uint64_t addr, void *to, size_t bytes); // all of them
bool image_word(const struct image *im, uint64_t addr, uint64_t *to);
// n pieces of `bytes` each, the i-th at addrs[i], one behind the other into `to`; got[i]: it was read whole.
void image_read_many(const struct image *im, const uint64_t *addrs, size_t n, size_t bytes, void *to,
		     bool *got);
// A region of ctp's, also one that ctp-run has left behind: `maps` lacks it.
#define IMAGE_REGION "/memfd:ctp (deleted)"
bool image_is_region(const struct maps_line *l);
const struct maps_line *image_map(const struct image *im, uint64_t addr); // or NULL
bool image_is_code(const struct image *im, uint64_t addr);
