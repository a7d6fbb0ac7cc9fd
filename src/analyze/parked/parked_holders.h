// SPDX-License-Identifier: MIT
//
// parked_holders.h - can a coroutine that lives hold what those wait for that are parked at a place?
#pragma once

#include "analyze/parked/parked_history.h"

// Is each that was made alike, and does not wait there, where one is that has not come there yet? And all
// others where they have been all the time?
bool parked_holders_none(const struct parked_history *l, size_t place);
// The same, but others do not matter.
bool parked_holders_none_alike(const struct parked_history *l, size_t place);
// Was each that was resumed from there resumed by one that had just left it, or was where they are next?
bool parked_holders_gave(const struct parked_spot *p);
