// SPDX-License-Identifier: MIT
//
// parked_idle.h - can parked coroutines be idle workers, to which the program gave work before?
#pragma once

#include <stdbool.h>

#include "trace/image.h"

bool parked_idle(const struct image *m);
// Does a thread live that runs no coroutines?
bool parked_idle_threads(const struct image *m);
