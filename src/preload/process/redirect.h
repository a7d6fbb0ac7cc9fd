// SPDX-License-Identifier: MIT
//
// redirect.h - the entries by which the loaded objects call the functions that we interpose, in a process
// into which this library was loaded late.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Points all of them to our hooks (on), or back to the functions that they would have without us. Each entry
// is written in one store; the threads that run through it meanwhile take the one way or the other. How many.
// Takes the loader's lock.
uint32_t redirect_all(bool on);
