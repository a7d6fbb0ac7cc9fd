// SPDX-License-Identifier: MIT
//
// The schema and what is made of it: statements of four dialects, literals, which targets there are, and
// the buckets of histograms.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "analyze/export/ddl.h"
#include "analyze/export/export.h"
#include "analyze/export/source.h"

static void tables_are_whole(void **state)
{
	(void)state;
	for (unsigned i = 0; i < SCHEMA_TABLES; i++) {
		const struct schema_table *t = &schema_tables[i];
		assert_true(t->n > 0 && t->n <= SCHEMA_COLUMNS_MOST);
		assert_true(strlen(t->name) < SCHEMA_NAME_MOST);
		assert_ptr_equal(schema_find(t->name, strlen(t->name)), t);
		assert_string_equal(t->columns[0].name, i == SCHEMA_TRACES ? "id" : "trace");
		for (unsigned k = 0; k < t->n; k++) {
			assert_true(strlen(t->columns[k].name) < SCHEMA_NAME_MOST);
			assert_non_null(t->columns[k].comment);
			for (unsigned j = 0; j < k; j++)
				assert_string_not_equal(t->columns[j].name, t->columns[k].name);
		}
	}
	assert_null(schema_find("trace", 5));
}

struct seen {
	unsigned tables, views, others;
	char last[64];
};

static int look(void *arg, const char *statement)
{
	struct seen *s = arg;
	const char *view = strstr(statement, "CREATE VIEW ");
	assert_int_not_equal(statement[strlen(statement) - 1], ';');
	s->tables += !strncmp(statement, "CREATE TABLE ", 13);
	s->views += view == statement;
	s->others += view != statement && strncmp(statement, "CREATE TABLE ", 13);
	if (view) {
		const char *name = strstr(view, "EXISTS ") ? strstr(view, "EXISTS ") + 7 : view + 12;
		snprintf(s->last, sizeof(s->last), "%.*s", (int)strcspn(name, " "), name);
	}
	return 0;
}

static void each_dialect_makes_all(void **state)
{
	(void)state;
	for (unsigned d = 0; d < DDL_DIALECTS; d++) {
		struct seen s = { 0 };
		assert_int_equal(ddl_each(d, look, &s), 0);
		assert_int_equal(s.tables, SCHEMA_TABLES);
		assert_int_equal(s.views, 12);
		assert_string_equal(s.last, DDL_LAST_VIEW);
		assert_true(d == DDL_POSTGRESQL || !s.others);
	}
}

static int refuse(void *arg, const char *statement)
{
	(void)statement;
	return ++*(int *)arg == 3 ? -7 : 0;
}

static void ends_at_the_first_failure(void **state)
{
	int calls = 0;
	(void)state;
	assert_int_equal(ddl_each(DDL_SQLITE, refuse, &calls), -7);
	assert_int_equal(calls, 3);
}

static void literals_stay_literals(void **state)
{
	static const char *const want[] = { "'a''b\\'", "'a''b\\'", "'a''b\\\\'", "'a''b\\\\'" };
	(void)state;
	for (unsigned d = 0; d < DDL_DIALECTS; d++) {
		char *s = ddl_literal(d, "a'b\\");
		assert_string_equal(s, want[d]);
		free(s);
	}
}

static void targets_are_found(void **state)
{
	(void)state;
	assert_ptr_equal(target_find("csv:out"), &target_csv);
	assert_ptr_equal(target_find("-"), &target_csv);
	assert_ptr_equal(target_find("sqlite:x.db"), &target_sqlite);
	assert_ptr_equal(target_find("postgres://h/d"), &target_postgresql);
	assert_ptr_equal(target_find("postgresql://h/d"), &target_postgresql);
	assert_ptr_equal(target_find("mysql://h/d"), &target_mariadb);
	assert_ptr_equal(target_find("mariadb://h/d"), &target_mariadb);
	assert_ptr_equal(target_find("clickhouse://h/d"), &target_clickhouse);
	assert_null(target_find("oracle://h/d"));
}

static void passwords_are_not_shown(void **state)
{
	char buf[200];
	(void)state;
	assert_string_equal(target_shown("mysql://me:secret@h:3306/d", buf, sizeof(buf)), "mysql://me@h:3306/d");
	assert_string_equal(target_shown("mysql://me@h:3306/d?password=secret", buf, sizeof(buf)), "mysql://me@h:3306/d");
	assert_string_equal(target_shown("csv:out", buf, sizeof(buf)), "csv:out");
}

static void assert_wrong(const char *where, const char *tables, const char *table, const char *part)
{
	struct export_settings s = { .target = { .where = where, .table = table }, .tables = tables };
	char why[1024];
	bool is = export_wrong(&s, why, sizeof(why));
	assert_int_equal(is, part != NULL);
	if (part)
		assert_non_null(strstr(why, part));
}

static void settings_are_checked(void **state)
{
	(void)state;
	assert_wrong(NULL, NULL, NULL, NULL);
	assert_wrong("csv:out", "findings,coroutines", NULL, NULL);
	assert_wrong("oracle://h", NULL, NULL, "csv:DIR");
	assert_wrong("csv:out", "findings,finding", NULL, "no table 'finding'; there are coroutines,");
	assert_wrong("csv:-", NULL, NULL, "--table=");
	assert_wrong("csv:-", NULL, "findings", NULL);
	assert_wrong("csv:-", NULL, "finding", "no table 'finding'");
	assert_wrong("csv:out", NULL, "findings", "--tables=LIST");
}

static void labels_are_checked(void **state)
{
	(void)state;
	assert_true(export_label_is("deploy=blue"));
	assert_true(export_label_is("a="));
	assert_false(export_label_is("deploy"));
	assert_false(export_label_is("=blue"));
	assert_false(export_label_is("a=\xff"));
}

static void buckets_hold_their_values(void **state)
{
	(void)state;
	assert_int_equal(source_bucket(0), 1);
	for (uint64_t v = 1; v < 1ULL << 62; v += 1 + v / 7) {
		unsigned b = source_bucket(v);
		assert_true(b < 256);
		assert_true(source_bucket_le(b) >= v);
		assert_true(b == 1 || source_bucket_le(b - 1) < v);
		assert_true(source_bucket_le(b) <= v + v / 4 + 1); // a quarter of a power of two at most
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_whole),      cmocka_unit_test(each_dialect_makes_all),
		cmocka_unit_test(ends_at_the_first_failure), cmocka_unit_test(literals_stay_literals),
		cmocka_unit_test(targets_are_found),     cmocka_unit_test(passwords_are_not_shown),
		cmocka_unit_test(settings_are_checked),	 cmocka_unit_test(labels_are_checked),  cmocka_unit_test(buckets_hold_their_values),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
