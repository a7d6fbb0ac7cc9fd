// SPDX-License-Identifier: MIT
//
// parked_place.h - where a coroutine is suspended, as far as that says what it waits for: its innermost
// frames. Who calls a lock does not matter; what lies below the function that all coroutines suspend through
// says nothing.
#pragma once

#include "trace/image.h"

struct parked_place {
	const struct image *image;
	unsigned frames; // of a stack that count
};

struct parked_place parked_places(const struct image *m);
// The same, but of two frames at least: that of a lock, whoever calls it, where one function below it
// switches.
struct parked_place parked_places_short(const struct image *m);
// A number for the place; stacks of which nothing is known have one each. 0: no stack.
uint64_t parked_place(const struct parked_place *p, uint32_t stack);
// Do the tables say that a coroutine was resumed from there? They are all there is where history was lost.
bool parked_place_left(const struct parked_place *p, uint64_t place);
// Calls each(arg, stack) for all stacks of the place.
void parked_place_stacks(const struct parked_place *p, uint64_t place,
			 void (*each)(void *arg, uint32_t stack), void *arg);
