// SPDX-License-Identifier: MIT
//
// private.h - the words of the tables that libctp.so keeps for itself: `guest` in struct
// ctp_state and in struct ctp_fd (spec/cTP.md). Nothing else reads them.
#pragma once

#include <stddef.h>

#include "ctp/ctp.h"

struct state_private {
	uint64_t queued; // 1: the station is in the queue of those to be used again (station.c)
	uint64_t before; // enum ctp_how before it ended; life | how << 8 before its stack was released
	uint64_t spurious_round; // round of the herd in which it was counted last, + 1 (fd_spurious.c)
	union {
		uint64_t top;     // of its stack, as of ctp_state.last (struct candidate)
		uint64_t resumer; // hook_announce.c: station << 40 | id, as in `maker`
	};
	union {
		uint64_t release_lo; // what took its stack (bad_resume.h): from ...
		uint64_t told;       // the program's words for it
	};
	uint64_t release_hi; // ... to
	union {
		uint64_t release_by; // who (ctp_id and kind, as guest_who gives them)
		uint64_t maker;      // station << 40 | id
	};
	union {
		uint64_t release_at; // stack id | RELEASED_BLOCK
		uint64_t promise;    // its offset in the frame << 32 | words
	};
	uint64_t spurious_since; // when it suspended for what it `tried`
	uint64_t spurious_row;   // spurious wakeups in a row
	uint64_t spurious_began; // when that row began
};
_Static_assert(sizeof(struct state_private) == sizeof(((struct ctp_state *)0)->guest),
	       "all of ctp_state.guest");
_Static_assert(_Alignof(struct state_private) == 8 && offsetof(struct ctp_state, guest) % 8 == 0, "aligned");

struct fd_private {
	uint64_t ending;     // generation << 32 | closing calls under way (fds.c)
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
