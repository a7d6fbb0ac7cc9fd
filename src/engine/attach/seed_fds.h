// SPDX-License-Identifier: MIT
//
// seed_fds.h - what a process has open, from outside.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "ctp/seed.h"

struct seed_fds {
	struct ctp_seed_fd *v;
	size_t n, capacity;
};

// 0 or -errno; v is for free() either way.
int seed_fds_read(struct seed_fds *out, pid_t pid);
