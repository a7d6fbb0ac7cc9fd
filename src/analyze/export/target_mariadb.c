// SPDX-License-Identifier: MIT
//
// MariaDB and MySQL: LOAD DATA LOCAL, whose "file" is a buffer of ours, some megabytes at a time, all in
// one transaction. LOCAL makes warnings of what would be errors, so every load is held against the
// count of its rows.
#include "analyze/export/target.h"

#include <errno.h>
#include <inttypes.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/ddl.h"
#include "analyze/export/url.h"

#define LOAD_BYTES (4u << 20)
#define CONNECT_SECONDS 30u

struct maria {
	MYSQL *connection;
	const struct schema_table *table;
	char *rows;
	size_t used, capacity, nrows;
	size_t read; // of them by the library
};

static int fail(struct target *t)
{
	struct maria *m = t->mine;
	return target_fail(t, -EIO, "%s", mysql_error(m->connection));
}

static int run(void *arg, const char *statement)
{
	struct target *t = arg;
	struct maria *m = t->mine;
	return mysql_real_query(m->connection, statement, strlen(statement)) ? fail(t) : 0;
}

// --------------------------------------------------------------- what is loaded

static int load_init(void **place, const char *name, void *arg)
{
	struct maria *m = arg;
	*place = m;
	m->read = 0;
	return 0;
}

static int load_read(void *place, char *to, unsigned int bytes)
{
	struct maria *m = place;
	size_t n = m->used - m->read < bytes ? m->used - m->read : bytes;
	memcpy(to, m->rows + m->read, n);
	m->read += n;
	return (int)n;
}

static void load_end(void *place) {}

static int load_error(void *place, char *to, unsigned int bytes)
{
	snprintf(to, bytes, "no memory");
	return 1;
}

// A warning, of a load that did not take all.
static int fail_warned(struct target *t)
{
	struct maria *m = t->mine;
	MYSQL_RES *result = run(t, "SHOW WARNINGS LIMIT 1") ? NULL : mysql_store_result(m->connection);
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	int r = target_fail(t, -EIO, "%s did not take all rows: %s", m->table->name,
			    row && row[2] ? row[2] : "there are rows with the same key");
	mysql_free_result(result);
	return r;
}

static int load(struct target *t)
{
	struct maria *m = t->mine;
	char statement[256];
	if (!m->nrows)
		return 0;
	snprintf(
		statement, sizeof(statement),
		"LOAD DATA LOCAL INFILE 'ctp' INTO TABLE `%s` CHARACTER SET utf8mb4 FIELDS TERMINATED BY '\\t' "
		"ESCAPED BY '\\\\' LINES TERMINATED BY '\\n'",
		m->table->name);
	int r = run(t, statement);
	if (!r && (mysql_affected_rows(m->connection) != m->nrows || mysql_warning_count(m->connection)))
		r = fail_warned(t);
	m->used = m->nrows = 0;
	return r;
}

// ------------------------------------------------------------------- the target

