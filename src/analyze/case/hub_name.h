// SPDX-License-Identifier: MIT
//
// hub_name.h - what a report calls the object by which coroutines wait (CTP003, CTP015).
#pragma once

#include "analyze/case/pass.h"

// "accounts+0x20", of "_ZL8accounts+0x20"; else its address.
const char *hub_name(const struct set_circle_wait *w, struct results *out);
