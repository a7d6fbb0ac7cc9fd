// SPDX-License-Identifier: MIT
//
// transitions.h - one walk over all records of a trace, in one order: JSON lines,
// profiles and timelines are made of it. Memory grows with coroutines, not with events.
#pragma once

#include "codec/merge.h"
#include "trace/world.h"

// Each side of a transition is a struct ctp_merge_entity. While a sink runs, it holds what was so before:
//   native     a thread's own stack
//   entry      the function in which it began; 0: not known
//   suspended  it has been suspended, and not resumed since
//   since_ns   its last transition, or when it was made or discovered; 0: not known
//   stack      on which it was last suspended; 0: not known
//   ready_ns   the event that made it ready since it was suspended (CTP_EV_READY): the first one; of those
//   that
//              one loop took in several turns, the last, as it had not resumed before. 0: none. ready_fd: of
//              that descriptor, fd | gen << 32; ready_by: the loop (0: a thread that never switched)
//   mine       for the caller; 0 when the entity is discovered. It ends with the entity.
struct transition {
	uint8_t kind; // enum ctp_kind; CTP_EV_STATION: of a version-1 probe, which tells one side alone
	uint8_t how;
	bool from_gap,
		to_gap;  // changes of it before this one were lost: since_ns and the rest of it are too old
	uint32_t stream; // row of world.streams; UINT32_MAX: JSON lines
	uint64_t tid;
	uint64_t ns;               // CLOCK_MONOTONIC
	const struct image *image; // that ran there then, of which `stack` is; NULL: its tables are not there
	// CTP_EV_SWITCH: the outgoing and the incoming one. JSON lines and stations: one of the two may be
	// NULL. Else `from` is the entity that it is about, where that is known: made, ended, ready, a
	// thread's own stack, by whom a descriptor was opened ... Of CTP_EV_CREATE `to` is the creator, of
	// CTP_EV_READY who waited.
	struct ctp_merge_entity *from, *to;
	uint64_t from_n, to_n;             // a switch: the numbers of the two changes
	uint32_t stack;                    // of the outgoing one, the creator, the closer ...
	uint64_t a, b, value;              // as in the record (spec/cTP.md, 2.2)
	uint64_t pc;                       // JSON lines and stations: where it is suspended or resumes
	uint64_t station_probe_id;         // CTP_EV_STATION
	const struct ctp_merged *merged;   // the record; NULL: JSON lines, stations
	const struct program_event *event; // CTP_EV_USER: an event of the program's own
};

// Gets each transition. Not 0: the walk ends and returns it.
typedef int transitions_sink(void *arg, const struct transition *m);

// From the first to the last; then version-1 stations, in their own order. Times of one stream do not
// fall, over all they hardly do (clocks of CPUs differ a little). 0, what the sink said, -errno;
// -ESPIPE: JSON lines that came by a pipe cannot be read again; a core file has no transitions.
int transitions_walk(const struct world *w, transitions_sink *sink, void *arg);
// The same, and after the last transition: every entity that is still there, as of the end, in no order.
int transitions_walk_all(const struct world *w, transitions_sink *sink, ctp_merge_each_sink *left, void *arg);

// Where it was suspended: the first pc of its stack; 0: not known.
uint64_t transitions_pc(const struct transition *m);
