// SPDX-License-Identifier: MIT
//
// fcontext.h - handles of Boost.Context: an fcontext_t is the stack pointer at which a context
// was suspended, so the address alone gives its owner.
#pragma once

#include "cpu.h"
#include "preload/coroutine/coroutine.h"

// make_fcontext was called at least once, or one was found.
extern bool fcontext_any;

// Whether `handle` is the place at which s waits to be entered.
static inline bool fcontext_waits_at(const struct ctp_state *s, uint64_t handle)
{
	return s && s->slot == handle && (s->life == CTP_SUSPENDED || s->life == CTP_CREATED) &&
	       (coroutine_holds(s, handle) || s->lo == s->hi);
}

// fcontext_through(), of an address. Makes a system call.
struct ctp_state *fcontext_search(uint64_t data);

// Whose handle that was, as it runs by now, has ended or has lost its stack. `there`: who has the
// memory. NULL: nobody's who could be taken for late.
struct ctp_state *fcontext_late(struct thread_ctx *g, uint64_t handle, const struct ctp_state *there);

// As coroutine_at(), where `data` points to an object that holds one coroutine's fcontext_t
// and no other's.
static inline struct ctp_state *fcontext_through(uint64_t data)
{
	return CTP_LIKELY(!fcontext_any) || !(data >> 16) || data >> CPU_ADDRESS_BITS || (data & 7) ?
		       NULL :
		       fcontext_search(data);
}
