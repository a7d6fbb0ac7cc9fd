// SPDX-License-Identifier: MIT
//
// The table of targets.
#include "analyze/export/target.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/beside.h"
#include "base/text.h"

#define LACKS(have, package) (have) ? NULL : (package)

const struct target_kind target_csv = {"csv:", "csv:DIR", .ops = &target_csv_ops};
const struct target_kind target_sqlite = {"sqlite:", "sqlite:FILE", LACKS(CTP_HAVE_SQLITE, "libsqlite3-dev"),
					  "ctp-export-sqlite.so"};
const struct target_kind target_postgresql = {"postgresql:", "postgresql://...",
					      LACKS(CTP_HAVE_POSTGRESQL, "libpq-dev"),
					      "ctp-export-postgresql.so"};
const struct target_kind target_mariadb = {"mysql:", "mysql://...", LACKS(CTP_HAVE_MARIADB, "libmariadb-dev"),
					   "ctp-export-mariadb.so"};
const struct target_kind target_clickhouse = {"clickhouse:", "clickhouse://...",
					      LACKS(CTP_HAVE_CLICKHOUSE, "libcurl4-openssl-dev"),
					      "ctp-export-clickhouse.so"};

const struct target_kind *const targets[] = {&target_csv,     &target_sqlite,     &target_postgresql,
					     &target_mariadb, &target_clickhouse, NULL};

const struct target_kind *target_find(const char *where)
{
	for (unsigned i = 0; targets[i]; i++)
		if (!strncmp(where, targets[i]->scheme, strlen(targets[i]->scheme)))
			return targets[i];
	if (!strcmp(where, "-"))
		return &target_csv;
	return !strncmp(where, "postgres:", 9) ? &target_postgresql :
	       !strncmp(where, "mariadb:", 8)  ? &target_mariadb :
						 NULL;
}

int target_load(struct target *t)
{
	char why[TARGET_WHY];
	t->ops = t->kind->module ? beside_load(t->kind->module, "analyze", "target_ops", why, sizeof(why)) :
				   t->kind->ops;
	return t->ops ? 0 : target_fail(t, -ENOENT, "%s", why);
}

const char *target_names(char *buf, size_t bytes)
{
	size_t n = 0;
	*buf = 0;
	for (unsigned i = 0; targets[i] && n < bytes; i++)
		n += (size_t)snprintf(buf + n, bytes - n, "%s%s", i ? ", " : "", targets[i]->form);
	for (unsigned i = 0; targets[i] && n < bytes; i++)
		if (targets[i]->lacks)
			n += (size_t)snprintf(buf + n, bytes - n, "; this ctp was built without %s (%s)",
					      targets[i]->form, targets[i]->lacks);
	return buf;
}

const char *target_shown(const char *where, char *buf, size_t bytes)
{
	const char *user = strstr(where, "://"), *at = user ? strchr(user + 3, '@') : NULL;
	const char *colon = at ? memchr(user + 3, ':', (size_t)(at - user - 3)) : NULL;
	snprintf(buf, bytes, "%.*s%s", (int)(colon ? colon - where : (ptrdiff_t)strlen(where)), where,
		 colon ? at : "");
	buf[strcspn(buf, "?")] = 0;
	text_clean(buf);
	return buf;
}
