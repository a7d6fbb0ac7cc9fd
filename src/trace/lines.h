// SPDX-License-Identifier: MIT
//
// lines.h - makes a world from JSON lines (spec/trace.md).
#pragma once

#include <stdio.h>

#include "codec/jsonl.h"
#include "trace/world.h"

// Reads all lines into an empty world. 0, -EPROTO (error says which line), -errno.
int lines_read(struct world *w, FILE *f, struct world_error *error);
// One line, n bytes with its newline if it has one. 0; 1: it was cut off; -EPROTO: it is no state change.
int lines_parse(const char *text, size_t n, struct ctp_jsonl_line *line);
