// SPDX-License-Identifier: MIT
//
// status.h - of those that are suspended: who is ready, and who is pooled.
#pragma once

#include "ps/model/report.h"

// Sets coroutine.standing, as far as the tables tell. 0 or -errno.
int status_decide(struct report *r);
