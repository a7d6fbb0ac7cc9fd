// SPDX-License-Identifier: MIT
//
// private.h - the words of the tables that libctp.so keeps for itself: `guest` in struct
// ctp_state and in struct ctp_fd (spec/cTP.md). Nothing else reads them.
#pragma once

#include <stddef.h>

#include "ctp/ctp.h"

struct state_private {
	uint32_t queued; // 1: the station is in the queue of those to be used again (station.c)
	uint32_t before; // enum ctp_how before it ended; life | how << 8 before its stack was released
	// What named its stack where it left before it left from where it did last, and the stack pointer
	// there; 0: not known. From both places it has gone on. (fast_path.h)
	uint64_t other, other_sp;
	union {
		uint64_t top;     // of its stack, as of ctp_state.last (struct candidate)
		uint64_t resumer; // hook_announce.c: station << 40 | id, as in `maker`
	};
	union {
		uint64_t release_lo; // what took its stack (bad_resume.h): from ...
		uint64_t told;       // the program's words for it
	};
	union {
		uint64_t release_hi; // ... to
		uint64_t copied;     // begin.c: where the library keeps it that copies its stack
	};
	union {
		uint64_t release_by; // who (ctp_id and kind, as guest_who gives them)
		uint64_t maker;      // station << 40 | id
	};
	union {
		uint64_t release_at; // stack id | RELEASED_BLOCK
		uint64_t promise;    // its offset in the frame << 32 | words
	};
	uint64_t spurious_since; // when it suspended for what it `tried`
	uint64_t spurious_began; // when the row of its spurious wakeups began
	uint32_t spurious_row;   // how many there are
	uint32_t spurious_round; // round of the herd in which it was counted last, + 1 (fd_spurious.c)
};
_Static_assert(sizeof(struct state_private) == sizeof(((struct ctp_state *)0)->guest),
	       "all of ctp_state.guest");
_Static_assert(_Alignof(struct state_private) == 8 && offsetof(struct ctp_state, guest) % 8 == 0, "aligned");

struct fd_private {
	uint64_t ending;     // closing calls of the present generation under way (fds.c)
	uint64_t asked : 8;  // FD_ASKED_*: what the kernel has been asked (fds.h)
	uint64_t birth : 56; // the number of the present generation, of all that ever began
};
_Static_assert(sizeof(struct fd_private) == sizeof(((struct ctp_fd *)0)->guest), "all of ctp_fd.guest");
_Static_assert(_Alignof(struct fd_private) == 8 && offsetof(struct ctp_fd, guest) % 8 == 0, "aligned");

static inline struct state_private *state_private(const struct ctp_state *s)
{
	return (struct state_private *)(uintptr_t)s->guest;
}

static inline struct fd_private *fd_private(const struct ctp_fd *e)
{
	return (struct fd_private *)(uintptr_t)e->guest;
}
