// SPDX-License-Identifier: MIT
//
// coredump_advise.h - which parts of the region a core file holds: the tables, as far as they
// are used.
#pragma once

#include "preload/guest/guest.h"

enum coredump_part {
	COREDUMP_HEADER,
	COREDUMP_STATES,
	COREDUMP_THREADS,
	COREDUMP_FDS,
	COREDUMP_CANDS,
	COREDUMP_MODULES,
	COREDUMP_STACK_INDEX,
	COREDUMP_STACK_WORDS,
	COREDUMP_INCIDENTS,
	COREDUMP_SITES,
	COREDUMP_NAMES,
	COREDUMP_PARTS,
};

// One number far up shall not bring all below it into being.
enum { COREDUMP_FDS_MOST = 1 << 16 };

extern uint64_t dump_rows[COREDUMP_PARTS]; // held, from the first on

void coredump_advise_init(void); // the region is a fresh one, of which no core would hold anything
void coredump_advise_more(enum coredump_part part, uint64_t rows) __attribute__((cold, noinline));

// So many rows of it are in use.
static inline void coredump_advise_grow(enum coredump_part part, uint64_t rows)
{
	if (CTP_UNLIKELY(rows > ctp_load64(&dump_rows[part])))
		coredump_advise_more(part, rows);
}
