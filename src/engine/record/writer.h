// SPDX-License-Identifier: MIT
//
// writer.h - where harvested events go: a CTF directory (ctf.c) or JSON lines (lines.c). A
// writer that fails keeps going: it drops, counts, and stores the first error, which the
// recorder reports in one line.
#pragma once

#include <stdbool.h>

#include "ctp/record.h"
#include "ctp/region.h"

// Records of one thread, in order; a private copy with sane kinds and times.
struct writer_batch {
	uint32_t slot, use, tid;
	const struct ctp_record *slots; // whole records
	uint32_t n;                     // slots
	uint32_t records;               // 0: only `lost` has grown
	struct ctp_cursor start;        // before the first
	uint64_t end_time;              // of the last
	uint64_t lost;                  // records, running total of this use of the slot
	// Events of the program's own, which are not among the slots.
	struct ctp_record *events; // room for as many slots; NULL: they are left out
	uint32_t n_events;         // slots
	uint32_t event_records;
};

// An event of a version-1 station: a record of stream 1, byte for byte.
struct writer_station {
	uint64_t time;
	uint8_t kind, active; // CTP_EV_STATION, or CTP_EV_STATION_END with the number of its last event
	uint8_t finished;     // the station was dead when its newest event, this one, was read
	uint8_t reserved[5];
	uint64_t id, n, tid, addr, station_probe_id, ts_ns;
};
_Static_assert(sizeof(struct writer_station) == 64, "stream 1");

// Events that were recorded from outside the program, of one thread, laid out as in a stream of events.
struct writer_placed {
	uint32_t tid, events;
	uint64_t begin, end; // times of the first and the last
	uint64_t lost;       // how many more of the run's were, since it was last said
	const void *bytes;
	size_t n;
};

struct writer;
struct writer_process; // what a writer keeps of a process
struct writer_ops {
	// The process of this number, whose present region *region will always be. NULL: no memory.
	struct writer_process *(*process)(struct writer *w, unsigned index,
					  const struct ctp_region *const *region);
	void (*process_end)(struct writer *w, struct writer_process *p);
	void (*thread)(struct writer *w, struct writer_process *p, const struct writer_batch *b);
	// The batch's events of the program's own, of which there are some, after its records.
	void (*events)(struct writer *w, struct writer_process *p, const struct writer_batch *b);
	// NULL: it takes none.
	void (*placed)(struct writer *w, struct writer_process *p, const struct writer_placed *e);
	void (*thread_end)(struct writer *w, struct writer_process *p,
			   uint32_t slot);                        // its last batch has been given
	void (*turn)(struct writer *w, struct writer_process *p); // every ring has been looked at
	// All that it was given is handed on: another region may begin. Ids go on, stacks do not.
	void (*image)(struct writer *w, struct writer_process *p);
	void (*stations)(struct writer *w, const struct writer_station *e, uint32_t n);
	void (*flush)(struct writer *w); // all that was handed on, onto the disk
	bool (*make_room)(
		struct writer *w); // drops old history, as what comes now matters more; false: there is none
	void (*free)(struct writer *w);
};

struct writer {
	const struct writer_ops *ops;
	uint32_t batch_max;                        // most slots that it wants at once, at least 2
	bool eager;                                // wants every turn all that there is
	uint64_t records;                          // written, of every kind
	uint64_t events;                           // of the program's own, of those
	bool stopped;                              // by ctp-ctl: it is given nothing
	uint64_t not_recorded;                     // records that came meanwhile
	uint64_t dropped_records, dropped_packets; // old history that made room, and failed writes
	int error;                                 // first failure, -errno
};
