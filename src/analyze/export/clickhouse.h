// SPDX-License-Identifier: MIT
//
// clickhouse.h - a ClickHouse server over HTTP.
#pragma once

#include "analyze/export/target.h"

struct clickhouse;

// clickhouse://USER@HOST:PORT/DATABASE, over TLS with ?secure=1. What the server says of a failure comes
// into t->why.
int clickhouse_open(struct clickhouse **out, struct target *t);
void clickhouse_close(struct clickhouse *c);
// Runs a query with `bytes` of data behind it. *answer (may be NULL): what came, a text that lives until the
// next call.
int clickhouse_run(struct clickhouse *c, const char *query, const char *data, size_t bytes, char **answer);
