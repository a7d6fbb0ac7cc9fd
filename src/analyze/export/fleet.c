// SPDX-License-Identifier: MIT
//
// The server does the work; here its answer is put into columns.
#include "analyze/export/fleet.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const struct fleet_query *fleet_find(const char *name)
{
	for (const struct fleet_query *q = fleet_queries; q->name; q++)
		if (!strcmp(q->name, name))
			return q;
	return NULL;
}

bool fleet_wrong(const char *where, const char *name, char *out, size_t bytes)
{
	if (target_find(where) != &target_clickhouse) {
		snprintf(out, bytes, "--fleet=%s: it takes clickhouse://USER@HOST:PORT/DATABASE", where);
		return true;
	}
	if (target_clickhouse.lacks) {
		snprintf(out, bytes, "--fleet: this ctp was built without it; install %s and build ctp anew",
			 target_clickhouse.lacks);
		return true;
	}
	if (name && fleet_find(name))
		return false;
	size_t n = (size_t)(name ? snprintf(out, bytes, "--fleet: there is no query '%s'; there are", name) :
				   snprintf(out, bytes, "--fleet=URL QUERY: the queries are"));
	for (const struct fleet_query *q = fleet_queries; q->name && n < bytes; q++)
		n += (size_t)snprintf(out + n, bytes - n, "%s %s", q == fleet_queries ? "" : ",", q->name);
	return true;
}

#define WIDTH_MOST 60u

static const char *cell(const json_t *row, const json_t *column, char *buf, size_t bytes)
{
	const json_t *v = json_object_get(row, json_string_value(json_object_get(column, "name")));
	char *text = NULL;
	if (json_is_string(v))
		snprintf(buf, bytes, "%s", json_string_value(v));
	else if (!v || json_is_null(v))
		snprintf(buf, bytes, "-");
	else if ((text = json_dumps(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(12))))
		snprintf(buf, bytes, "%s", text);
	free(text);
	text_clean(buf);
	return buf;
}

static void put_cell(FILE *to, const char *text, size_t width, bool last)
{
	char buf[4 * WIDTH_MOST + 8];
	const char *fit = text_fit(buf, sizeof(buf), text, WIDTH_MOST);
	size_t n = text_width(fit);
	fprintf(to, "%s%*s", fit, last || n > width ? 0 : (int)(width - n + 2), "");
}

static void put_table(FILE *to, const json_t *columns, const json_t *rows)
{
	size_t n = json_array_size(columns), *width = calloc(n + 1, sizeof(*width));
	char buf[4096];
	for (size_t i = 0; width && i < n; i++) {
		width[i] = text_width(json_string_value(json_object_get(json_array_get(columns, i), "name")));
		for (size_t k = 0; k < json_array_size(rows); k++) {
			size_t w = text_width(
				cell(json_array_get(rows, k), json_array_get(columns, i), buf, sizeof(buf)));
			width[i] = w > WIDTH_MOST ? WIDTH_MOST : w > width[i] ? w : width[i];
		}
	}
	for (size_t k = 0; width && k <= json_array_size(rows); k++) {
		for (size_t i = 0; i < n; i++) {
			const json_t *c = json_array_get(columns, i);
			put_cell(to,
				 k ? cell(json_array_get(rows, k - 1), c, buf, sizeof(buf)) :
				     json_string_value(json_object_get(c, "name")),
				 width[i], i + 1 == n);
		}
		putc('\n', to);
	}
	free(width);
}

static int put_answer(FILE *to, struct target *t, const struct fleet_query *q, const char *answer, bool json)
{
	json_t *all = json_loads(answer, 0, NULL);
	json_t *columns = json_object_get(all, "meta"), *rows = json_object_get(all, "data");
	int r = json_is_array(columns) && json_is_array(rows) ?
			0 :
			target_fail(t, -EPROTO, "that is no answer of ClickHouse's");
	if (!r && json) {
		json_t *out = json_pack("{s:i, s:s, s:s, s:O}", "version", 1, "query", q->name, "question",
					q->question, "rows", rows);
		r = !out ? -ENOMEM : json_dumpf(out, to, JSON_INDENT(2)) || putc('\n', to) == EOF ? -EIO : 0;
		json_decref(out);
	} else if (!r) {
		fprintf(to, "%s\n\n", q->question);
		put_table(to, columns, rows);
	}
	json_decref(all);
	return r;
}

int fleet_ask(FILE *to, const struct target_settings *s, const struct fleet_query *q, bool json,
	      char why[TARGET_WHY])
{
	struct target t = {.kind = &target_clickhouse, .settings = s};
	char *query = NULL, *answer = NULL;
	int r = target_load(&t);
	if (!r && asprintf(&query, "%s FORMAT JSON", q->statement) < 0) {
		query = NULL;
		r = -ENOMEM;
	}
	if (!r)
		r = t.ops->ask(&t, query, &answer);
	if (!r)
		r = put_answer(to, &t, q, answer, json);
	free(query);
	free(answer);
	snprintf(why, TARGET_WHY, "%s", *t.why ? t.why : r ? strerror(-r) : "");
	return r;
}
