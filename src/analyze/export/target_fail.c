// SPDX-License-Identifier: MIT
//
// What the targets share, each module with a copy of its own.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/export/target.h"
#include "base/text.h"

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
