// SPDX-License-Identifier: MIT
//
// opened.h - objects that are loaded while ctp-run is attached: their entries are written before their code
// runs.
#pragma once

#include <link.h>

#include "preload/patch/object.h"

// The loader has mapped it, and will relocate it.
void opened_note(const struct object *o);
// It has gone again.
void opened_gone(const ElfW(Dyn) * ld);
