// SPDX-License-Identifier: MIT
//
// PostgreSQL: COPY in its binary format, all in one transaction. The tables are made in a transaction of
// their own before it, under a lock, so that two exports can meet.
#include "analyze/export/target.h"

#include <endian.h>
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/ddl.h"

#define BUFFER_BYTES (256u << 10)
#define SCHEMA_LOCK 0x637470 // "ctp"

struct postgres {
	PGconn *connection;
	char buffer[BUFFER_BYTES];
	size_t used;
};

static int fail(struct target *t)
{
	struct postgres *p = t->mine;
	const char *why = PQerrorMessage(p->connection);
	why += !strncmp(why, "ERROR:  ", 8) ? 8 : 0;
	return target_fail(t, -EIO, "%s", *why ? why : "the connection is lost");
}

static int run(void *arg, const char *statement)
{
	struct target *t = arg;
	struct postgres *p = t->mine;
	PGresult *result = PQexec(p->connection, statement);
	ExecStatusType status = PQresultStatus(result);
	PQclear(result);
	return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || status == PGRES_COPY_IN ? 0 :
												    fail(t);
}

static void silent(void *arg, const char *message) {}

// A password among the words of a command stands where others can read it.
static int check_words(struct target *t)
{
	char *why = NULL;
	PQconninfoOption *all = PQconninfoParse(t->settings->where, &why);
	int r = all ? 0 : target_fail(t, -EINVAL, "%s", why ? why : "not a connection URI");
	for (PQconninfoOption *o = all; !r && o->keyword; o++)
		if (o->val && *o->val && strstr(o->keyword, "password") && strcmp(o->keyword, "passfile"))
			r = target_fail(
				t, -EINVAL,
				"a password on the command line can be read by others; put it into PGPASSWORD, "
				"~/.pgpass or --password-file");
	PQconninfoFree(all);
	PQfreemem(why);
	return r;
}

static int make_tables(struct target *t)
{
	struct postgres *p = t->mine;
	char lock[80];
	PGresult *result = PQexec(p->connection, "SELECT 1 FROM " DDL_LAST_VIEW " WHERE false");
	bool there = PQresultStatus(result) == PGRES_TUPLES_OK;
	PQclear(result);
	if (there)
		return 0;
	snprintf(lock, sizeof(lock), "SELECT pg_advisory_xact_lock(%d)", SCHEMA_LOCK);
	int r = run(t, "BEGIN");
	r = r ? r : run(t, lock);
	if (r)
		return r;
	result = PQexec(p->connection, "SELECT to_regclass('" DDL_LAST_VIEW "') IS NOT NULL");
	there = PQresultStatus(result) == PGRES_TUPLES_OK && *PQgetvalue(result, 0, 0) == 't';
	PQclear(result);
	r = there ? 0 : ddl_each(DDL_POSTGRESQL, run, t);
	return r ? r : run(t, "COMMIT");
}

static int postgres_open(struct target *t)
{
	struct postgres *p = calloc(1, sizeof(*p));
	char *password;
	if (!(t->mine = p))
		return -ENOMEM;
	int r = check_words(t);
	r = r ? r : target_password(t, "PGPASSWORD", &password);
	if (r)
		return r;
	const char *keys[] = {"dbname", "fallback_application_name", "client_encoding",
			      password ? "password" : NULL, NULL};
	const char *values[] = {t->settings->where, "ctp-analyze", "UTF8", password, NULL};
	p->connection = PQconnectdbParams(keys, values, 1);
	free(password);
	if (!p->connection)
		return -ENOMEM;
	if (PQstatus(p->connection) != CONNECTION_OK)
		return fail(t);
	PQsetNoticeProcessor(p->connection, silent, NULL);
	return make_tables(t);
}

static int find_by(struct target *t, char *statement, struct target_found *out)
{
	struct postgres *p = t->mine;
	PGresult *result = statement ? PQexec(p->connection, statement) : NULL;
	int r = !statement ? -ENOMEM : PQresultStatus(result) == PGRES_TUPLES_OK ? 0 : fail(t);
	*out = (struct target_found){.there = !r && PQntuples(result) > 0};
	if (out->there) {
		out->id = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
		snprintf(out->tables, sizeof(out->tables), "%s", PQgetvalue(result, 0, 1));
		snprintf(out->labels, sizeof(out->labels), "%s", PQgetvalue(result, 0, 2));
		snprintf(out->analyzed_by, sizeof(out->analyzed_by), "%s", PQgetvalue(result, 0, 3));
	}
	PQclear(result);
	free(statement);
	return r;
}

