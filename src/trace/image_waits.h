// SPDX-License-Identifier: MIT
//
// image_waits.h - for image.c: what the waits of an image's coroutines are counted by. What passes ask is in
// image.h (`image_other_registration` and its like).
#pragma once

#include "trace/image.h"

int image_waits_index(struct image *m); // 0 or -ENOMEM
// Counts the suspended coroutine of this row as healthy, or as parked, if it is.
void image_waits_count(struct image *m, size_t row);
