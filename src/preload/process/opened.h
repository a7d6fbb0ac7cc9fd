// SPDX-License-Identifier: MIT
//
// opened.h - objects that are loaded while the program runs: their entries are written before their code
// runs.
#pragma once

#include <link.h>

#include "preload/patch/object.h"

// What is called once objects have been relocated, and before any code of theirs runs: of those that were
// noted, by their load bias.
void opened_start(void (*then)(bool (*is_opened)(uint64_t base)));
// The loader has mapped it, and will relocate it.
void opened_note(const struct object *o);
// It has gone again.
void opened_gone(const ElfW(Dyn) * ld, uint64_t lo, uint64_t hi);
