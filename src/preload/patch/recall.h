// SPDX-License-Identifier: MIT
//
// recall.h - what was found in an object's code, for the next time that it is loaded
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "preload/patch/match.h"
#include "preload/patch/object.h"

// True: all that match_all would find in o is in m[*n]. m has room for `most`.
bool recall_get(const struct object *o, struct match *m, size_t most, size_t *n);
void recall_put(const struct object *o, const struct match *m, size_t n);
