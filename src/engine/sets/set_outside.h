// SPDX-License-Identifier: MIT
//
// set_outside.h - a pipe whose end to write to this process has closed, and others hold.
#pragma once

#include "engine/inspect/inspect.h"

// Is the descriptor the end to read of such a pipe, of which no open number here is the other end?
bool set_outside_is(const struct ctp_region *r, uint64_t fd);
// Another process that can write to it; 0: none is seen.
pid_t set_outside_writer(const struct inspection *l, int fd);
