// SPDX-License-Identifier: MIT
//
// ddl.h - the statements that make the tables and views, in the words of each database.
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "analyze/export/schema.h"

enum ddl_dialect { DDL_SQLITE, DDL_POSTGRESQL, DDL_MARIADB, DDL_CLICKHOUSE, DDL_DIALECTS };

extern const char *const ddl_names[DDL_DIALECTS];
// The view that is made last: where it is, all is.
#define DDL_LAST_VIEW "trace_coverage"

// Calls `run` with one statement after the other (without a semicolon) until one is not 0, which is returned.
int ddl_each(enum ddl_dialect d, int (*run)(void *arg, const char *statement), void *arg);
// All of them as a script.
int ddl_print(FILE *to, enum ddl_dialect d);
// `"a"` or `a` between backticks.
void ddl_name(FILE *to, enum ddl_dialect d, const char *name);
// "a, b, c", quoted: all columns of a table. A new string, or NULL: no memory.
char *ddl_columns(enum ddl_dialect d, const struct schema_table *t);
// A text as a literal of this dialect, with its quotes. A new string, or NULL: no memory.
char *ddl_literal(enum ddl_dialect d, const char *text);
// The statement that finds a run's row in traces: id, tables, labels, analyzed_by. A new string, or NULL.
char *ddl_find(enum ddl_dialect d, const char *uuid, unsigned part);
char *ddl_find_id(enum ddl_dialect d, int64_t id);
// Takes a trace's rows out of a table. A new string, or NULL.
char *ddl_delete(enum ddl_dialect d, const struct schema_table *t, int64_t id);
