// SPDX-License-Identifier: MIT
//
// status.h - which suspended coroutines are ready, and which are pooled.
#pragma once

#include "ps/model/report.h"

// Sets coroutine.status, as far as the tables tell. 0 or -errno.
int status_decide(struct report *r);
