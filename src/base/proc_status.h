// SPDX-License-Identifier: MIT
//
// proc_status.h - /proc/PID/status (proc(5)).
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// The number in the line that begins with key ("NSpid:"), the first or the last where there are several; -1:
// none.
long proc_status_number(pid_t pid, const char *key, bool last);
