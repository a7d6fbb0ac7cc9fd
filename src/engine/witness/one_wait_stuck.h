// SPDX-License-Identifier: MIT
//
// one_wait_stuck.h - P2 of suspects whose descriptor is open: whether that is the one thing they wait for.
#pragma once

#include "engine/inspect/inspect.h"

void one_wait_stuck_judge(struct inspection *l, struct suspect *s);
// Then, of all: armed rows that lead to a suspect of another descriptor.
void one_wait_stuck_others(struct inspection *l);
// Is it a row of F's description?
bool one_wait_stuck_row(const struct inspection *l, const struct suspect *s, const struct registration *reg);
// The data of its registration, as far as is known.
uint64_t one_wait_stuck_data(const struct suspect *s);
