// SPDX-License-Identifier: MIT
//
// running.h - which coroutines run, as the threads' stacks tell.
#pragma once

#include "frames/stackless.h"

int running_mark(struct stackless_list *l, const struct stackless_where *w); // 0 or -ENOMEM
