// SPDX-License-Identifier: MIT
//
// Tables come from schema.c alone, so that no target has another name, type or comment. Views are those
// of share/ctp/sql, compiled in.
#include "analyze/export/ddl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

extern const char sql_views[], sql_views_clickhouse[]; // embed_sql.py

const char *const ddl_names[DDL_DIALECTS] = {"sqlite", "postgresql", "mariadb", "clickhouse"};

static const char *const types[DDL_DIALECTS][3] = {
	[DDL_SQLITE] = {"INTEGER", "TEXT", "INTEGER"},
	[DDL_POSTGRESQL] = {"bigint", "text", "boolean"},
	[DDL_MARIADB] = {"BIGINT", "LONGTEXT", "BOOLEAN"},
	[DDL_CLICKHOUSE] = {"Int64", "String", "UInt8"},
};

void ddl_name(FILE *to, enum ddl_dialect d, const char *name)
{
	const char *quote = d == DDL_MARIADB ? "`" : "\"";
	fprintf(to, "%s%s%s", quote, name, quote);
}

// Is it among "a, b, c"?
static bool among(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (const char *p = list; p && *p; p += strcspn(p, " "), p += *p == ' ')
		if (!strncmp(p, name, n) && (!p[n] || p[n] == ','))
			return true;
	return false;
}

static void put_list(FILE *to, enum ddl_dialect d, const char *list)
{
	char name[SCHEMA_NAME_MOST];
	for (const char *p = list; *p;) {
		size_t n = strcspn(p, ",");
		snprintf(name, sizeof(name), "%.*s", (int)n, p);
		ddl_name(to, d, name);
		p += n;
		if (*p) {
			fputs(", ", to);
			p += 2;
		}
	}
}

static void put_text(FILE *to, enum ddl_dialect d, const char *text)
{
	bool escapes = d == DDL_MARIADB || d == DDL_CLICKHOUSE; // a backslash is one
	fputc('\'', to);
	for (; *text; text++) {
		if (*text == '\'')
			fputc('\'', to);
		else if (*text == '\\' && escapes)
			fputc('\\', to);
		fputc(*text, to);
	}
	fputc('\'', to);
}

static void put_type(FILE *to, enum ddl_dialect d, const struct schema_table *t,
		     const struct schema_column *c)
{
	bool keyed = among(t->key, c->name) || !strcmp(c->name, "uuid");
	if (d == DDL_CLICKHOUSE) {
		fprintf(to, c->nullable ? "Nullable(%s)" : "%s", types[d][c->type]);
		return;
	}
	fputs(d == DDL_MARIADB && keyed && c->type == SCHEMA_TEXT ?
		      "VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin" :
		      types[d][c->type],
	      to);
	if (!c->nullable)
		fputs(" NOT NULL", to);
	if (d == DDL_MARIADB) {
		fputs(" COMMENT ", to);
		put_text(to, d, c->comment);
	}
}

static void put_columns(FILE *to, enum ddl_dialect d, const struct schema_table *t)
{
	bool keyed = d != DDL_CLICKHOUSE && !(d == DDL_POSTGRESQL && t->history);
	for (unsigned i = 0; i < t->n; i++) {
		fputs("\n  ", to);
		ddl_name(to, d, t->columns[i].name);
		fputc(' ', to);
		put_type(to, d, t, &t->columns[i]);
		fputs(i + 1 < t->n || keyed ? "," : "", to);
		if (d == DDL_SQLITE || d == DDL_CLICKHOUSE)
			fprintf(to, " -- %s", t->columns[i].comment);
	}
	if (!keyed)
		return;
	fputs("\n  PRIMARY KEY (", to);
	put_list(to, d, t->key);
	fputc(')', to);
	if (t->id == SCHEMA_TRACES) {
		fputs(",\n  UNIQUE (", to);
		put_list(to, d, "uuid, part");
		fputc(')', to);
	}
}

static void put_clickhouse_end(FILE *to, const struct schema_table *t)
{
	const char *id = t->id == SCHEMA_TRACES ? "id" : "trace";
	fprintf(to, "\n) ENGINE = MergeTree PARTITION BY toDate(intDiv(\"%s\", %llu)) ORDER BY (", id,
		1ULL << SCHEMA_DAY_SHIFT);
	put_list(to, DDL_CLICKHOUSE, t->order ? t->order : t->key);
	fputc(')', to);
}

static void put_table(FILE *to, enum ddl_dialect d, const struct schema_table *t)
{
	fputs("CREATE TABLE IF NOT EXISTS ", to);
	ddl_name(to, d, t->name);
	fputs(" (", to);
	if (d == DDL_SQLITE || d == DDL_CLICKHOUSE)
		fprintf(to, " -- %s", t->comment);
	put_columns(to, d, t);
	if (d == DDL_CLICKHOUSE) {
		put_clickhouse_end(to, t);
		return;
	}
	fputs("\n)", to);
	if (d == DDL_SQLITE && t->id != SCHEMA_TRACES)
		fputs(" WITHOUT ROWID", to);
	if (d == DDL_MARIADB) {
		fputs(" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT=", to);
		put_text(to, d, t->comment);
	}
}

