// SPDX-License-Identifier: MIT
//
// regs.h - a thread's registers, read by stopping it for a moment.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "engine/target/proc.h"

// Stops thread `t` and fills its `regs`. keep: it stays stopped until
// regs_release; else it runs on at once. False if it could not be done in time.
bool regs_take(struct proc_task *t, bool keep, uint64_t deadline_ns);
void regs_release(const struct proc_task *t);
// Reaps threads that died while they were held: else their process never ends. Detaches those that stopped
// late. Leaves `child` to the caller, who waits for it; 0: there is none.
void regs_reap(pid_t child);
// wait() says that thread `tid` has stopped, `by` which signal. True: it was one that stopped late, and it is
// detached now.
bool regs_stopped(int tid, int by);
