// SPDX-License-Identifier: MIT
//
// fleet.h - questions to a ClickHouse in which the traces of many hosts are: ctp-analyze --fleet.
#pragma once

#include <stdio.h>

#include "analyze/export/target.h"

struct fleet_query {
	const char *name, *question, *statement;
};

extern const struct fleet_query fleet_queries[]; // share/ctp/sql/fleet, by name; a row without one ends
const struct fleet_query *fleet_find(const char *name);
// True: it cannot be asked there, and a line that says why.
bool fleet_wrong(const char *where, const char *name, char *out, size_t bytes);
// Writes the answer, as a table or as JSON. 0, or -errno and why.
int fleet_ask(FILE *to, const struct target_settings *s, const struct fleet_query *q, bool json,
	      char why[TARGET_WHY]);
