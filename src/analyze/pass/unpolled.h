// SPDX-License-Identifier: MIT
//
// unpolled.h - CTP002 for loops that wait with poll or select: no call removes a
// descriptor from a set, the next set merely does not have it.
#pragma once

#include "analyze/case/pass.h"

int unpolled_find(const struct pass *pass, const struct world *w, const struct image *m, struct results *out);
