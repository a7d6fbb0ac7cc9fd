// SPDX-License-Identifier: MIT
//
// hidden_fds.h - open files that /proc/PID/fd does not show.
#pragma once

#include "engine/inspect/inspect.h"

// Fills l->unseen: empty if nothing is known to be hidden.
void hidden_fds_find(struct inspection *l);
