// SPDX-License-Identifier: MIT
//
// tables.h - which rows of a region's tables are in use, for code that copies them: into a
// trace (spec/trace.md, "Tables"), or from a core file.
#pragma once

#include "ctp/region.h"

enum ctp_table {
	CTP_TABLE_STATIONS,
	CTP_TABLE_THREADS,
	CTP_TABLE_FDS,
	CTP_TABLE_CANDS,
	CTP_TABLE_MODULES,
	CTP_TABLE_INCIDENTS,
	CTP_TABLE_NAMES,
	CTP_TABLE_SWITCH_FUNCTIONS,
	CTP_TABLES_BY_ROW,
	// whole, up to a number
	CTP_TABLE_STACK_INDEX = CTP_TABLES_BY_ROW,
	CTP_TABLE_STACK_WORDS,
	CTP_TABLE_SITES,
	CTP_TABLE_EXT,
	CTP_TABLES,
};

struct ctp_table_shape {
	const char *name; // its file's
	size_t bytes;     // of a row
	bool indexed;     // a row stands behind its number
};
extern const struct ctp_table_shape ctp_table_shapes[CTP_TABLES];

// Calls `each` for a copy of every row in use of a table below CTP_TABLES_BY_ROW. One that is being written
// for good (its writer was killed) is given as it is.
typedef void ctp_table_each(void *arg, uint64_t index, const void *row);
void ctp_table_rows(const struct ctp_region *r, enum ctp_table table, ctp_table_each *each, void *arg);
// The rows of another one, which lie there as they are.
const void *ctp_table_whole(const struct ctp_region *r, enum ctp_table table, uint64_t *n);