static int connect_to(struct target *t, const struct url *u)
{
	struct maria *m = t->mine;
	unsigned int yes = 1, seconds = CONNECT_SECONDS;
	char socket[256], *password;
	int r = u->password ? target_fail(t, -EINVAL,
					  "a password on the command line can be read by others; put it into "
					  "~/.my.cnf, MYSQL_PWD or --password-file") :
			      target_password(t, "MYSQL_PWD", &password);
	if (r)
		return r;
	mysql_options(m->connection, MYSQL_READ_DEFAULT_GROUP, "client");
	mysql_options(m->connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(m->connection, MYSQL_OPT_LOCAL_INFILE, &yes);
	mysql_options(m->connection, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
	if (!mysql_real_connect(m->connection, u->host, u->user, password, u->database,
				u->port ? (unsigned)strtoul(u->port, NULL, 10) : 0,
				url_option(u, "socket", socket, sizeof(socket)), 0))
		r = fail(t);
	free(password);
	mysql_set_local_infile_handler(m->connection, load_init, load_read, load_end, load_error, m);
	return r;
}

static int make_tables(struct target *t)
{
	struct maria *m = t->mine;
	static const char probe[] = "SELECT 1 FROM `" DDL_LAST_VIEW "` WHERE 0";
	if (!mysql_real_query(m->connection, probe, sizeof(probe) - 1)) {
		mysql_free_result(mysql_store_result(m->connection));
		return 0;
	}
	return ddl_each(DDL_MARIADB, run, t);
}

static int maria_open(struct target *t)
{
	struct maria *m = calloc(1, sizeof(*m));
	struct url u;
	if (!(t->mine = m) || !(m->connection = mysql_init(NULL)))
		return -ENOMEM;
	int r = url_read(&u, t->settings->where);
	if (r)
		return r == -EINVAL ? target_fail(t, r, "it is written mysql://USER@HOST/DATABASE") : r;
	r = connect_to(t, &u);
	if (!r && !u.database)
		r = target_fail(t, -EINVAL, "name a database: mysql://USER@HOST/DATABASE");
	url_deinit(&u);
	r = r ? r : run(t, "SET sql_mode = 'STRICT_ALL_TABLES'");
	return r ? r : make_tables(t);
}

static int find_by(struct target *t, char *statement, struct target_found *out)
{
	struct maria *m = t->mine;
	int r = statement ? run(t, statement) : -ENOMEM;
	MYSQL_RES *result = r ? NULL : mysql_store_result(m->connection);
	MYSQL_ROW row = result ? mysql_fetch_row(result) : NULL;
	*out = (struct target_found){.there = row != NULL};
	if (row) {
		out->id = strtoll(row[0], NULL, 10);
		snprintf(out->tables, sizeof(out->tables), "%s", row[1]);
		snprintf(out->labels, sizeof(out->labels), "%s", row[2]);
		snprintf(out->analyzed_by, sizeof(out->analyzed_by), "%s", row[3]);
	} else if (!r && !result) {
		r = fail(t);
	}
	mysql_free_result(result);
	free(statement);
	return r;
}

static int maria_find(struct target *t, struct target_found *out)
{
	int r = run(t, "START TRANSACTION");
	return r ? r : find_by(t, ddl_find(DDL_MARIADB, t->uuid, t->part), out);
}

static int maria_has_id(struct target *t, int64_t id)
{
	struct target_found found;
	int r = find_by(t, ddl_find_id(DDL_MARIADB, id), &found);
	return r ? r : found.there;
}

static int maria_begin(struct target *t, const struct target_found *old)
{
	int r = 0;
	for (unsigned i = 0; !r && old->there && i < SCHEMA_TABLES; i++) {
		char *statement = ddl_delete(DDL_MARIADB, &schema_tables[i], old->id);
		r = statement ? run(t, statement) : -ENOMEM;
		free(statement);
	}
	return r;
}

static int maria_table(struct target *t, const struct schema_table *table)
{
	struct maria *m = t->mine;
	m->table = table;
	return 0;
}

// Room for `bytes` more; NULL: no memory.
static char *room(struct maria *m, size_t bytes)
{
	if (m->used + bytes > m->capacity) {
		size_t want = (m->used + bytes) * 2;
		char *more = realloc(m->rows, want);
		if (!more)
			return NULL;
		m->rows = more;
		m->capacity = want;
	}
	return m->rows + m->used;
}

static char *escape(char *to, const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		bool special = s[i] == '\\' || s[i] == '\t' || s[i] == '\n';
		if (special)
			*to++ = '\\';
		*to++ = s[i] == '\t' ? 't' : s[i] == '\n' ? 'n' : s[i];
	}
	return to;
}

static int maria_row(struct target *t, const struct row *row)
{
	struct maria *m = t->mine;
	for (unsigned i = 0; i < row->n; i++) {
		const struct row_value *v = &row->values[i];
		char *at = room(m, 2 * v->bytes * (v->text != NULL) + 32), *begin = at;
		if (!at)
			return -ENOMEM;
		if (v->null)
			at = memcpy(at, "\\N", 2), at += 2;
		else if (v->text)
			at = escape(at, v->text, v->bytes);
		else
			at += sprintf(at, "%" PRId64, v->number);
		*at++ = i + 1 < row->n ? '\t' : '\n';
		m->used += (size_t)(at - begin);
	}
	m->nrows++;
	return m->used >= LOAD_BYTES ? load(t) : 0;
}

static int maria_end(struct target *t, const struct schema_table *table)
{
	return load(t);
}

static int maria_commit(struct target *t)
{
	return run(t, "COMMIT");
}

static void maria_close(struct target *t)
{
	struct maria *m = t->mine;
	if (m && m->connection)
		mysql_close(m->connection);
	if (m)
		free(m->rows);
	free(m);
	t->mine = NULL;
}

const struct target_ops target_ops = {
	.open = maria_open,
	.find = maria_find,
	.has_id = maria_has_id,
	.begin = maria_begin,
	.table = maria_table,
	.row = maria_row,
	.end = maria_end,
	.commit = maria_commit,
	.close = maria_close,
};
