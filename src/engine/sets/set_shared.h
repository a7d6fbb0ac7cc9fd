// SPDX-License-Identifier: MIT
//
// set_shared.h - other processes that have one of the program's epoll sets open.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

// A line for each set with rows and each process that inherited it, did not
// exec since, and has not given it up.
void set_shared(FILE *out, const struct inspection *l);
