// SPDX-License-Identifier: MIT
//
// oncpu.h - where a thread is that runs and makes no system call: the kernel stores its
// registers and the innermost part of its stack every few milliseconds of its CPU time. The
// thread is neither stopped nor notified.
#pragma once

#include "unwind/unwind.h"

struct oncpu;

// NULL if the kernel does not allow it to us.
struct oncpu *oncpu_open(pid_t tid);
void oncpu_close(struct oncpu *o);
// The next sample, oldest first. False: there is none.
bool oncpu_next(struct oncpu *o, uint64_t regs[CTP_REGS], struct unwind_near *near);
