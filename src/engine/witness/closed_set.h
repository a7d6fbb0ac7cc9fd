// SPDX-License-Identifier: MIT
//
// closed_set.h - P2 and P3 of a coroutine whose epoll set was closed (CTP025).
#pragma once

#include "engine/inspect/inspect.h"

void closed_set_judge(struct inspection *l, struct suspect *s);
// What it waits for in the set: its number in *fd, its entry in *f. False: that has ended.
bool closed_set_wait(const struct ctp_region *r, const struct suspect *s, int *fd, struct ctp_fd *f);
