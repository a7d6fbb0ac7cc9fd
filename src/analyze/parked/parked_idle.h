// SPDX-License-Identifier: MIT
//
// parked_idle.h - may those that are parked be idle workers, to whom the program gave work before?
#pragma once

#include <stdbool.h>

#include "trace/image.h"

bool parked_idle(const struct image *m);
// Does a thread live that runs no coroutines?
bool parked_idle_threads(const struct image *m);
