// SPDX-License-Identifier: MIT
//
// target.h - where an export goes. A new one needs a file with a struct target_ops, a struct target_kind in
// targets.c and, if it needs a library, a row in meson.build: the file is then a module, which is loaded for
// an export to that target alone. A database's library takes longer to load than all else of a start.
#pragma once

#include "analyze/export/row.h"

#define TARGET_WHY 400u
#define TARGET_LIST 512u

struct target_settings {
	const char *where;         // as given
	const char *password_file; // or NULL
	const char *table;         // csv: the one table for stdout; else NULL
	bool compress;
};

// What a target has already of the same run.
struct target_found {
	bool there;
	int64_t id;
	char tables[TARGET_LIST], labels[4096], analyzed_by[64];
};

// A module has a copy of schema_tables: tables are told apart by their id, not by their address.
struct target {
	const struct target_kind *kind;
	const struct target_ops *ops; // from target_load() on
	const struct target_settings *settings;
	void *mine;
	const char *uuid; // of the run, and which of its snapshots
	unsigned part;
	char why[TARGET_WHY]; // after a failure: one line, without the target's name
};

// All return 0 or -errno with why filled in. After a failure only close() is called, and nothing of
// this export counts.
struct target_ops {
	bool at_once; // takes rows of several tables in any order
	bool chance;  // an id must be another one in each attempt: what failed before stays there, and does
		      // not count
	int (*open)(struct target *t); // makes tables and views that are not there
	int (*find)(struct target *t, struct target_found *out);
	// Whether a trace has this id already: 1 or 0, or -errno.
	int (*has_id)(struct target *t, int64_t id);
	int (*begin)(struct target *t, const struct target_found *old); // from here on it is all or nothing
	int (*table)(struct target *t, const struct schema_table *table);
	int (*row)(struct target *t, const struct row *r);
	int (*end)(struct target *t, const struct schema_table *table);
	int (*commit)(struct target *t);
	void (*close)(struct target *t);
	// By itself, without open() and close(): asks one query. *answer: a new string. NULL: it cannot.
	int (*ask)(struct target *t, const char *query, char **answer);
};

struct target_kind {
	const char *scheme; // "csv:"
	const char *form;   // "csv:DIR"
	const char *lacks;  // NULL: it is there; else the package that was missing when ctp was built
	const char *module; // which exports target_ops; NULL: ops, below
	const struct target_ops *ops;
};

extern const struct target_ops target_csv_ops;
extern const struct target_ops target_ops; // what a module exports

extern const struct target_kind target_csv, target_sqlite, target_postgresql, target_mariadb,
	target_clickhouse;
extern const struct target_kind *const targets[]; // NULL ends
// The one whose scheme `where` begins with, or NULL.
const struct target_kind *target_find(const char *where);
// Finds t->ops. 0 or -errno, and why.
int target_load(struct target *t);
// "csv:DIR, sqlite:FILE, ...", and which were not built in; buf holds it.
const char *target_names(char *buf, size_t bytes);

// The target without a password that stands in it; buf holds it.
const char *target_shown(const char *where, char *buf, size_t bytes);

// Writes t->why as one line: ends at a line's end, without control characters. Returns error.
int target_fail(struct target *t, int error, const char *format, ...) __attribute__((format(printf, 3, 4)));
// The password of --password-file (its first line), or of the environment's `variable`; NULL: none.
// 0 or -errno. The caller frees.
int target_password(struct target *t, const char *variable, char **out);
