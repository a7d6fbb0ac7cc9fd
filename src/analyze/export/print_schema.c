// SPDX-License-Identifier: MIT
//
// Prints what share/ctp/sql and spec/sql.md hold of the schema: export-schema DIALECT|markdown.
// scripts/sql-schema writes the files with it, and a test compares them.
#include <string.h>

#include "analyze/export/ddl.h"

static void print_markdown(void)
{
	static const char *const types[] = {"integer", "text", "boolean"};
	for (unsigned i = 0; i < SCHEMA_TABLES; i++) {
		const struct schema_table *t = &schema_tables[i];
		printf("### %s\n\n%c%s. Key: %s.\n\n| column | type | |\n|---|---|---|\n", t->name,
		       t->comment[0] & ~0x20, t->comment + 1, t->key);
		for (unsigned k = 0; k < t->n; k++)
			printf("| %s | %s%s | %s |\n", t->columns[k].name, types[t->columns[k].type],
			       t->columns[k].nullable ? ", null" : "", t->columns[k].comment);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";
	for (unsigned d = 0; d < DDL_DIALECTS; d++)
		if (!strcmp(what, ddl_names[d]))
			return ddl_print(stdout, d) ? 1 : 0;
	if (strcmp(what, "markdown")) {
		fputs("usage: export-schema sqlite|postgresql|mariadb|clickhouse|markdown\n", stderr);
		return 2;
	}
	print_markdown();
	return 0;
}
