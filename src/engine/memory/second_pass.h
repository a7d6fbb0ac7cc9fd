// SPDX-License-Identifier: MIT
//
// second_pass.h - disguised pointers to coroutines that are about to be PROVEN unreachable, or are parked and
// told to be unreachable, as far as anybody knows (CTP003).
#pragma once

#include "engine/inspect/inspect.h"
#include "search/disguise/disguised.h"

// After graph_spread: does what is said of a coroutine rest on it that nothing references it?
bool second_pass_wanted(const struct inspection *l, struct search *s);
// Looks for pointers in disguise; the graph has been spread anew then. False: that could not be done, and
// d->why.
bool second_pass_run(const struct inspection *l, struct search *s, struct disguised *d);
