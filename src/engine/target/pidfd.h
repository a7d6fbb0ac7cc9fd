// SPDX-License-Identifier: MIT
//
// pidfd.h - whether a process that is not our child still runs.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// pidfd: of pid, or -1 if the kernel gives none (before Linux 5.3, or seccomp).
int alive_open(pid_t pid);
bool alive_gone(pid_t pid, int pidfd);
char alive_state(pid_t pid); // as in /proc/PID/stat; NUL if that cannot be read
int alive_signal(int pidfd, int sig); // 0 or -errno
