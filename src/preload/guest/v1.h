// SPDX-License-Identifier: MIT
//
// v1.h - under a version-1 engine: plain slots instead of rings.
#pragma once

#include "preload/guest/guest.h"

// Connects the wake-up socket of a version-1 engine; such an engine harvests
// only while somebody is connected. -1 if it cannot be reached.
int v1_connect(const char *path);

// Publishes an entity's latest state change, its `changes`-th, in its station (NULL: it has none).
void v1_change(struct thread_ctx *g, struct ctp_station *st, uint64_t changes, uint64_t addr, bool active);
