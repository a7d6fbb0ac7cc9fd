// SPDX-License-Identifier: MIT
//
// crash.h - how a process died by a signal, and who ran then.
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "analyze/report/finding.h"

void crash_text(FILE *to, const struct report *r);
json_t *crash_json(const struct report *r); // an array, empty if none died by a signal that was noted
