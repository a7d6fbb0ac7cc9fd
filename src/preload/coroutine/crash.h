// SPDX-License-Identifier: MIT
//
// crash.h - notes the signal that ends the process. The program's calls for signal handlers
// and alternate stacks pass through here, so that it never sees ours.
#pragma once

#include <signal.h>

#include "preload/guest/guest.h"

// At attach: a handler of ours for each signal that would leave a core and has none.
void crash_init(void);
// The thread is about to run its first coroutine, whose stack may overflow: a handler
// needs another. Takes an alternate one of ours, unless there is one.
void crash_stack_arm(struct thread_ctx *g);
void crash_stack_disarm(struct thread_ctx *g); // the thread ends

// In the place of the real calls. `real`: signal() or one of its like.
int crash_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
sighandler_t crash_signal(int sig, sighandler_t handler, sighandler_t (*real)(int, sighandler_t));
int crash_stack_query(const stack_t *ss, stack_t *old);
// The program installs a handler with these flags.
void crash_notice(int flags);

// Between crash.c and crash_stack.c: makes room for the stacks; handlers that want alternate stacks shall
// find none of ours; the note that this process keeps of its end, or NULL if it keeps none.
void crash_stack_init(void);
void crash_stack_end(void);
bool crash_stack_is_ours(uint64_t at); // at: an address in one of ours
struct ctp_crash *crash_note(void);
