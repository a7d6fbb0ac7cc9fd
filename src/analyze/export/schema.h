// SPDX-License-Identifier: MIT
//
// schema.h - the tables that ctp-analyze --export makes, in every target the same: names, types,
// keys and what each column means (spec/sql.md). Nothing else in the program names a column.
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum schema_type {
	SCHEMA_INT,  // 64 bits, with a sign
	SCHEMA_TEXT, // UTF-8, without NUL
	SCHEMA_BOOL,
};

struct schema_column {
	const char *name;
	enum schema_type type;
	bool nullable;
	const char *comment;
};

enum schema_table_id {
	SCHEMA_COROUTINES,
	SCHEMA_SITES,
	SCHEMA_HISTOGRAMS,
	SCHEMA_SWITCHES,
	SCHEMA_WAITS,
	SCHEMA_SLICES,
	SCHEMA_EVENTS,
	SCHEMA_DESCRIPTORS,
	SCHEMA_STACKS,
	SCHEMA_FRAMES,
	SCHEMA_FINDINGS,
	SCHEMA_FINDING_COROUTINES,
	SCHEMA_EVIDENCE,
	SCHEMA_TIMELINES,
	SCHEMA_FACTS,
	SCHEMA_TRACES, // the last: its row says that all others are there
	SCHEMA_TABLES
};

#define SCHEMA_COLUMNS_MOST 40u
#define SCHEMA_NAME_MOST 32u

struct schema_table {
	enum schema_table_id id;
	const char *name;
	const char *comment;
	const struct schema_column *columns;
	unsigned n;
	const char *key;   // the primary key's columns, "trace, id"
	const char *order; // of ClickHouse, where it is not the key; else NULL
	bool history;      // a row for each of many switches or events
};

// A trace's id: its day, counted from 1970-01-01 UTC, above so many bits by chance. Below 2^53.
#define SCHEMA_DAY_SHIFT 38

extern const struct schema_table schema_tables[SCHEMA_TABLES];
// The table of this name (n characters), or NULL.
const struct schema_table *schema_find(const char *name, size_t n);
