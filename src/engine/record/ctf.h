// SPDX-License-Identifier: MIT
//
// ctf.h - the trace directory's streams and metadata (spec/trace.md, CTF 1.8).
#pragma once

#include "base/clock.h"
#include "engine/record/event_classes.h"
#include "engine/record/writer.h"

// dir: descriptor of the trace directory, borrowed. max_bytes: history kept.
// compress: each packet is packed (codec/pack.h). classes: of the trace, more are added; clock: for the
// metadata, which describes them. Both stay the caller's. NULL: no memory.
struct writer *ctf_new(int dir, uint64_t max_bytes, bool compress, struct event_classes *classes,
		       const struct clock_pairs *clock);

// Writes `metadata`, or over it; of a trace whose packets are packed, which other readers cannot
// read, ctp/tsdl. 0 or -errno.
int ctf_metadata(int dir, const struct clock_pairs *clock, bool compress,
		 const struct event_classes *classes);
