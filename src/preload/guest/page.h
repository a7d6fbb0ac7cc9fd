// SPDX-License-Identifier: MIT
//
// page.h - whether a page of the program's memory can be read, or written. The kernel is queried:
// rt_sigprocmask reads the new signal mask before it refuses the unknown `how`; FUTEX_WAKE_OP adds zero to a
// word, atomically, and wakes one of those who wait for it, of whom there are none.
#pragma once

#include <errno.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "preload/guest/exit.h"

enum { PAGE_BYTES = 4096 };

static inline bool page_readable(uint64_t page) // the number of it; 0 never is
{
	long at = (long)(page * PAGE_BYTES);
	return at && guest_syscall(SYS_rt_sigprocmask, -1, at, 0, 8, 0, 0) == -EINVAL;
}

// Whether it can be written. Not for a page that may hold a futex of the program's. (MADV_POPULATE_WRITE
// would ask the same, from Linux 5.14 on.)
static inline bool page_writable(uint64_t page)
{
	long at = (long)(page * PAGE_BYTES);
	return guest_syscall(SYS_futex, at, FUTEX_WAKE_OP_PRIVATE, 0, 0, at,
			     FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) >= 0;
}
