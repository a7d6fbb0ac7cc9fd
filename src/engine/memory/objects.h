// SPDX-License-Identifier: MIT
//
// objects.h - the memory that belongs to each suspect.
#pragma once

#include "engine/inspect/inspect.h"

// Fills `mine`, `heap`, `whole` and `mixed` of every suspect; P6a of those that have no object of their own.
void objects_find(struct inspection *l);
