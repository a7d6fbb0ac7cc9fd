// SPDX-License-Identifier: MIT
//
// names.h - names of coroutines, which the program sets (include/ctp/task.h).
#pragma once

#include "preload/guest/guest.h"

// A name that a coroutine had before it was discovered here.
void names_inherit(struct ctp_state *s, const char *name);
