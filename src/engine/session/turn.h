// SPDX-License-Identifier: MIT
//
// turn.h - what ctp-run's loop does with the processes of a session.
#pragma once

#include "engine/session/session.h"

// One turn of the loop. True if the program was busy.
bool turn_take(struct session *s);
// Reads what threads have recorded, and nothing else: after the last snapshot.
void turn_empty(struct session *s);
// Inspects all processes that live, before SIGTERM is sent to them. reason: "term", "timeout".
void turn_snapshot(struct session *s, const char *reason);
// The first process has ended.
void turn_ended(struct session *s, const char *how, int code);
