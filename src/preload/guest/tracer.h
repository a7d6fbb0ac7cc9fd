// SPDX-License-Identifier: MIT
//
// tracer.h - the state of libctp.so that the whole process shares.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctp/region.h"
#include "ctp/seq.h"

// One per process. Everything here is written at attach only, except where noted.
struct tracer {
	uint32_t attached; // 0 in every forked child (the page is wiped)
	bool v1;           // the engine is a version-1 one: write slots, no rings
	bool tsc;
	bool block;    // --overflow=block
	bool flight;   // --flight
	bool adaptive; // --clock=adaptive
	bool sparse;   // --clock=sparse
	bool no_free;
	bool base;      // cpu_base may be asked
	bool no_engine; // a thread waited for a slot and got none
	uint64_t
		chunk_least; // how large what is freed must be to be looked at (hook_memory.c); 0: nothing is
	uint32_t pid;
	uint32_t exiting;             // exit handlers may be running (exit.h)
	uint32_t calling;             // threads that make a system call of guest_syscall
	const uint32_t *libc_threads; // glibc's count of them; NULL: unknown
	uint64_t
		first_id; // the region's next_id when we attached: while it is the same, nothing has switched
	struct ctp_region region;
	int v1_sock; // version-1 wake-up socket, -1
};

// Never NULL: before attach, where the program runs untraced and in a forked child that is
// not traced, nothing is attached in what it points to. Attach points it to the page that
// fork wipes (process/attach.c).
extern struct tracer *ctp_tracer;

// Has anything switched here, or a C++20 coroutine been made, since this process is traced?
static inline bool tracer_has_coroutines(void)
{
	const struct ctp_ext *e = ctp_tracer->region.ext;
	return ctp_load64(&e->next_id) != ctp_tracer->first_id || ctp_load32(&e->born);
}

// What is true where nothing is traced.
extern struct tracer tracer_shut;
