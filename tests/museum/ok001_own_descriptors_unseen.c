// SPDX-License-Identifier: MIT
// expect: CTP001 none..inconclusive, 1 coroutine
// expect: also CTP025 inconclusive
//
// The thread parts by a bare system call, which no hook sees: the kernel shows it as long as the thread lives.
#include "own_fds.h"

static void part(void)
{
	must(syscall(SYS_unshare, CLONE_FILES));
}
