// SPDX-License-Identifier: MIT
//
// lines.h - JSON lines: one state change a line.
#pragma once

#include <stdio.h>

#include "trace/world.h"

// Reads all lines into an empty world. 0, -EPROTO (error says which line), -errno.
int lines_read(struct world *w, FILE *f, struct world_error *error);
