// SPDX-License-Identifier: MIT
//
// SQLite: one transaction, a prepared statement for each table.
#include "analyze/export/target.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/ddl.h"

#define BUSY_MS 10000

struct lite {
	sqlite3 *db;
	sqlite3_stmt *insert[SCHEMA_TABLES];
};

static int fail(struct target *t)
{
	struct lite *l = t->mine;
	return target_fail(t, sqlite3_errcode(l->db) == SQLITE_FULL ? -ENOSPC : -EIO, "%s",
			   sqlite3_errmsg(l->db));
}

static int run(void *arg, const char *statement)
{
	struct target *t = arg;
	struct lite *l = t->mine;
	return sqlite3_exec(l->db, statement, NULL, NULL, NULL) ? fail(t) : 0;
}

static int lite_open(struct target *t)
{
	const char *path = t->settings->where + strlen("sqlite:");
	struct lite *l = calloc(1, sizeof(*l));
	if (!(t->mine = l))
		return -ENOMEM;
	if (!*path)
		return target_fail(t, -EINVAL, "name a file: sqlite:FILE");
	if (sqlite3_open_v2(path, &l->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
			    NULL))
		return l->db ? fail(t) : -ENOMEM;
	sqlite3_busy_timeout(l->db, BUSY_MS);
	return 0;
}

static int lite_find_by(struct target *t, char *statement, struct target_found *out)
{
	struct lite *l = t->mine;
	sqlite3_stmt *s = NULL;
	int r = !statement ? -ENOMEM : sqlite3_prepare_v2(l->db, statement, -1, &s, NULL) ? fail(t) : 0;
	int step = r ? SQLITE_DONE : sqlite3_step(s);
	*out = (struct target_found){.there = step == SQLITE_ROW};
	if (step == SQLITE_ROW) {
		out->id = sqlite3_column_int64(s, 0);
		snprintf(out->tables, sizeof(out->tables), "%s", (const char *)sqlite3_column_text(s, 1));
		snprintf(out->labels, sizeof(out->labels), "%s", (const char *)sqlite3_column_text(s, 2));
		snprintf(out->analyzed_by, sizeof(out->analyzed_by), "%s",
			 (const char *)sqlite3_column_text(s, 3));
	} else if (!r && step != SQLITE_DONE) {
		r = fail(t);
	}
	sqlite3_finalize(s);
	free(statement);
	return r;
}

// All is one transaction from here on, so that what is found is still so at the end.
static int lite_find(struct target *t, struct target_found *out)
{
	int r = run(t, "PRAGMA cache_size = -65536");
	r = r ? r : run(t, "BEGIN IMMEDIATE");
	r = r ? r : ddl_each(DDL_SQLITE, run, t);
	return r ? r : lite_find_by(t, ddl_find(DDL_SQLITE, t->uuid, t->part), out);
}

static int lite_has_id(struct target *t, int64_t id)
{
	struct target_found found;
	int r = lite_find_by(t, ddl_find_id(DDL_SQLITE, id), &found);
	return r ? r : found.there;
}

static int lite_begin(struct target *t, const struct target_found *old)
{
	int r = 0;
	for (unsigned i = 0; !r && old->there && i < SCHEMA_TABLES; i++) {
		char *statement = ddl_delete(DDL_SQLITE, &schema_tables[i], old->id);
		r = statement ? run(t, statement) : -ENOMEM;
		free(statement);
	}
	return r;
}

static int lite_table(struct target *t, const struct schema_table *table)
{
	struct lite *l = t->mine;
	char text[400];
	int n = snprintf(text, sizeof(text), "INSERT INTO \"%s\" VALUES (?", table->name);
	for (unsigned i = 1; i < table->n; i++)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ",?");
	snprintf(text + n, sizeof(text) - (size_t)n, ")");
	return sqlite3_prepare_v3(l->db, text, -1, SQLITE_PREPARE_PERSISTENT, &l->insert[table->id], NULL) ?
		       fail(t) :
		       0;
}

static int lite_row(struct target *t, const struct row *row)
{
	struct lite *l = t->mine;
	sqlite3_stmt *s = l->insert[row->table->id];
	int e = 0;
	for (unsigned i = 0; !e && i < row->n; i++) {
		const struct row_value *v = &row->values[i];
		e = v->null ? sqlite3_bind_null(s, (int)i + 1) :
		    v->text ? sqlite3_bind_text64(s, (int)i + 1, v->text, v->bytes, SQLITE_STATIC,
						  SQLITE_UTF8) :
			      sqlite3_bind_int64(s, (int)i + 1, v->number);
	}
	if (e || sqlite3_step(s) != SQLITE_DONE)
		return fail(t);
	sqlite3_reset(s);
	return 0;
}

static int lite_end(struct target *t, const struct schema_table *table)
{
	struct lite *l = t->mine;
	sqlite3_finalize(l->insert[table->id]);
	l->insert[table->id] = NULL;
	return 0;
}

static int lite_commit(struct target *t)
{
	return run(t, "COMMIT");
}

static void lite_close(struct target *t)
{
	struct lite *l = t->mine;
	for (unsigned i = 0; l && i < SCHEMA_TABLES; i++)
		sqlite3_finalize(l->insert[i]);
	if (l)
		sqlite3_close(l->db);
	free(l);
	t->mine = NULL;
}

const struct target_ops target_ops = {
	.at_once = true,
	.open = lite_open,
	.find = lite_find,
	.has_id = lite_has_id,
	.begin = lite_begin,
	.table = lite_table,
	.row = lite_row,
	.end = lite_end,
	.commit = lite_commit,
	.close = lite_close,
};
