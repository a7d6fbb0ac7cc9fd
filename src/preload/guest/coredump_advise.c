// SPDX-License-Identifier: MIT
//
// A core file of the program must show its coroutines. The region is left out of cores, as its
// gigabytes are mostly unused address space and dumping a page allocates it. The used part of
// each table is put in again, piece by piece as it grows: a quarter more each time, so that
// there are few calls and few pages too many. Two threads that grow the same table at once do
// so twice, which is harmless. A core that is taken from outside while the program runs has
// these parts as well.
#include "preload/guest/coredump_advise.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#include "cpu.h"
#include "preload/guest/exit.h"

enum { PAGE = 4096, FIRST_BYTES = 64 << 10 };

uint64_t dump_rows[COREDUMP_PARTS];

struct part {
	uint64_t off, row_bytes, rows; // of the whole
};

static struct part part_of(enum coredump_part part)
{
	const struct ctp_region *r = &ctp_tracer->region;
	const struct ctp_ext *e = r->ext;
	switch (part) {
	case COREDUMP_HEADER:
		return (struct part){0, CTP_HEADER_BYTES, 1};
	case COREDUMP_STATES:
		return (struct part){e->states_off, sizeof(*r->states), r->stations_max};
	case COREDUMP_THREADS:
		return (struct part){e->threads_off, sizeof(*r->threads), r->threads_max};
	case COREDUMP_FDS:
		return (struct part){e->fds_off, sizeof(*r->fds), r->fds_max};
	case COREDUMP_CANDS:
		return (struct part){e->cands_off, sizeof(*r->cands), r->cands_max};
	case COREDUMP_MODULES:
		return (struct part){e->modules_off, sizeof(*r->modules), r->modules_max};
	case COREDUMP_STACK_INDEX:
		return (struct part){e->stack_index_off, sizeof(*r->stack_index), r->stacks_max};
	case COREDUMP_STACK_WORDS:
		return (struct part){e->stack_words_off, sizeof(*r->stack_words), r->stack_words_max};
	case COREDUMP_INCIDENTS:
		return (struct part){e->incidents_off, sizeof(*r->incidents), r->incidents_max};
	case COREDUMP_SITES:
		return (struct part){e->sites_off, sizeof(*r->sites), r->stacks_max};
	case COREDUMP_NAMES:
		return (struct part){e->names_off,
				     sizeof(*r->names), // the map counts as names before the first
				     CTP_NAMES_MAP_BYTES / sizeof(*r->names) + r->stations_max};
	case COREDUMP_PARTS:
		break;
	}
	return (struct part){0};
}

void coredump_advise_more(enum coredump_part part, uint64_t rows)
{
	struct part p = part_of(part);
	uint64_t held = ctp_load64(&dump_rows[part]), least = FIRST_BYTES / p.row_bytes;
	uint64_t want = rows + (held / 4 > least ? held / 4 : least);
	if (ctp_tracer->v1 || held >= p.rows)
		return;
	want = want < p.rows ? want : p.rows;
	uint64_t base = (uint64_t)ctp_tracer->region.base + p.off,
		 lo = (base + held * p.row_bytes) & ~(PAGE - 1ULL);
	uint64_t hi = (base + want * p.row_bytes + PAGE - 1) & ~(PAGE - 1ULL);
	guest_syscall(SYS_madvise, (long)lo, (long)(hi - lo), MADV_DODUMP, 0, 0, 0);
	ctp_store64(&dump_rows[part], want); // also where it is refused: not again and again
}

void coredump_advise_init(void)
{
	for (unsigned i = 0; i < COREDUMP_PARTS; i++)
		ctp_store64(&dump_rows[i], 0);
	for (unsigned i = 0; i < COREDUMP_PARTS; i++)
		if (i != COREDUMP_INCIDENTS &&
		    i != COREDUMP_NAMES) // any row may be the first, and there may be none
			coredump_advise_more(i, 1);
}
