// SPDX-License-Identifier: MIT
//
// finish.h - the end of the trace: tables, coverage lines, manifest.
#pragma once

#include "engine/session/session.h"

// Writes everything there is, with the tables. May be called again.
void finish_write(struct session *s);
