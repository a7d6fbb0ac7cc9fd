// SPDX-License-Identifier: MIT
//
// v1.h - under a version-1 engine: plain slots instead of rings.
#pragma once

#include "preload/guest/guest.h"

// Connects the wake-up socket of a version-1 engine; such an engine harvests
// only while somebody is connected. -1 if it cannot be reached.
int v1_connect(const char *path);

// Publishes the entity's latest state change (`changes`) in its station.
void v1_change(struct guest *g, struct ctp_state *s, uint64_t addr, bool active);