// What PostgreSQL has in statements of their own.
static int each_comment(const struct schema_table *t, int (*run)(void *arg, const char *statement), void *arg)
{
	int r = 0;
	for (unsigned i = 0; !r && i <= t->n; i++) {
		char *text = NULL;
		size_t bytes;
		FILE *to = open_memstream(&text, &bytes);
		if (!to)
			return -ENOMEM;
		fprintf(to, i < t->n ? "COMMENT ON COLUMN \"%s\".\"%s\" IS " : "COMMENT ON TABLE \"%s\" IS ",
			t->name, i < t->n ? t->columns[i].name : "");
		put_text(to, DDL_POSTGRESQL, i < t->n ? t->columns[i].comment : t->comment);
		r = fclose(to) ? -ENOMEM : run(arg, text);
		free(text);
	}
	return r;
}

static int each_table(enum ddl_dialect d, int (*run)(void *arg, const char *statement), void *arg)
{
	int r = 0;
	for (unsigned i = 0; !r && i < SCHEMA_TABLES; i++) {
		const struct schema_table *t = &schema_tables[i];
		char *text = NULL, index[160];
		size_t bytes;
		FILE *to = open_memstream(&text, &bytes);
		if (!to)
			return -ENOMEM;
		put_table(to, d, t);
		r = fclose(to) ? -ENOMEM : run(arg, text);
		free(text);
		if (r || d != DDL_POSTGRESQL)
			continue;
		snprintf(index, sizeof(index),
			 "CREATE INDEX IF NOT EXISTS \"%s_by_trace\" ON \"%s\" USING brin (\"trace\")",
			 t->name, t->name);
		r = t->history ? run(arg, index) : 0;
		r = r ? r : each_comment(t, run, arg);
	}
	return r;
}

// The next statement of a script, without comments, as a new string; NULL: there is none, or no memory (*r).
static char *next_view(const char **script, int *r)
{
	const char *p = strstr(*script, "CREATE VIEW "), *end = p ? strchr(p, ';') : NULL;
	if (!end)
		return NULL;
	*script = end + 1;
	char *text = strndup(p, (size_t)(end - p));
	*r = text ? 0 : -ENOMEM;
	return text;
}

static int each_view(enum ddl_dialect d, int (*run)(void *arg, const char *statement), void *arg)
{
	const char *script = d == DDL_CLICKHOUSE ? sql_views_clickhouse : sql_views, *rest;
	char *view;
	int r = 0;
	while (!r && (view = next_view(&script, &r))) {
		char *text = NULL;
		rest = view + strlen("CREATE VIEW ");
		if (asprintf(&text, "CREATE VIEW %s%s", d == DDL_POSTGRESQL ? "" : "IF NOT EXISTS ", rest) <
		    0)
			r = -ENOMEM;
		else
			r = run(arg, text);
		if (!r || r != -ENOMEM)
			free(text);
		free(view);
	}
	return r;
}

int ddl_each(enum ddl_dialect d, int (*run)(void *arg, const char *statement), void *arg)
{
	int r = each_table(d, run, arg);
	return r ? r : each_view(d, run, arg);
}

static int print(void *arg, const char *statement)
{
	return fprintf(arg, "%s;\n\n", statement) < 0 ? -EIO : 0;
}

int ddl_print(FILE *to, enum ddl_dialect d)
{
	fprintf(to,
		"-- SPDX-License-Identifier: MIT\n-- Made by scripts/sql-schema from src/analyze/export/schema.c and the views beside: spec/sql.md\n\n");
	return ddl_each(d, print, to);
}

// --------------------------------------------------------------- other statements

#define SAID(to, ...) \
	({ \
		char *text_ = NULL; \
		size_t bytes_; \
		FILE *to = open_memstream(&text_, &bytes_); \
		if (to) { \
			__VA_ARGS__; \
			fclose(to); \
		} \
		text_; \
	})

char *ddl_columns(enum ddl_dialect d, const struct schema_table *t)
{
	return SAID(
		to, for (unsigned i = 0; i < t->n; i++) {
			fputs(i ? ", " : "", to);
			ddl_name(to, d, t->columns[i].name);
		});
}

char *ddl_literal(enum ddl_dialect d, const char *text)
{
	return SAID(to, put_text(to, d, text));
}

static void put_find(FILE *to, enum ddl_dialect d)
{
	fputs("SELECT ", to);
	put_list(to, d, "id, tables, labels, analyzed_by");
	fputs(" FROM ", to);
	ddl_name(to, d, "traces");
	fputs(" WHERE ", to);
}

char *ddl_find(enum ddl_dialect d, const char *uuid, unsigned part)
{
	return SAID(to, {
		put_find(to, d);
		ddl_name(to, d, "uuid");
		fputs(" = ", to);
		put_text(to, d, uuid);
		fputs(" AND ", to);
		ddl_name(to, d, "part");
		fprintf(to, " = %u", part);
		if (d == DDL_CLICKHOUSE)
			fputs(" ORDER BY loaded_ns DESC LIMIT 1", to);
	});
}

char *ddl_find_id(enum ddl_dialect d, int64_t id)
{
	return SAID(to, {
		put_find(to, d);
		ddl_name(to, d, "id");
		fprintf(to, " = %" PRId64, id);
	});
}

char *ddl_delete(enum ddl_dialect d, const struct schema_table *t, int64_t id)
{
	return SAID(to, {
		fputs(d == DDL_CLICKHOUSE ? "ALTER TABLE " : "DELETE FROM ", to);
		ddl_name(to, d, t->name);
		fputs(d == DDL_CLICKHOUSE ? " DELETE WHERE " : " WHERE ", to);
		ddl_name(to, d, t->id == SCHEMA_TRACES ? "id" : "trace");
		fprintf(to, " = %" PRId64, id);
	});
}
