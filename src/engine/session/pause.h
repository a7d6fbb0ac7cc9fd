// SPDX-License-Identifier: MIT
//
// pause.h - recording, stopped and started while the program runs (ctp-ctl, --paused).
#pragma once

#include "engine/session/session.h"

// Nothing is recorded from here on. False: nothing was already.
bool pause_begin(struct session *s);
// Recording goes on. False: it does.
bool pause_end(struct session *s);
bool pause_lasts(const struct session *s);
uint64_t pause_total_ns(const struct session *s); // of all pauses, up to now
// Says in the manifest what the trace does not hold for it; nothing, if recording was never stopped.
void pause_cover(struct session *s);
