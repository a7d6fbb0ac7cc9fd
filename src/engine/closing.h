// SPDX-License-Identifier: MIT
//
// closing.h - ctp-run's last lines.
#pragma once

#include <stdbool.h>

#include "engine/run/run.h"
#include "engine/session/session.h"

// Neither a switch, nor an event of a version-1 probe, nor a C++20 coroutine.
bool closing_saw_nothing(const struct session *s);
// Prints them: three at most.
void closing_say(struct session *s, const struct run_end *end);
