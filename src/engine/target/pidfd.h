// SPDX-License-Identifier: MIT
//
// pidfd.h - whether a process that is no child of ctp-run still runs.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

// pidfd: of pid, or -1 if the kernel gives none (before Linux 5.3, or seccomp).
int pidfd_of(pid_t pid);
bool pidfd_gone(pid_t pid, int pidfd);
char pidfd_state(pid_t pid);          // as in /proc/PID/stat; NUL if that cannot be read
int pidfd_signal(int pidfd, int sig); // 0 or -errno
