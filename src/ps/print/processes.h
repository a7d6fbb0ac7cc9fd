// SPDX-License-Identifier: MIT
//
// processes.h - the traced processes, one row each.
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "ps/read/find.h"

// As text, or as JSON (spec/ps.md). How many were written.
size_t processes_write(FILE *out, const struct found *all, size_t n, bool json);
