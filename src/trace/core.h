// SPDX-License-Identifier: MIT
//
// core.h - makes a world from the core file of a traced process.
#pragma once

#include "trace/world.h"

// Reads w->path into an empty world. 0; -EPROTO: error says why it cannot be; -ENODATA: it is
// whole, and has no tables of ctp's, as error says; -errno.
int core_read(struct world *w, struct world_error *error);
