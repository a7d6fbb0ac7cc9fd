// SPDX-License-Identifier: MIT
//
// stuck.h - coroutines that wait for a descriptor that is open, and should have been woken. Nothing
// posts a candidate for these: the tables are walked when the program is idle, and what they suggest is
// asked of the kernel, so a suspect is confirmed by both. The suspects are those of suspects.h, with
// cand UINT32_MAX and a `c` made up here.
#pragma once

#include "engine/suspects/stuck_pace.h"
#include "engine/suspects/suspects.h"

// Adds suspects: CTP002, 004, 005, 008, 009, 027, 028; at the final inspection, before an exit, CTP003 too.
// final_ns: when the final inspection must be done with it; 0: a live inspection.
void stuck_gather(struct stuck *k, struct suspects *s, pid_t pid, uint64_t final_ns, uint64_t now_ns);
