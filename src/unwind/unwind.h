// SPDX-License-Identifier: MIT
//
// unwind.h - unwinds suspended coroutines from outside.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/maps.h"
#include "ctp/ctp.h"

enum { UNWIND_FRAMES = 64, UNWIND_NEAR = 2048 };

// What is known of one process: its objects, their tables, the rules found so far.
struct unwind;

int unwind_new(struct unwind **out, pid_t pid); // 0 or -errno
// The same of what is no process that runs: a core file. `maps` are used here only.
struct unwind_reader {
	void *ctx;
	size_t (*peek)(void *ctx, uint64_t addr, void *to, size_t bytes); // less than asked at the first hole
};
int unwind_new_of(struct unwind **out, const struct unwind_reader *r, const struct maps_line *maps, size_t n);
void unwind_free(struct unwind *u);

// The innermost part of a stack, where nearly all walks end.
struct unwind_near {
	uint64_t addr;
	size_t have; // bytes; 0 = could not be read
	unsigned char bytes[UNWIND_NEAR];
};
// Reads it for many coroutines at once.
void unwind_fetch(const struct unwind *u, const struct ctp_state *s, size_t n, struct unwind_near *out);
// Return addresses, innermost first, from the registers saved in `s`; 0 if it cannot be done. `near` may be
// NULL. *guessed (may be NULL) says that a frame had no unwind information and was found by its frame
// pointer. Whether the coroutine still slept when its stack was read is for the caller to check
// (ctp_state.seq).
size_t unwind_walk(struct unwind *u, const struct ctp_state *s, const struct unwind_near *near, uint64_t *pcs,
		   size_t max, bool *guessed);
// How the last walk came to the stack's begin, if it did: to a frame that nobody called, as its rules say, or
// to a return address of 0.
enum unwind_end { UNWIND_NOT_ENDED, UNWIND_BY_RULE, UNWIND_BY_ZERO };
enum unwind_end unwind_ended(const struct unwind *u);
// Where the frame ends in which `addr` lies, of a stack with these registers; 0 if that is not known for
// certain.
uint64_t unwind_frame_end(struct unwind *u, const struct ctp_state *s, uint64_t addr);
// The innermost frames, as far as they are known for certain: sp is what the frame's own code has there,
// saved where its callees keep a register of its own, by enum ctp_reg; 0 where that still is the register.
struct unwind_frame {
	uint64_t pc, sp, saved[CTP_REGS];
	bool outermost; // its unwind information says that nobody called it
};
size_t unwind_frames(struct unwind *u, const struct ctp_state *s, struct unwind_frame *out, size_t max);
// The function that `pc` lies in, and its table of exceptions (0: it has none). False: no unwind information.
struct unwind_function {
	uint64_t lo, hi, exceptions;
};
bool unwind_function(struct unwind *u, uint64_t pc, struct unwind_function *out);
// Reads memory of the process: all `bytes` of it, or false.
bool unwind_peek(const struct unwind *u, uint64_t addr, void *to, size_t bytes);
// A walk for a single look.
size_t unwind_state(pid_t pid, const struct ctp_state *s, uint64_t *pcs, size_t max);
