// SPDX-License-Identifier: MIT
//
// save_tables.h - the parts of ctp's region in a traced process that belong in a core file.
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/maps.h"

// Those that the process has not left out of its cores. The caller frees *v. 0 or -errno.
int save_tables_find(pid_t pid, struct maps_line **v, size_t *n);
