// SPDX-License-Identifier: MIT
//
// seed.h - what was there before ctp-run attached to a process, as the engine found it from outside and hands
// it to libctp.so there: one block of memory, which lives for one call. Descriptors, epoll registrations,
// coroutines, and their return addresses lie in it one behind the other.
#pragma once

#include "ctp/ctp.h"

struct ctp_seed_fd {
	int32_t fd;
	uint32_t kind;  // enum ctp_fd_kind
	uint32_t flags; // CTP_FD_LISTENS, CTP_FD_NONBLOCK
	uint32_t reserved;
};

struct ctp_seed_row {
	int32_t epfd, fd;
	uint32_t events;
	uint32_t leads; // coroutine, by its number in this block + 1; 0: to none, or it is not known
	uint64_t data;
};

struct ctp_seed_coroutine {
	uint64_t slot;     // as ctp_state.slot
	uint64_t lo, hi;   // its stack as declared; lo = hi: its lower end is not known
	uint64_t entry;    // its first function; 0: not known
	uint64_t function; // of assembly code, by which it switches; 0: by ucontext or setjmp
	uint64_t block;    // of assembly code: the word that holds the saved stack pointer; 0: not known
	uint64_t regs[CTP_REGS];
	uint32_t life;          // CTP_SUSPENDED, CTP_CREATED
	uint32_t words, nwords; // its return addresses, innermost first
	uint32_t station;       // where it was put; W: guest
	uint64_t id;            // 0: it is known already, or nobody would see it run; W: guest
	uint32_t unreached;     // nothing leads to it
	uint32_t reserved;
};

struct ctp_seeds {
	uint32_t nfds, nrows, ncoroutines, nwords;
	uint64_t time; // of the rows; W: guest
	uint64_t reserved;
};

static inline struct ctp_seed_fd *ctp_seed_fds(const struct ctp_seeds *s)
{
	return (struct ctp_seed_fd *)(s + 1);
}

static inline struct ctp_seed_row *ctp_seed_rows(const struct ctp_seeds *s)
{
	return (struct ctp_seed_row *)(ctp_seed_fds(s) + s->nfds);
}

static inline struct ctp_seed_coroutine *ctp_seed_coroutines(const struct ctp_seeds *s)
{
	return (struct ctp_seed_coroutine *)(ctp_seed_rows(s) + s->nrows);
}

static inline uint64_t *ctp_seed_words(const struct ctp_seeds *s)
{
	return (uint64_t *)(ctp_seed_coroutines(s) + s->ncoroutines);
}

static inline uint64_t ctp_seed_bytes(const struct ctp_seeds *s)
{
	return sizeof(*s) + s->nfds * sizeof(struct ctp_seed_fd) + s->nrows * sizeof(struct ctp_seed_row) +
	       s->ncoroutines * sizeof(struct ctp_seed_coroutine) + s->nwords * sizeof(uint64_t);
}