static int postgres_find(struct target *t, struct target_found *out)
{
	int r = run(t, "BEGIN");
	return r ? r : find_by(t, ddl_find(DDL_POSTGRESQL, t->uuid, t->part), out);
}

static int postgres_has_id(struct target *t, int64_t id)
{
	struct target_found found;
	int r = find_by(t, ddl_find_id(DDL_POSTGRESQL, id), &found);
	return r ? r : found.there;
}

static int postgres_begin(struct target *t, const struct target_found *old)
{
	int r = 0;
	for (unsigned i = 0; !r && old->there && i < SCHEMA_TABLES; i++) {
		char *statement = ddl_delete(DDL_POSTGRESQL, &schema_tables[i], old->id);
		r = statement ? run(t, statement) : -ENOMEM;
		free(statement);
	}
	return r;
}

// ----------------------------------------------------------------------- rows

static int flush(struct target *t)
{
	struct postgres *p = t->mine;
	int sent = p->used ? PQputCopyData(p->connection, p->buffer, (int)p->used) : 1;
	p->used = 0;
	return sent == 1 ? 0 : fail(t);
}

static int put(struct target *t, const char *bytes, size_t n)
{
	struct postgres *p = t->mine;
	int r = 0;
	while (!r && n) {
		size_t piece = BUFFER_BYTES - p->used < n ? BUFFER_BYTES - p->used : n;
		memcpy(p->buffer + p->used, bytes, piece);
		p->used += piece;
		bytes += piece;
		n -= piece;
		if (p->used == BUFFER_BYTES)
			r = flush(t);
	}
	return r;
}

static int put_u16(struct target *t, uint16_t v)
{
	v = htobe16(v);
	return put(t, (const char *)&v, sizeof(v));
}

static int postgres_table(struct target *t, const struct schema_table *table)
{
	static const char header[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
	char statement[80];
	snprintf(statement, sizeof(statement), "COPY \"%s\" FROM STDIN (FORMAT binary)", table->name);
	int r = run(t, statement);
	return r ? r : put(t, header, sizeof(header));
}

static int put_value(struct target *t, const struct row_value *v, enum schema_type type)
{
	uint32_t n = htobe32(v->null             ? UINT32_MAX :
			     v->text             ? (uint32_t)v->bytes :
			     type == SCHEMA_BOOL ? 1 :
						   8);
	uint64_t number = htobe64((uint64_t)v->number);
	char yes = v->number != 0;
	int r = put(t, (const char *)&n, sizeof(n));
	if (r || v->null)
		return r;
	if (v->text)
		return put(t, v->text, v->bytes);
	return type == SCHEMA_BOOL ? put(t, &yes, 1) : put(t, (const char *)&number, sizeof(number));
}

static int postgres_row(struct target *t, const struct row *row)
{
	int r = put_u16(t, (uint16_t)row->n);
	for (unsigned i = 0; !r && i < row->n; i++)
		r = put_value(t, &row->values[i], row->table->columns[i].type);
	return r;
}

static int postgres_end(struct target *t, const struct schema_table *table)
{
	struct postgres *p = t->mine;
	int r = put_u16(t, UINT16_MAX);
	r = r ? r : flush(t);
	if (!r && PQputCopyEnd(p->connection, NULL) != 1)
		r = fail(t);
	for (PGresult *result; (result = PQgetResult(p->connection)); PQclear(result))
		if (!r && PQresultStatus(result) != PGRES_COMMAND_OK)
			r = fail(t);
	return r;
}

static int postgres_commit(struct target *t)
{
	return run(t, "COMMIT");
}

static void postgres_close(struct target *t)
{
	struct postgres *p = t->mine;
	if (p)
		PQfinish(p->connection);
	free(p);
	t->mine = NULL;
}

const struct target_ops target_ops = {
	.open = postgres_open,
	.find = postgres_find,
	.has_id = postgres_has_id,
	.begin = postgres_begin,
	.table = postgres_table,
	.row = postgres_row,
	.end = postgres_end,
	.commit = postgres_commit,
	.close = postgres_close,
};
