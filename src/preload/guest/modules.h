// SPDX-License-Identifier: MIT
//
// modules.h - which mapped objects the recorded addresses lie in.
#pragma once

#include <dlfcn.h>

#include "preload/guest/guest.h"

void modules_init(const char *exe);                // the program's own path: the loader has no name for it
void modules_note(const struct dl_find_object *o); // enters it once
void modules_note_pc(uint64_t pc);
uint32_t modules_loaded(void); // how many the loader has; takes its lock
// The same of an object that the loader does not find by address yet. Its row in the table of modules, + 1;
// 0: there is no room.
uint32_t modules_note_range(uint64_t base, uint64_t start, uint64_t end, const char *path);
