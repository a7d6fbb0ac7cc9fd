// SPDX-License-Identifier: MIT
//
// chain.h - who awaits whom.
#pragma once

#include "frames/stackless.h"
#include "frames/window.h"

// Fills in awaits and awaited_by. 0 or -ENOMEM.
int chain_frames(struct stackless_list *l, struct window *w);
