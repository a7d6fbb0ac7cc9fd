// SPDX-License-Identifier: MIT
//
// next_look.h - when a suspect is looked at again that a look left open.
#pragma once

#include <stdint.h>

#include "engine/inspect/inspect.h"

// So long something has to be as it is, to tell more of a program that turns slowly, or never sleeps.
#define NEXT_LOOK_SLOW_NS 2000000000ULL

// After so many inspections; `again`: at once, as more could not be told just then.
uint64_t next_look_ns(const struct suspect *s, bool again, uint64_t now_ns);
