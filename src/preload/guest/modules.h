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
