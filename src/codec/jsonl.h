// SPDX-License-Identifier: MIT
//
// jsonl.h - JSON lines (spec/trace.md): one state change a line, two lines for a switch.
#pragma once

#include <stddef.h>

#include "codec/merge.h"

struct ctp_jsonl_line {
	uint64_t probe_id, tid, addr, seq, ts;
	bool is_active, is_station;
	bool native;               // a thread's own stack, no coroutine
	bool finished;             // it leaves for good
	bool unread;               // then or later: the clock was not read (ctp/late.h)
	uint64_t station_probe_id; // if is_station
};

#define CTP_JSONL_MAX 256                // no line is longer
#define CTP_JSONL_BEGIN "{\"probe_id\":" // every line

// Writes the line with its newline, no NUL; returns its bytes.
size_t ctp_jsonl_format(char *out, const struct ctp_jsonl_line *line);

// Reads a line of n bytes, its newline included, that is as ctp_jsonl_format writes it. False: it is
// not, which does not mean that it is no state change.
bool ctp_jsonl_read(const char *text, size_t n, struct ctp_jsonl_line *line);

// What a switch is told with: the time (ns) it has, and the innermost address
// of its stack (0: unknown); unread: then or later. Both lines together, at most 2 * CTP_JSONL_MAX;
// returns their bytes. Keeps each coroutine's times from falling.
size_t ctp_jsonl_switch(char *out, const struct ctp_merged *m, uint64_t ns, uint64_t pc, bool unread);

// To be called with every other record: learns where a coroutine begins, and which are none.
void ctp_jsonl_other(const struct ctp_merged *m);
