// SPDX-License-Identifier: MIT
//
// calls.h - system calls by name.
#pragma once

#include <stddef.h>

// "clock_nanosleep", or "system call 999" where it has no name that is known; buf holds it.
const char *calls_name(long nr, char *buf, size_t bytes);
