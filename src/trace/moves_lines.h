// SPDX-License-Identifier: MIT
//
// moves_lines.h - moves out of single state changes (trace/moves.c).
#pragma once

#include "ctp/jsonl.h"
#include "trace/moves.h"

struct moves_lines;
struct moves_lines *moves_lines_new(moves_sink *sink, ctp_merge_each_sink *left, void *arg); // NULL: no memory
void moves_lines_free(struct moves_lines *l);
// Takes the next state change. What the sink said, or -ENOMEM.
int moves_lines_take(struct moves_lines *l, uint32_t stream, const struct ctp_jsonl_line *line);
// Of the last one, too, if it waits for another side; then who is still there. The same.
int moves_lines_end(struct moves_lines *l);
// A file of JSON lines.
int moves_lines_walk(const struct world *w, moves_sink *sink, ctp_merge_each_sink *left, void *arg);
