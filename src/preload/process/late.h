// SPDX-License-Identifier: MIT
//
// late.h - attaching to a program that has run for a while, and detaching. ctp-run -p calls both functions,
// on a thread that sleeps otherwise and on a stack of its own.
#pragma once

#include <stdint.h>

// Takes the region at `path`, and hooks. How many entries call us now, or -errno: nothing was changed.
int64_t ctp_attach(const char *path);
// Unhooks. 0; -EBUSY: a thread stays in a hook, so that this process cannot be attached to again; it is
// unhooked all the same. -ENOLCK: the loader's lock cannot be had, and nothing was changed.
int64_t ctp_detach(void);

// With all real functions known: sets up the tables of the region at `path`. 0 or -errno. (attach.c)
int attach_late(const char *path);
