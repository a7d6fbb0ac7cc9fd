// SPDX-License-Identifier: MIT
//
// ClickHouse: RowBinary over HTTP, some megabytes at a time. It has no transactions: the row in traces
// comes last, and an export that failed leaves rows under an id that no row in traces has.
#include "analyze/export/target.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/clickhouse.h"
#include "analyze/export/ddl.h"

#define INSERT_BYTES (8u << 20)

struct rows {
	char *bytes;
	size_t used, capacity;
};

struct house {
	struct clickhouse *server;
	struct rows rows[SCHEMA_TABLES];
	int64_t old; // what is taken out once the new one is there; 0: nothing
};

static int run(void *arg, const char *statement)
{
	struct target *t = arg;
	struct house *h = t->mine;
	return clickhouse_run(h->server, statement, NULL, 0, NULL);
}

static int house_open(struct target *t)
{
	struct house *h = calloc(1, sizeof(*h));
	if (!(t->mine = h))
		return -ENOMEM;
	int r = clickhouse_open(&h->server, t);
	return r ? r : ddl_each(DDL_CLICKHOUSE, run, t);
}

// The next field of tab separated values, in place; *at goes on behind it.
static char *next_field(char **at)
{
	char *field = *at, *to = field, *p = field;
	for (; *p && *p != '\t' && *p != '\n'; p++) {
		if (*p == '\\' && p[1])
			p++, *to++ = *p == 't' ? '\t' : *p == 'n' ? '\n' : *p;
		else
			*to++ = *p;
	}
	*at = p + (*p != 0);
	*to = 0;
	return field;
}

static int find_by(struct target *t, char *statement, struct target_found *out)
{
	struct house *h = t->mine;
	char *answer = NULL;
	int r = statement ? clickhouse_run(h->server, statement, NULL, 0, &answer) : -ENOMEM;
	free(statement);
	*out = (struct target_found){.there = !r && *answer};
	if (out->there) {
		out->id = strtoll(next_field(&answer), NULL, 10);
		snprintf(out->tables, sizeof(out->tables), "%s", next_field(&answer));
		snprintf(out->labels, sizeof(out->labels), "%s", next_field(&answer));
		snprintf(out->analyzed_by, sizeof(out->analyzed_by), "%s", next_field(&answer));
	}
	return r;
}

static int house_find(struct target *t, struct target_found *out)
{
	return find_by(t, ddl_find(DDL_CLICKHOUSE, t->uuid, t->part), out);
}

static int house_has_id(struct target *t, int64_t id)
{
	struct target_found found;
	int r = find_by(t, ddl_find_id(DDL_CLICKHOUSE, id), &found);
	return r ? r : found.there;
}

static int house_begin(struct target *t, const struct target_found *old)
{
	struct house *h = t->mine;
	h->old = old->there ? old->id : 0;
	return 0;
}

static int house_table(struct target *t, const struct schema_table *table)
{
	return 0;
}

// ------------------------------------------------------------------------ rows

static int insert(struct target *t, const struct schema_table *table)
{
	struct house *h = t->mine;
	struct rows *rows = &h->rows[table->id];
	char *columns = ddl_columns(DDL_CLICKHOUSE, table), *query = NULL;
	int r = 0;
	if (!columns ||
	    asprintf(&query, "INSERT INTO \"%s\" (%s) FORMAT RowBinary", table->name, columns) < 0)
		r = -ENOMEM;
	else if (rows->used)
		r = clickhouse_run(h->server, query, rows->bytes, rows->used, NULL);
	rows->used = 0;
	free(query);
	free(columns);
	return r;
}

static char *room(struct rows *rows, size_t bytes)
{
	if (rows->used + bytes > rows->capacity) {
		size_t want = (rows->used + bytes) * 2;
		char *more = realloc(rows->bytes, want);
		if (!more)
			return NULL;
		rows->bytes = more;
		rows->capacity = want;
	}
	return rows->bytes + rows->used;
}

static char *put_text(char *at, const struct row_value *v)
{
	size_t n = v->bytes;
	for (; n >= 0x80; n >>= 7)
		*at++ = (char)(n | 0x80);
	*at++ = (char)n;
	memcpy(at, v->text, v->bytes);
	return at + v->bytes;
}

static char *put_value(char *at, const struct row_value *v, const struct schema_column *c)
{
	uint64_t number = htole64((uint64_t)v->number);
	if (c->nullable)
		*at++ = v->null;
	if (v->null)
		return at;
	if (v->text)
		return put_text(at, v);
	if (c->type == SCHEMA_BOOL) {
		*at = v->number != 0;
		return at + 1;
	}
	memcpy(at, &number, sizeof(number));
	return at + sizeof(number);
}

static int house_row(struct target *t, const struct row *row)
{
	struct house *h = t->mine;
	struct rows *rows = &h->rows[row->table->id];
	for (unsigned i = 0; i < row->n; i++) {
		const struct row_value *v = &row->values[i];
		char *at = room(rows, (v->text ? v->bytes : 0) + 16);
		if (!at)
			return -ENOMEM;
		rows->used += (size_t)(put_value(at, v, &row->table->columns[i]) - at);
	}
	return rows->used >= INSERT_BYTES ? insert(t, row->table) : 0;
}

static int house_end(struct target *t, const struct schema_table *table)
{
	struct house *h = t->mine;
	int r = insert(t, table);
	free(h->rows[table->id].bytes);
	h->rows[table->id] = (struct rows){0};
	return r;
}

// The new rows count already: the newest row in traces of a run does.
static int house_commit(struct target *t)
{
	struct house *h = t->mine;
	int r = 0;
	for (unsigned i = SCHEMA_TABLES; !r && h->old && i-- > 0;) { // its row in traces first
		char *statement = ddl_delete(DDL_CLICKHOUSE, &schema_tables[i], h->old);
		r = statement ? run(t, statement) : -ENOMEM;
		free(statement);
	}
	return r;
}

static void house_close(struct target *t)
{
	struct house *h = t->mine;
	if (h)
		clickhouse_close(h->server);
	for (unsigned i = 0; h && i < SCHEMA_TABLES; i++)
		free(h->rows[i].bytes);
	free(h);
	t->mine = NULL;
}

static int house_ask(struct target *t, const char *query, char **answer)
{
	struct clickhouse *server = NULL;
	char *text;
	int r = clickhouse_open(&server, t);
	r = r ? r : clickhouse_run(server, query, NULL, 0, &text);
	if (!r && !(*answer = strdup(text)))
		r = -ENOMEM;
	clickhouse_close(server);
	return r;
}

const struct target_ops target_ops = {
	.at_once = true,
	.chance = true,
	.open = house_open,
	.find = house_find,
	.has_id = house_has_id,
	.begin = house_begin,
	.table = house_table,
	.row = house_row,
	.end = house_end,
	.commit = house_commit,
	.close = house_close,
	.ask = house_ask,
};
