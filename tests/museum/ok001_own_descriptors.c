// SPDX-License-Identifier: MIT
// expect: fact CTP030
//
// The thread calls unshare: that is seen, and nothing is concluded from numbers that are handed out again.
#include "own_fds.h"

static void part(void)
{
	must(unshare(CLONE_FILES));
}
