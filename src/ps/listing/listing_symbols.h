// SPDX-License-Identifier: MIT
//
// listing_symbols.h - names for the addresses in a listing.
#pragma once

#include "find/objects.h"
#include "ps/listing/listing.h"

int listing_symbols_make(struct listing *l, const struct objects *o); // 0 or -ENOMEM
