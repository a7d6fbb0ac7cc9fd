// SPDX-License-Identifier: MIT
//
// pooled.h - which suspended coroutines are idle in their engine, between two functions that it runs.
#pragma once

struct listing;

int pooled_decide(struct listing *l); // sets LISTING_POOLED; 0 or -ENOMEM
