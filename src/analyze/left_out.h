// SPDX-License-Identifier: MIT
//
// left_out.h - CTP002 where loops wait by poll or select: nobody takes a descriptor
// out of a set by a call, it is left out of the next one.
#pragma once

#include "analyze/pass.h"

int left_out_find(const struct pass *pass, const struct world *w, const struct image *m, struct found *out);
