// SPDX-License-Identifier: MIT
//
// dump.h - which parts of the region a core file holds: the tables, as far as they are used.
#pragma once

#include "guest.h"

enum dump_part {
	DUMP_HEADER, DUMP_STATES, DUMP_THREADS, DUMP_FDS, DUMP_CANDS, DUMP_MODULES, DUMP_STACK_INDEX, DUMP_STACK_WORDS,
	DUMP_INCIDENTS, DUMP_SITES, DUMP_NAMES, DUMP_PARTS,
};

// One number far up shall not bring all below it into being.
enum { DUMP_FDS_MOST = 1 << 16 };

extern uint64_t dump_rows[DUMP_PARTS]; // held, from the first on

void dump_init(void); // the region is a fresh one, of which no core would hold anything
void dump_more(enum dump_part part, uint64_t rows) __attribute__((cold, noinline));

// So many rows of it are in use.
static inline void dump_grow(enum dump_part part, uint64_t rows)
{
	if (CTP_UNLIKELY(rows > ctp_load64(&dump_rows[part])))
		dump_more(part, rows);
}
