// SPDX-License-Identifier: MIT
//
// restarts.h - calls in which a thread can be stopped without seeing it.
#pragma once

#include <stdbool.h>

#include "engine/target/proc.h"

// Does it sleep in a call that the kernel begins anew after a stop, with nothing done yet?
bool restarts_call(pid_t pid, const struct proc_task *t);
