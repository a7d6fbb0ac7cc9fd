// SPDX-License-Identifier: MIT
//
// search_waits.h - which epoll registrations lead to which coroutine.
#pragma once

#include "find/contexts.h"
#include "ps/listing/listing.h"

// Of all rows that c has given to l, in the same order. 0 or -ENOMEM.
int search_waits(struct listing *l, const struct contexts *c);
