// SPDX-License-Identifier: MIT
//
// waiters.h - serves processes that wait for ctp-run: those that request a region, or a final inspection.
#pragma once

#include "engine/session/session.h"

// The run begins: from here on whoever waits is served while tables of ended processes are written, too.
void waiters_begin(struct session *s);
// Serves all that wait now. Called between the steps of whatever takes time; does nothing within itself.
void waiters_serve(struct session *s);
