// SPDX-License-Identifier: MIT
//
// The table of targets, and what they share.
#include "analyze/export/target.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const struct target_ops *const targets[] = {&target_csv,     &target_sqlite,     &target_postgresql,
					    &target_mariadb, &target_clickhouse, NULL};

const struct target_ops *target_find(const char *where)
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

int target_fail(struct target *t, int error, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	vsnprintf(t->why, sizeof(t->why), format, ap);
	va_end(ap);
	t->why[strcspn(t->why, "\r\n")] = 0;
	text_clean(t->why);
	return error;
}

int target_password(struct target *t, const char *variable, char **out)
{
	const char *file = t->settings->password_file, *set = getenv(variable);
	char *line = NULL;
	size_t room = 0;
	*out = NULL;
	if (!file)
		return set && !(*out = strdup(set)) ? -ENOMEM : 0;
	FILE *f = fopen(file, "re");
	ssize_t n = f ? getline(&line, &room, f) : -1;
	int e = f ? 0 : errno;
	if (f)
		fclose(f);
	if (n < 0) {
		free(line);
		return target_fail(t, e ? -e : -ENODATA, "--password-file %s: %s", file,
				   e ? strerror(e) : "is empty");
	}
	line[strcspn(line, "\r\n")] = 0;
	*out = line;
	return 0;
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
