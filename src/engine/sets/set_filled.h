// SPDX-License-Identifier: MIT
//
// set_filled.h - coroutines that wait, without a known wait, while a queue has filled that was empty whenever
// they waited before. It is looked at again and again while the program runs.
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"

struct set_filled;

// NULL: no memory. *r must outlive it.
struct set_filled *set_filled_new(const struct ctp_region *r, pid_t pid);
void set_filled_free(struct set_filled *f); // takes NULL
// At every turn; it looks every 20 ms at most, and takes a hundredth of a CPU. Has it looked?
bool set_filled_poll(struct set_filled *f, uint64_t now);
// Is there somebody? *fresh, if not NULL: and is another than before, or has waited for twice as long.
bool set_filled_any(struct set_filled *f, bool *fresh);
// Looks once more, and writes a line of each.
void set_filled_write(FILE *out, struct set_filled *f, uint64_t now);
