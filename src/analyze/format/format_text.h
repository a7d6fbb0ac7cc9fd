// SPDX-License-Identifier: MIT
//
// format_text.h - the parts of the report for people.
#pragma once

#include "analyze/format/format.h"

#define COLUMNS 100
#define FRAMES_SHOWN 8

// Those in no finding that have waited longest; nothing is wrong with them, as far as can be told.
void format_text_longest(FILE *to, const struct report *r);
// What was seen, and what was not.
void format_text_covered(FILE *to, const struct report *r);
