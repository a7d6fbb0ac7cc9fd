// SPDX-License-Identifier: MIT
//
// list_events.h - ctp-run --list-events: the events of a program, of a library, or of all that a process has
// mapped.
#pragma once

#include <stddef.h>
#include <stdio.h>

// what: a file, or the number of a process. 0: all were written; else `why` says in one line why not.
int list_events(const char *what, FILE *to, char *why, size_t why_bytes);
