// SPDX-License-Identifier: MIT
//
// bypassed.h - P0: whether the tables know every wait and every registration.
#pragma once

#include "engine/inspect/inspect.h"

// Answers P0 for all. After hidden_fds_find().
void bypassed_judge(struct inspection *l);
