// SPDX-License-Identifier: MIT
//
// beside.h - where another command of ours is: installed beside this one, or in its room's folder of a build.
#pragma once

#include <stddef.h>

// 0, or -ENOENT: it is not there, or may not be run.
int beside_find(const char *name, const char *room, char *out, size_t bytes);
