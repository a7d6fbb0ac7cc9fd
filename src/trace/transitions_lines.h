// SPDX-License-Identifier: MIT
//
// transitions_lines.h - makes transitions of single state changes (trace/transitions.c).
#pragma once

#include "codec/jsonl.h"
#include "trace/transitions.h"

struct transitions_lines;
struct transitions_lines *transitions_lines_new(transitions_sink *sink, ctp_merge_each_sink *left,
						void *arg); // NULL: no memory
void transitions_lines_free(struct transitions_lines *l);
// Takes the next state change. What the sink said, or -ENOMEM.
int transitions_lines_take(struct transitions_lines *l, uint32_t stream, const struct ctp_jsonl_line *line);
// Of the last one, too, if it waits for another side; then who is still there. The same.
int transitions_lines_end(struct transitions_lines *l);
// A file of JSON lines.
int transitions_lines_walk(const struct world *w, transitions_sink *sink, ctp_merge_each_sink *left,
			   void *arg);
