// SPDX-License-Identifier: MIT
//
// set_line.h - one line of sets.jsonl.
#pragma once

#include <jansson.h>
#include <stdio.h>

// Writes *o and releases it; NULL: writes nothing.
void set_line(FILE *out, json_t *o);
