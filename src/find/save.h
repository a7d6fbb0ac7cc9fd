// SPDX-License-Identifier: MIT
//
// save.h - a process as it is now, for later: a core file, and beside it what only the kernel knows.
#pragma once

#include "find/image.h"

// Makes the folder: `core`; `fd`, `fdinfo`, `net`, `timers`, `comm`, as /proc/PID has them; `partial`: the
// threads of which the core does not have all registers. tables: of a traced process, the core has ctp's.
// Nothing that exists is overwritten. 0 or -errno; what was made is taken away again then.
int save_process(const struct image *im, bool tables, const char *folder);
// Threads that `partial` in this folder names are not known whole.
void save_read_partial(struct image *im, const char *folder);
