// SPDX-License-Identifier: MIT
//
// choose.h - another list of the program's own events, while it runs (ctp-ctl events).
#pragma once

#include "engine/session/session.h"

// Takes LIST, as --events does, for all processes that live and all to come. 0; -EINVAL: `why` says what is
// wrong, and nothing has changed.
int choose_events(struct session *s, const char *list, char *why, size_t why_bytes);
// How many processes that live have not come by yet to take it.
unsigned choose_pending(const struct session *s);
