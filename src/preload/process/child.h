// SPDX-License-Identifier: MIT
//
// child.h - what happens at fork.
#pragma once

#include "preload/guest/guest.h"

// After attaching. `path`: of the region through which children ask for theirs.
void child_init(const char *path);

// Attaches a forked child to its region, mapped at `own`; `top` lies above its
// thread's own stack. 0, or -errno: it runs untraced. (attach.c)
int attach_child(struct ctp_header *own, uint64_t bytes, uint64_t top);
