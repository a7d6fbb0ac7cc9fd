// SPDX-License-Identifier: MIT
//
// denied.h - why a process may not be inspected, and what to do about it.
#pragma once

#include <stddef.h>
#include <sys/types.h>

// "it belongs to user 0; run ctp-ps as that user or as root: sudo ctp-ps 41"
const char *denied_why(pid_t pid, char *buf, size_t bytes);
