// SPDX-License-Identifier: MIT
//
// standing.h - of those that are suspended: who is ready, and who is pooled.
#pragma once

#include "ps/report.h"

// Sets coroutine.standing, as far as the tables tell. 0 or -errno.
int standing_decide(struct report *r);
