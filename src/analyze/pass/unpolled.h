// SPDX-License-Identifier: MIT
//
// unpolled.h - CTP002 where loops wait by poll or select: nobody takes a descriptor
// out of a set by a call, it is left out of the next one.
#pragma once

#include "analyze/case/pass.h"

int unpolled_find(const struct pass *pass, const struct world *w, const struct image *m, struct results *out);
