// SPDX-License-Identifier: MIT
//
// page.h - whether a page of the program's memory can be read. The kernel is queried:
// rt_sigprocmask reads the new signal mask before it refuses the unknown `how`.
#pragma once

#include <errno.h>
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
