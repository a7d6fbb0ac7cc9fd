// SPDX-License-Identifier: MIT
//
// thread_names.h - names of threads, stored in the region's table.
#pragma once

#include <sys/types.h>

#include "ctp/region.h"

void thread_names_note(const struct ctp_region *r, pid_t pid, uint32_t slot);
void thread_names_note_all(const struct ctp_region *r, pid_t pid); // of all that live
