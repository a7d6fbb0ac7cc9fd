// SPDX-License-Identifier: MIT
//
// directory.h - makes a world from a trace directory.
#pragma once

#include "trace/world.h"

// Reads w->path into an empty world. -ENOENT: no manifest; -EPROTO: not one, or of another layout.
int directory_read(struct world *w, int wait_ms, struct world_error *error);
