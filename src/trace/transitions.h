// SPDX-License-Identifier: MIT
//
// transitions.h - one walk over all that happened in a world, in the order in which it
// happened: what jsonl, the profiles and the timelines are made of. Memory grows
// with coroutines, not with events.
#pragma once

#include "codec/merge.h"
#include "trace/world.h"

// Who moves is a struct ctp_merge_entity. While an event is told, it says what was so before it:
//   native     a thread's own stack
//   entry      the function in which it began; 0: not known
//   suspended  it has left, and not gone on since
//   since_ns   its last move, or that it was made or met; 0: not known
//   stack      with which it left last; 0: not known
//   ready_ns   the event that made it ready since it left (CTP_EV_READY): the first one; of those that one
//              loop took in several turns, the last, as it had not gone on before. 0: none. ready_fd: of
//              that descriptor, fd | gen << 32; ready_by: the loop (0: a thread that never switched)
//   mine       whatever the caller wants to keep of it; 0 when it is first met. It goes with its end.
struct move {
	uint8_t kind; // enum ctp_kind; CTP_EV_STATION: of a version-1 probe, which tells one side alone
	uint8_t how;
	bool from_gap, to_gap; // changes of it before this one were lost: since_ns and the rest of it are too old
	uint32_t stream; // row of world.streams; UINT32_MAX: JSON lines
	uint64_t tid;
	uint64_t ns;     // CLOCK_MONOTONIC
	const struct image *image; // that ran there then, of which `stack` is; NULL: its tables are not there
	// CTP_EV_SWITCH: who leaves and who goes on. JSON lines and stations: one of the two may be NULL.
	// Else `from` is the entity that it is about, where that is known: made, ended, ready, a thread's own
	// stack, by whom a descriptor was opened ... Of CTP_EV_CREATE `to` is the creator, of CTP_EV_READY who waited.
	struct ctp_merge_entity *from, *to;
	uint64_t from_n, to_n; // a switch: the numbers of the two changes
	uint32_t stack;        // leaver's, creator's, closer's ...
	uint64_t a, b, value;  // as in the record (spec/cTP.md, 2.2)
	uint64_t pc;           // JSON lines and stations: where it left or goes on
	uint64_t station_probe_id; // CTP_EV_STATION
	const struct ctp_merged *merged; // the record; NULL: JSON lines, stations
};

// Hears of each move. Not 0: enough, the walk ends with that.
typedef int transitions_sink(void *arg, const struct move *m);

// From the first to the last; then version-1 stations, in their own order. Times of one stream do not
// fall, over all they hardly do (clocks of CPUs differ a little). 0, what the sink said, -errno;
// -ESPIPE: JSON lines that came by a pipe cannot be read again; a core file has no moves.
int transitions_walk(const struct world *w, transitions_sink *sink, void *arg);
// The same, and after the last move: everybody who is still there, as of the end, in no order.
int transitions_walk_all(const struct world *w, transitions_sink *sink, ctp_merge_each_sink *left, void *arg);

// Where it left: the first pc of its stack; 0: not known.
uint64_t transitions_pc(const struct move *m);
